package obfuscate

import (
	"context"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/synth/certify"
)

// Answerer is who tries a question: answer number k of several, as the entities it can mean (none when it means none).
// An error is no answer: it ends the check, for a check that failed has not been passed.
type Answerer interface {
	Answer(ctx context.Context, k int) ([]uint32, error)
}

// Rival is an answer that is not the question's.
type Rival struct {
	Entity uint32
	Full   bool  // it satisfies every atom: the question has another answer
	Fails  []int // atoms it fails, members after atoms, the fewest; nil when it is more than two
}

// Challenge asks for k answers and tests each that is not the question's against every atom (as ASearcher does with what
// its solvers answered; here by count). Any rival that is Full refuses the question. Rivals ascend.
func (w *Weakener) Challenge(ctx context.Context, q certify.Query, answer uint32, by Answerer, k int) (rivals []Rival, refused bool, err error) {
	var got []uint32
	for i := range k {
		es, err := by.Answer(ctx, i)
		if err != nil {
			return nil, false, err
		}
		got = append(got, es...)
	}
	slices.Sort(got)
	for _, v := range slices.Compact(got) {
		if v == answer || int(v) >= w.x.G.Entities() {
			continue
		}
		r, err := w.rival(q, answer, v)
		if err != nil {
			return nil, false, err
		}
		rivals = append(rivals, r)
		refused = refused || r.Full
	}
	return rivals, refused, nil
}

func (w *Weakener) rival(q certify.Query, answer, v uint32) (Rival, error) {
	r := Rival{Entity: v}
	meets := func(q certify.Query) (bool, error) {
		f, err := w.s.Full(q, answer, []uint32{v})
		return len(f) > 0, err
	}
	var err error
	if r.Full, err = meets(q); err != nil || r.Full {
		return r, err
	}
	for i := range q.Len() {
		if ok, err := meets(q.Without(i)); err != nil || ok {
			r.Fails = []int{i}
			return r, err
		}
	}
	for i := range q.Len() {
		for j := range i {
			if ok, err := meets(q.Without(i).Without(j)); err != nil || ok {
				r.Fails = []int{j, i}
				return r, err
			}
		}
	}
	return r, nil
}

// Unsteady is a statement whose truth may have changed, or that holds of several objects, without the graph saying when.
type Unsteady struct {
	Edge    uint32
	Objects int  // the subject has by the relation
	Several bool // more than one, and no end
	Stale   bool // began more than the given years before the date, functional, and no end
	Ended   bool // before the date
}

// Flag looks at the statements of a question as of a date: those without an end whose subject has several objects by the
// relation, those that are stale, those that have ended. at may be nil when the graph has no times.
func Flag(g *csr.Graph, edges []uint32, asOf certify.Date, years int, at func(edge uint32) certify.Validity) []Unsteady {
	var out []Unsteady
	for _, e := range edges {
		s := g.Edge(e)
		u := Unsteady{Edge: e, Objects: len(g.Neighbours(s.Subject, csr.Along(int(s.Relation))))}
		var v certify.Validity
		if at != nil {
			v = at(e)
		}
		u.Several = u.Objects > 1 && v.End.Year == 0
		if asOf.Year != 0 {
			t := certify.TimesAt([]uint32{e}, asOf, years, func(uint32) certify.Validity { return v }, nil)
			u.Stale, u.Ended = len(t.Stale) > 0, len(t.Ended) > 0
		}
		if u.Several || u.Stale || u.Ended {
			out = append(out, u)
		}
	}
	return out
}
