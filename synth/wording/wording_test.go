package wording

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

// firstTry words a plan in one frame and checks it.
func firstTry(p Plan, l Lang, frame int) (string, error) {
	p = p.distinct()
	v := newVocabulary(p, l)
	text := compose(p, v, uint64(frame))
	return text, Check(p, text)
}

// TestRoundTrip words random plans of every shape, with names made to be misread, and reads them back: 99 % and more
// come back as they were, those that do not are refused for the reason.
func TestRoundTrip(t *testing.T) {
	const n = 400
	for name, rels := range map[string][]Relation{"wiki": wiki(t), "world": world(), "paths": paths()} {
		for _, l := range []Lang{English, Chinese} {
			list := names
			if l == Chinese {
				list = namesZH
			}
			r := rand.New(rand.NewPCG(7, 1))
			bad, first := 0, 0
			for i := range n {
				p := draw(r.IntN, rels, list)
				if _, err := firstTry(p, l, i); err != nil {
					first++
				}
				text, err := Write(p, l, i)
				if err == nil {
					if err := Check(p, text); err != nil {
						t.Fatalf("%s %s: written, then %v: %s", name, l, err, text)
					}
					continue
				}
				bad++
				var e *quarry.Error
				if e, _ = err.(*quarry.Error); e == nil || e.Subject != NotReadable || e.Kind != quarry.KindGate {
					t.Fatalf("%s %s: %v\n%v %v", name, l, err, p.Atoms, p.Marks)
				}
			}
			t.Logf("%s %s: %d of %d refused in all frames, %d in the first", name, l, bad, n, first)
			if bad > n/100 {
				t.Errorf("%s %s: %d of %d plans are not readable", name, l, bad, n)
			}
		}
	}
}

// TestChangedPlanIsNoticed: the text of a plan is not the text of a plan that differs in one atom, one mark or in what
// is asked for.
func TestChangedPlanIsNoticed(t *testing.T) {
	rels := wiki(t)
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		l := []Lang{English, Chinese}[pick(2)]
		p := draw(pick, rels, names[:8])
		text, err := Write(p, l, pick(100))
		if err != nil {
			return // refused, which TestRoundTrip counts
		}
		q := p
		q.Atoms = append([]Atom(nil), p.Atoms...)
		q.Marks = append([]Mark(nil), p.Marks...)
		switch i := pick(len(p.Atoms) + len(p.Marks)); {
		case i >= len(p.Atoms):
			q.Marks = append(q.Marks[:i-len(p.Atoms)], q.Marks[i-len(p.Atoms)+1:]...)
		case pick(2) == 0:
			swap := func(t *Term) {
				if t.Name != "" {
					t.Name = "Somebody Else"
				}
			}
			swap(&q.Atoms[i].Subject)
			swap(&q.Atoms[i].Object)
			if q.Atoms[i] == p.Atoms[i] {
				q.Atoms[i].Relation = Relation{ID: "other", Label: "other thing"}
			}
		default:
			q.Atoms[i].Relation = Relation{ID: "other", Label: "other thing"}
		}
		if len(q.about(q.Answer)) == 0 || len(q.distinct().Marks)+len(q.distinct().Atoms) == len(p.distinct().Marks)+len(p.distinct().Atoms) && len(q.Marks) != len(p.Marks) {
			return // a mark said twice
		}
		if len(q.Atoms) == len(p.Atoms) && len(q.distinct().Atoms) > len(p.distinct().Atoms) {
			return // an atom said twice
		}
		if err := Check(q, text); err == nil {
			t.Fatalf("%v %v reads as %v %v:\n%s", p.Atoms, p.Marks, q.Atoms, q.Marks, text)
		}
	})
}

func TestChangedTextIsNoticed(t *testing.T) {
	rels := wiki(t)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 200 {
		p := draw(r.IntN, rels, names[:8]).distinct()
		text, err := Write(p, English, i)
		if err != nil {
			continue
		}
		parts := strings.SplitAfter(text, ". ")
		if len(parts) > 2 {
			if Check(p, strings.Join(parts[1:], "")) == nil {
				t.Fatalf("reads without its first sentence: %s", text)
			}
		}
		for _, n := range p.Constants() {
			if Check(p, strings.ReplaceAll(text, n, "Peter")) == nil {
				t.Fatalf("reads with another name than %s: %s", n, text)
			}
		}
		if Check(p, text+" It is old.") == nil || Check(p, "") == nil {
			t.Fatalf("reads with a sentence more: %s", text)
		}
	}
}

func TestSameFrameSameText(t *testing.T) {
	rels := world()
	r := rand.New(rand.NewPCG(5, 5))
	texts := map[string]bool{}
	p := chain(r, rels)
	for i := range 60 {
		a, err := Write(p, English, i)
		b, _ := Write(p, English, i)
		if err != nil || a != b {
			t.Fatalf("frame %d: %v\n%s\n%s", i, err, a, b)
		}
		texts[a] = true
	}
	if len(texts) < 20 {
		t.Errorf("60 frames give %d texts", len(texts))
	}
}

func TestValidate(t *testing.T) {
	r := Relation{ID: "r", Label: "owner"}
	good := Plan{Kinds: []Kind{Person, Place}, Answer: 1, Atoms: []Atom{{Name("A"), r, Var(0)}, {Var(0), r, Var(1)}}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Plan){
		"the answer is number 2":      func(p *Plan) { p.Answer = 2 },
		"variable 9 of 2":             func(p *Plan) { p.Atoms[0].Object = Var(9) },
		"between two names":           func(p *Plan) { p.Atoms[0].Object = Name("B") },
		"to itself":                   func(p *Plan) { p.Atoms[1].Object = Var(0) },
		"neither id nor label":        func(p *Plan) { p.Atoms[0].Relation = Relation{} },
		"does not hang together":      func(p *Plan) { p.Atoms[1].Subject = Name("B") },
		"nothing is said of the answ": func(p *Plan) { p.Atoms = p.Atoms[:1] },
		"says nothing":                func(p *Plan) { p.Marks = []Mark{{Var: 0, Kind: Between, From: 2, To: 1}} },
		"kind 99":                     func(p *Plan) { p.Kinds[0] = 99 },
	} {
		p := good
		p.Kinds, p.Atoms = append([]Kind(nil), good.Kinds...), append([]Atom(nil), good.Atoms...)
		change(&p)
		if err := p.Validate(); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := Write(p, English, 0); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: Write: %v", want, err)
		}
	}
	if _, err := Write(good, "fr", 0); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
}

// FuzzCheck reads arbitrary text: no panic, and nothing that lacks a name of the plan is taken for it.
func FuzzCheck(f *testing.F) {
	rels := world()
	p := chain(rand.New(rand.NewPCG(1, 9)), rels)
	for i := range 6 {
		for _, l := range []Lang{English, Chinese} {
			text, err := Write(p, l, i)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add("Who that that that? ? .")
	f.Fuzz(func(t *testing.T, text string) {
		if Check(p, text) != nil {
			return
		}
		for _, n := range p.Constants() {
			if !strings.Contains(text, n) {
				t.Fatalf("%s is not in %q", n, text)
			}
		}
	})
}
