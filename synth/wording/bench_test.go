package wording

import (
	"math/rand/v2"
	"testing"
)

// chain is a walk of four hops with two conditions: the usual question.
func chain(r *rand.Rand, rels []Relation) Plan {
	p := Plan{Kinds: []Kind{Place, Person, Organisation, Person}, Answer: 3}
	from := Name(names[r.IntN(len(names))])
	for i := range 4 {
		p.Atoms = append(p.Atoms, Atom{from, rels[r.IntN(len(rels))], Var(i)})
		from = Var(i)
	}
	for _, v := range []int{1, 3} {
		p.Atoms = append(p.Atoms, Atom{Var(v), rels[r.IntN(len(rels))], Name(names[r.IntN(len(names))])})
	}
	return p
}

// BenchmarkWrite words chains of four hops with two conditions and reads them back, which Write does.
func BenchmarkWrite(b *testing.B) {
	rels := wiki(b)
	r := rand.New(rand.NewPCG(1, 1))
	ps := make([]Plan, 256)
	for i := range ps {
		ps[i] = chain(r, rels)
	}
	for _, l := range []Lang{English, Chinese} {
		b.Run(string(l), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := Write(ps[i%len(ps)], l, i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
