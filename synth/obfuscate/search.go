package obfuscate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/certify"
)

// The reasons for which a weakening was taken back.
const (
	SeveralAnswers = "several_answers"
	NarrowMargin   = "narrow_margin"
	TooLarge       = "too_many_variables"
	Weightless     = "no_bits_lost"
	TooDear        = "drop_loses_too_much"
)

// maxVars is how many variables certify takes in a query.
const maxVars = 2 * certify.MaxHops

// Options bound the weakening of one question. Zero values stand for the defaults.
type Options struct {
	Seed, Item uint64                 // randomness comes from these alone
	Target     float64                // bits to lose: 8
	Operators  []Operator             // to be used: all
	Keep       []int                  // atoms, and members after them, that stay as they are
	Hidden     []uint32               // entities that may not be named: those of the path
	Usable     func(edge uint32) bool // statements that may be brought in, as those with evidence; nil for all
	Margin     int                    // wanted over the best rival: 2; never less than 1
	DropBits   float64                // an atom may go when that loses no more than so many bits: 6
	Tries      int                    // weakenings tried: 64
}

// Step is one weakening that was tried.
type Step struct {
	Op      Operator
	Atoms   []int    // of the query given, members after atoms
	Entity  uint32   // that was named; of a member none
	Set     int      // it was weakened to, or -1
	Edges   []uint32 // statements it brings into the question, of Nested and Merge: they need evidence as well
	Before  int      // entities that satisfy the atoms by themselves
	After   int      // that satisfy what became of them
	Bits    float64  // log2(After/Before)
	Answers int      // of the whole question after it, counted up to 16
	Kept    bool
	Reason  string // why it was taken back
}

// Result is a weakened question.
type Result struct {
	Query     certify.Query
	Was       []uint32 // what each variable beyond those of the query given stands for
	Steps     []Step   // in the order they were tried
	Bits      float64  // of the steps kept: the question's difficulty by this measure
	Reached   bool     // the target
	Margin    int      // over the best rival, counted up to what was wanted
	Available int      // margin before
}

const manyAnswers = 16

// Weaken applies weakenings in the order of the seed until the target is reached or nothing is left to try, and takes
// back each after which the question has another answer, or a smaller margin than wanted. A wanted margin of 2 that the
// question never had, or without which the target is out of reach, is given up for 1. What loses no bits is taken back,
// but a description is tried again at the end, for the hop it adds. Each atom is weakened once at most.
// A question whose answer is not its only one is refused (KindGate).
//
// Weakenings only add answers, to every part of the question as well: no atom that was needed becomes needless.
func (w *Weakener) Weaken(q certify.Query, answer uint32, o Options) (Result, error) {
	o.Target, o.Margin, o.DropBits, o.Tries = cmp.Or(o.Target, 8), max(1, cmp.Or(o.Margin, 2)), cmp.Or(o.DropBits, 6), cmp.Or(o.Tries, 64)
	if o.Operators == nil {
		o.Operators = Operators()
	}
	before, err := w.s.AnswerSet(q, 2)
	if err != nil {
		return Result{}, err
	}
	if len(before) != 1 || before[0] != answer {
		return Result{}, &quarry.Error{Op: "obfuscate", Kind: quarry.KindGate, Subject: SeveralAnswers, Msg: fmt.Sprintf("entity %d is not the question's only answer", answer),
			Hint: "choose conditions first"}
	}
	rivals, err := w.s.Rivals(q, answer, o.Margin-1)
	if err != nil {
		return Result{}, err
	}
	run := &search{w: w, q: q, answer: answer, o: o, room: room{map[uint32]bool{}, answer, o.Usable}, cs: split(q)}
	for _, v := range o.Hidden {
		run.room.hidden[v] = true
	}
	run.out.Margin, run.out.Available = rivals.Margin, rivals.Margin
	if err := run.all(); err != nil {
		return Result{}, err
	}
	return run.result()
}

type search struct {
	w          *Weakener
	q          certify.Query
	answer     uint32
	o          Options
	room       room
	cs         []clause
	gone       []bool // clauses that have been replaced
	weightless bool   // a description that loses no bits may stay: it is one hop more
	out        Result
}

func (s *search) all() error {
	s.gone = make([]bool, len(s.cs))
	list := s.list()
	var narrow, weightless []change
	for _, c := range list[:min(len(list), s.o.Tries)] {
		if s.out.Bits >= s.o.Target {
			return nil
		}
		why, err := s.try(c, min(s.o.Margin, s.out.Available))
		if err != nil {
			return err
		}
		switch {
		case why == NarrowMargin:
			narrow = append(narrow, c)
		case why == Weightless && c.to.op == Nested:
			weightless = append(weightless, c)
		}
	}
	for _, c := range narrow {
		if s.out.Bits >= s.o.Target {
			return nil
		}
		if _, err := s.try(c, 1); err != nil {
			return err
		}
	}
	s.weightless = true
	for _, c := range weightless {
		if s.out.Bits >= s.o.Target {
			return nil
		}
		if _, err := s.try(c, 1); err != nil {
			return err
		}
	}
	return nil
}

// list is all changes in the order of the seed: the operators of an atom first in random order, so that an entity with a
// thousand statements is not described a thousand times before anything else is tried.
func (s *search) list() []change {
	r := rand.New(rand.NewPCG(s.o.Seed, s.o.Item))
	type turn struct {
		c     change
		round int
	}
	var all []turn
	for i, c := range s.cs {
		if slices.ContainsFunc(c.origin, func(at int) bool { return slices.Contains(s.o.Keep, at) }) {
			continue
		}
		for _, op := range s.o.Operators {
			cs := s.w.changes(s.cs, i, op, s.room)
			r.Shuffle(len(cs), func(a, b int) { cs[a], cs[b] = cs[b], cs[a] })
			for round, c := range cs[:min(len(cs), 4)] {
				if !slices.ContainsFunc(c.to.origin, func(at int) bool { return slices.Contains(s.o.Keep, at) }) {
					all = append(all, turn{c, round})
				}
			}
		}
	}
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	slices.SortStableFunc(all, func(a, b turn) int { return cmp.Compare(a.round, b.round) })
	out := make([]change, len(all))
	for i, t := range all {
		out[i] = t.c
	}
	return out
}

// try applies a change and takes it back when that is needed; it returns why.
func (s *search) try(c change, margin int) (string, error) {
	if slices.ContainsFunc(c.from, func(i int) bool { return s.gone[i] }) {
		return "", nil
	}
	st := Step{Op: c.to.op, Atoms: c.to.origin, Entity: c.entity, Set: c.set, Edges: c.edges}
	from := make([]clause, 0, 2)
	for _, i := range c.from {
		from = append(from, s.cs[i])
	}
	var err error
	if st.Before, err = s.w.alone(from); err != nil {
		return "", err
	}
	if st.After, err = s.w.alone([]clause{c.to}); err != nil {
		return "", err
	}
	st.Bits = bits(st.Before, st.After)
	var left int
	if st.Reason, left, err = s.judge(c, &st, margin); err != nil {
		return "", err
	}
	if st.Kept = st.Reason == ""; st.Kept {
		for _, i := range c.from {
			s.gone[i] = true
		}
		s.cs, s.gone = append(s.cs, c.to), append(s.gone, false)
		s.out.Bits += st.Bits
		s.out.Margin = left
	}
	s.out.Steps = append(s.out.Steps, st)
	return st.Reason, nil
}

// judge says why a change may not stay, and the margin when it may.
func (s *search) judge(c change, st *Step, margin int) (string, int, error) {
	switch {
	case st.Bits == 0 && !s.weightless:
		return Weightless, 0, nil
	case c.to.op == Drop && st.Bits > s.o.DropBits:
		return TooDear, 0, nil
	}
	q, _ := build(s.q.Vars, s.q.Answer, s.with(c))
	if q.Vars > maxVars {
		return TooLarge, 0, nil
	}
	n, err := s.w.s.Count(q, manyAnswers)
	if err != nil {
		return "", 0, err
	}
	if st.Answers = n; n != 1 {
		return SeveralAnswers, 0, nil
	}
	if margin < 2 {
		return "", 1, nil
	}
	r, err := s.w.s.Rivals(q, s.answer, margin-1)
	if err != nil {
		return "", 0, err
	}
	if r.Margin < margin {
		return NarrowMargin, r.Margin, nil
	}
	return "", r.Margin, nil
}

// with are the clauses after a change, in the order of the query's atoms.
func (s *search) with(c change) []clause {
	var out []clause
	for i, k := range s.cs {
		if !s.gone[i] && !slices.Contains(c.from, i) {
			out = append(out, k)
		}
	}
	if len(c.from) > 0 {
		out = append(out, c.to)
	}
	slices.SortStableFunc(out, func(a, b clause) int { return cmp.Compare(a.origin[0], b.origin[0]) })
	return out
}

func (s *search) result() (Result, error) {
	s.out.Query, s.out.Was = build(s.q.Vars, s.q.Answer, s.with(change{}))
	s.out.Reached = s.out.Bits >= s.o.Target
	if s.out.Margin = min(s.out.Margin, s.o.Margin); s.out.Margin == s.o.Margin {
		return s.out, nil
	}
	r, err := s.w.s.Rivals(s.out.Query, s.answer, s.o.Margin-1)
	s.out.Margin = r.Margin
	return s.out, err
}
