package obfuscate

import (
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/wording"
)

// SetWords is how a set of the caller's is said: by the mark, of the variable itself or, with Through, of what the
// relation leads to from it ("born in the 1950s").
type SetWords struct {
	Through *wording.Relation
	Inverse bool // the relation leads from what is marked to the variable
	Mark    wording.Mark
}

// Words turn queries into plans of question texts.
type Words struct {
	Entities  Entities
	Catalogue *Catalogue                        // may be nil when there are no members of it
	Relation  func(number int) wording.Relation // with its phrases
	Sets      func(set int) (SetWords, bool)    // the caller's; may be nil
	Lang      wording.Lang
}

// Plan puts a query into words' order. stands is an entity that each variable stands for, in order: the walk's and then
// Result.Was; it decides who, where, which, when or how many. A set that nobody can say is refused (KindInvalid).
func (w Words) Plan(q certify.Query, stands []uint32) (wording.Plan, error) {
	p := wording.Plan{Answer: q.Answer}
	if len(stands) != q.Vars {
		return p, w.bad("%d variables and %d entities that they stand for", q.Vars, len(stands))
	}
	for _, v := range stands {
		p.Kinds = append(p.Kinds, wording.KindOf(w.Entities.Type(v)))
	}
	for _, a := range q.Atoms {
		s, o := w.term(a.From), w.term(a.To)
		if a.Step.Inverse() {
			s, o = o, s
		}
		p.Atoms = append(p.Atoms, wording.Atom{Subject: s, Relation: w.Relation(a.Step.Relation()), Object: o})
	}
	for _, m := range q.Members {
		if w.Catalogue != nil {
			if k, ok := w.Catalogue.Mark(m.Set); ok {
				k.Var = m.Var
				p.Marks = append(p.Marks, k)
				continue
			}
		}
		var k SetWords
		ok := w.Sets != nil
		if ok {
			k, ok = w.Sets(m.Set)
		}
		if !ok {
			return p, w.bad("there are no words for set %d", m.Set)
		}
		k.Mark.Var = m.Var
		if k.Through != nil {
			k.Mark.Var = len(p.Kinds)
			p.Kinds = append(p.Kinds, kindOf(k.Mark))
			s, o := wording.Var(m.Var), wording.Var(k.Mark.Var)
			if k.Inverse {
				s, o = o, s
			}
			p.Atoms = append(p.Atoms, wording.Atom{Subject: s, Relation: *k.Through, Object: o})
		}
		p.Marks = append(p.Marks, k.Mark)
	}
	return p, p.Validate()
}

func kindOf(m wording.Mark) wording.Kind {
	switch m.Kind {
	case wording.InYears:
		return wording.Date
	case wording.Between:
		return wording.Number
	}
	return wording.Any
}

func (w Words) bad(format string, args ...any) error {
	return &quarry.Error{Op: "obfuscate", Kind: quarry.KindInvalid, Subject: "query", Msg: fmt.Sprintf(format, args...),
		Hint: "give Words the catalogue that the index was made with, and words for the sets before it"}
}

func (w Words) term(t certify.Term) wording.Term {
	if t.Variable {
		return wording.Var(int(t.N))
	}
	if zh := w.Entities.NameZH(t.N); w.Lang == wording.Chinese && zh != "" {
		return wording.Name(zh)
	}
	return wording.Name(w.Entities.Name(t.N))
}
