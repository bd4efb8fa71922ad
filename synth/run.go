package synth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
)

// Entry is one line of the ledger: what became of one walk.
type Entry struct {
	Hops   int    `json:"hops"`
	Walk   int    `json:"walk"`
	State  string `json:"state"`              // accepted, rejected
	Reason string `json:"reason,omitempty"`   // of a rejection
	Shape  string `json:"shape,omitempty"`    // that was accepted, or that the reason is about; none when no shape was tried
	ID     string `json:"question,omitempty"` // of an accepted one
}

// Result is a synthesis: the questions, and a ledger with exactly one line per walk.
type Result struct {
	Questions []quarry.Question
	Ledger    []Entry
}

// Certificate is why a question is accepted: how each hop was found with the search tool and how many answers there are.
type Certificate struct {
	Answers   int      `json:"answer_entities"`       // on the whole graph; all have one name
	Alone     int      `json:"answers_by_path_alone"` // without the conditions
	CertTop   int      `json:"cert_top"`
	Cross     bool     `json:"cross_document"`
	Queries   []string `json:"hop_query"`
	Ranks     []int    `json:"hop_rank"`  // of the evidence in the result of the hop's query, from 1
	Words     []string `json:"hop_words"` // what the query adds to the name
	MaxFanout int      `json:"max_fanout"`
	SearchK   int      `json:"search_k"`

	Parts []quarry.Split `json:"condition_part,omitempty"` // of the documents, in which the evidence of each condition lies
}

// WalkID says where a question comes from: with the graph and the options it can be drawn again.
type WalkID struct {
	Number int    `json:"number"`
	Seed   uint64 `json:"seed"`
	Shape  string `json:"shape"`
}

// Funnel counts a ledger: walks = accepted + the sum over rejected.
func Funnel(ledger []Entry) (walks, accepted int, rejected map[string]int) {
	rejected = map[string]int{}
	for _, e := range ledger {
		if e.State == StateAccepted {
			accepted++
		} else {
			rejected[e.Reason]++
		}
	}
	return len(ledger), accepted, rejected
}

// Run walks, completes and selects. The result depends on graph and options only, never on Concurrency.
func Run(ctx context.Context, g *kg.Graph, o Options) (*Result, error) {
	s, err := NewSpace(ctx, g, english.Load(), o)
	if err != nil {
		return nil, err
	}
	return s.synthesise(ctx)
}

func (s *Space) synthesise(ctx context.Context) (*Result, error) {
	if len(s.starts(1)) == 0 {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindGate, Msg: "no statement can be followed with the search tool", Hint: "raise synth.cert_top or synth.max_fanout, or check that the relations of the data are in kg/english/phrases.tsv"}
	}
	splits := s.splits()
	var ledger []Entry
	var passed []*candidate
	for _, length := range lengths(s.o.Shapes) {
		cs, entries, err := s.candidates(ctx, length, splits)
		if err != nil {
			return nil, err
		}
		passed = append(passed, cs...)
		ledger = append(ledger, entries...)
	}
	index := map[[2]int]*Entry{}
	for i := range ledger {
		index[[2]int{ledger[i].Hops, ledger[i].Walk}] = &ledger[i]
	}
	res := &Result{}
	for _, c := range s.selectQuestions(passed, index) {
		q := s.question(c, splits)
		index[[2]int{len(c.path), c.number}].ID = q.ID
		res.Questions = append(res.Questions, q)
	}
	res.Ledger = ledger
	return res, nil
}

func stopped(doing string, err error) error {
	return &quarry.Error{Op: "synth", Kind: quarry.KindCanceled, Msg: "stopped while " + doing, Hint: "run the same command again", Err: err}
}

func lengths(shapes []Shape) []int {
	var out []int
	for _, sh := range shapes {
		if !slices.Contains(out, sh.Hops) {
			out = append(out, sh.Hops)
		}
	}
	return out
}

// candidates draws all walks of a length and completes the distinct ones. Every walk gets its ledger line.
func (s *Space) candidates(ctx context.Context, length int, splits []quarry.Split) ([]*candidate, []Entry, error) {
	entries := make([]Entry, s.o.Walks)
	made := make([]*candidate, s.o.Walks)
	seen := map[string]bool{}
	starts := s.starts(length)
	for n := range s.o.Walks {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, nil, stopped("walking", ctx.Err())
		}
		entries[n] = Entry{Hops: length, Walk: n, State: StateRejected}
		path, ok := s.walk(starts, length, n)
		if !ok {
			entries[n].Reason = ReasonDeadEnd
			continue
		}
		key := pathKey(path)
		if seen[key] {
			entries[n].Reason = ReasonDuplicate
			continue
		}
		seen[key] = true
		made[n] = &candidate{number: n, path: path}
	}
	err := each(ctx, len(made), s.o.Concurrency, func(n int) {
		if made[n] != nil {
			entries[n].Shape, entries[n].Reason = s.attempt(made[n], splits)
		}
	})
	if err != nil {
		return nil, nil, stopped("making questions", err)
	}
	var out []*candidate
	for n := range made {
		if made[n] != nil && entries[n].Reason == "" {
			entries[n].State = StateAccepted
			out = append(out, made[n])
		}
	}
	return out, entries, nil
}

// attempt tries the shapes of the walk's length in the spec's order. It returns the shape that stands and no reason, or
// the first shape with the reason against it; no shape when the walk cannot have any.
func (s *Space) attempt(c *candidate, splits []quarry.Split) (shape, reason string) {
	if reason := s.check(c, splits); reason != "" {
		return "", reason
	}
	r := rng(s.o.Seed, "wording", c.number*8+len(c.path))
	frame := r.IntN(english.NFrames())
	c.order = r.Float64()
	for _, sh := range s.o.Shapes {
		if sh.Hops != len(c.path) {
			continue
		}
		why := s.complete(c, splits, true, sh, frame)
		if why == ReasonConditions || why == ReasonNotUnique { // what other parts say may still do
			why = s.complete(c, splits, false, sh, frame)
		}
		if why == "" {
			return sh.String(), ""
		}
		if reason == "" {
			shape, reason = sh.String(), why
		}
	}
	return shape, reason
}

// selectQuestions applies the caps: per answer and start, per part, and the share that crosses documents.
func (s *Space) selectQuestions(cs []*candidate, ledger map[[2]int]*Entry) []*candidate {
	reject := func(c *candidate, reason string) {
		e := ledger[[2]int{len(c.path), c.number}]
		e.State, e.Reason = StateRejected, reason
	}
	sort.SliceStable(cs, func(i, j int) bool {
		if cs[i].cross != cs[j].cross {
			return cs[i].cross
		}
		return cs[i].order < cs[j].order
	})
	perAnswer, perAnchor, texts := map[string]int{}, map[int]int{}, map[string]bool{}
	kept := map[quarry.Split][]*candidate{}
	for _, c := range cs {
		answer := s.norms[c.path[len(c.path)-1].to][0]
		anchor := c.path[0].from
		if perAnswer[answer] >= s.o.PerAnswer || perAnchor[anchor] >= s.o.PerAnchor || texts[c.text] {
			reject(c, ReasonCapped)
			continue
		}
		perAnswer[answer]++
		perAnchor[anchor]++
		texts[c.text] = true
		kept[c.split] = append(kept[c.split], c)
	}
	var out []*candidate
	for _, split := range []quarry.Split{quarry.SplitTrain, quarry.SplitTier, quarry.SplitHeldout} {
		crossing, single := s.quota(kept[split], split)
		full := s.o.Limits[split] > 0 && crossing+single == s.o.Limits[split]
		for _, c := range kept[split] {
			switch {
			case c.cross && crossing > 0:
				crossing--
				out = append(out, c)
			case !c.cross && single > 0:
				single--
				out = append(out, c)
			case full:
				reject(c, ReasonSplitFull)
			default:
				reject(c, ReasonCrossShare)
			}
		}
	}
	// a fixed order that mixes shapes and crossing
	sort.SliceStable(out, func(i, j int) bool { return out[i].order < out[j].order })
	return out
}

// quota says how many questions of a part may cross documents and how many may not: at least CrossShare cross, and the
// part's limit is filled in that proportion.
func (s *Space) quota(cs []*candidate, split quarry.Split) (crossing, single int) {
	for _, c := range cs {
		if c.cross {
			crossing++
		} else {
			single++
		}
	}
	if s.o.CrossShare > 0 {
		single = min(single, int(float64(crossing)*(1-s.o.CrossShare)/s.o.CrossShare))
	}
	if limit := s.o.Limits[split]; limit > 0 && crossing+single > limit {
		crossing = min(crossing, max(int(math.Ceil(s.o.CrossShare*float64(limit))), limit-single))
		single = limit - crossing
	}
	return crossing, single
}

func (s *Space) question(c *candidate, splits []quarry.Split) quarry.Question {
	g := s.g
	answer := &g.Entities[c.path[len(c.path)-1].to]
	q := quarry.Question{Text: c.text, Answer: answer.Name, AnswerID: answer.ID, Lang: "en", Source: "walk", Split: c.split,
		License: s.o.License, AnswerSet: 1}
	for _, a := range answer.Aliases {
		if len(quarry.Normalize(a)) >= minAliasNormalLen {
			q.Aliases = append(q.Aliases, a)
		}
	}
	variable := func(i int) string { // what stands for the entity after i hops
		switch {
		case i == 0:
			return g.Entities[c.path[0].from].ID
		case i == len(c.path):
			return "?a"
		}
		return fmt.Sprintf("?v%d", i)
	}
	for i := range c.path {
		h := &c.path[i]
		st := g.Statement(h.edge, h.passage)
		q.Path = append(q.Path, quarry.Hop{Statement: st, Inverse: h.inverse})
		q.Atoms = append(q.Atoms, atom(st.Predicate, variable(i), variable(i+1), h.inverse))
		q.Entities = append(q.Entities, g.Entities[h.to].Named)
	}
	cert := Certificate{Answers: c.answers, Alone: c.alone, CertTop: s.o.CertTop, Cross: c.cross, MaxFanout: s.o.MaxFanout, SearchK: s.o.K}
	for _, cd := range c.conds {
		st := g.Statement(cd.f.edge, cd.passage)
		cert.Parts = append(cert.Parts, splits[g.Passages[cd.passage].Doc])
		q.Conditions = append(q.Conditions, st)
		q.Atoms = append(q.Atoms, atom(st.Predicate, g.Entities[cd.f.about].ID, variable(cd.step), cd.f.inv))
	}
	for i := range c.path {
		h := &c.path[i]
		cert.Queries, cert.Ranks, cert.Words = append(cert.Queries, h.query), append(cert.Ranks, h.rank+1), append(cert.Words, h.phrase.Query)
	}
	q.Certificate, _ = json.Marshal(cert) // strings and numbers: it cannot fail
	q.Walk, _ = json.Marshal(WalkID{Number: c.number, Seed: s.o.Seed, Shape: c.shape.String()})
	sum := sha256.Sum256([]byte(pathKey(c.path) + "|" + c.text))
	q.ID = "q-" + hex.EncodeToString(sum[:8])
	return q
}

func atom(p, from, to string, inverse bool) quarry.Atom {
	if inverse {
		from, to = to, from
	}
	return quarry.Atom{S: from, P: p, O: to}
}
