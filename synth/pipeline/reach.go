package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/synth/certify"
)

// found is how a hop is found with the search tool.
type found struct {
	queries []string // planned from the name before the hop and the relation, never with the name it leads to
	best    int      // of queries
	rank    int      // of the hop's document among the best query's documents, from 1; 0 when no query finds it
	docs    []uint32 // the best query's documents, best first
}

// plan lists up to m queries for a hop: the name with the relation's label, the name alone, then aliases with the label.
// One that holds a name of the target would give it away and is left out.
func (s *Space) plan(from uint32, relation int, to uint32) []string {
	label, target := s.label(relation), s.g.Named(to)
	var out []string
	add := func(q string) {
		text := fold(q)
		leaks := stands(text, target.Name) || slices.ContainsFunc(target.Aliases, func(a string) bool { return stands(text, a) })
		if len(out) < s.o.Queries && !leaks && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	name := s.name(from)
	add(name + " " + label)
	add(name)
	for _, a := range s.g.Named(from).Aliases {
		if len(out) == s.o.Queries {
			break
		}
		if quarry.Normalize(a) != quarry.Normalize(name) {
			add(a + " " + label)
		}
	}
	return out
}

// keptHops is how many hops a desk remembers.
const keptHops = 1 << 16

// find looks for the document of a hop. That depends on the statement and the direction alone, and is remembered.
func (w *worker) find(from uint32, h certify.Hop, doc uint32) found {
	k := hopKey{h.Edge, h.Step.Inverse(), doc}
	f, ok := w.desk.hops[k]
	if !ok {
		f = w.look(from, h, doc)
		if len(w.desk.hops) >= keptHops {
			clear(w.desk.hops)
		}
		w.desk.hops[k] = f
	}
	return f
}

// hopKey is a statement walked in one direction, and the document it is wanted from.
type hopKey struct {
	edge    uint32
	inverse bool
	doc     uint32
}

func (w *worker) look(from uint32, h certify.Hop, doc uint32) found {
	f := found{queries: w.s.plan(from, h.Step.Relation(), h.To)}
	for i, q := range f.queries {
		w.desk.hits, w.desk.docs = w.s.texts.rank(q, w.s.o.K, w.desk.hits, w.desk.docs)
		rank := slices.Index(w.desk.docs, doc) + 1
		if i == 0 || rank > 0 && (f.rank == 0 || rank < f.rank) {
			f.best, f.rank, f.docs = i, rank, append(f.docs[:0], w.desk.docs...)
		}
		if rank == 1 {
			break
		}
	}
	return f
}

// reach finds every hop and measures the acquisition pressure: documents in the way whose entities have the type that is
// looked for, and what the path leaves open at each place.
func (w *worker) reach(p *proof) (rejection, error) {
	s := w.s
	for i, h := range p.walk.Hops {
		f := w.find(p.walk.At(i), h, p.docs[i])
		if f.rank == 0 {
			return rejection{StageRetrieval, Unreachable, fmt.Sprintf("hop %d, %s: document %s is not among the first %d for %q",
				i+1, s.shown(certify.Walk{Anchor: p.walk.At(i), Hops: p.walk.Hops[i : i+1]}), s.g.DocumentID(p.docs[i]), s.o.K, f.queries)}, nil
		}
		p.found = append(p.found, f)
	}
	open, err := w.solver.Bindings(p.walk, s.o.K)
	if err != nil {
		return rejection{}, err
	}
	for i, h := range p.walk.Hops {
		load := certify.HopLoad{Doc: p.docs[i], Bindings: open[i]}
		for _, d := range p.found[i].docs {
			if d != p.docs[i] && s.texts.fits(d, s.g.TypeNo(h.To)) {
				load.Distractors++
			}
		}
		p.loads = append(p.loads, load)
	}
	p.pressure, err = certify.Pressure(p.loads, s.o.K, s.o.ToolCalls)
	return rejection{}, err
}

// Step is one of the two sub-steps of a hop: reason, what is known, what is missing and what one would ask; retrieve,
// what was asked and what came back. They alternate.
type Step struct {
	Hop  int    `json:"hop"`  // from 1
	Kind string `json:"step"` // reason or retrieve

	Known    []string `json:"known,omitempty"` // entity ids: those the question names, then those found
	Relation string   `json:"relation,omitempty"`
	Inverse  bool     `json:"inverse,omitempty"` // the missing entity is the statement's subject
	Queries  []string `json:"queries,omitempty"` // from the last known entity and the relation

	Query string `json:"query,omitempty"`
	Doc   string `json:"doc,omitempty"`
	Rank  int    `json:"rank,omitempty"`       // of the document in the query's result, from 1
	Top   string `json:"top_sha256,omitempty"` // of the ids of the result's documents, best first, a line each
}

// The kinds of steps.
const (
	StepReason   = "reason"
	StepRetrieve = "retrieve"
)

// steps are the sub-steps of a path that was found; nil for a graph without texts.
func (s *Space) steps(p *proof) []Step {
	known := []string{s.g.ID(p.walk.Anchor)}
	for _, k := range p.conds {
		if k.Set < 0 && !slices.Contains(known, s.g.ID(k.To)) {
			known = append(known, s.g.ID(k.To))
		}
	}
	var out []Step
	for i, f := range p.found {
		h := p.walk.Hops[i]
		ids := make([]string, len(f.docs))
		for j, d := range f.docs {
			ids[j] = s.g.DocumentID(d)
		}
		sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
		out = append(out, Step{Hop: i + 1, Kind: StepReason, Known: slices.Clone(known), Relation: s.g.RelationID(h.Step.Relation()), Inverse: h.Step.Inverse(), Queries: f.queries},
			Step{Hop: i + 1, Kind: StepRetrieve, Query: f.queries[f.best], Doc: s.g.DocumentID(p.docs[i]), Rank: f.rank, Top: hex.EncodeToString(sum[:])})
		known = append(known, s.g.ID(h.To))
	}
	return out
}

// cite is a statement with the first evidence that a document gives for it.
func (s *Space) cite(edge, doc uint32) quarry.Statement {
	for _, ev := range s.g.Evidence(edge) {
		if ev.Doc == doc {
			return s.g.Cited(edge, ev)
		}
	}
	return s.g.Statement(edge, store.NoPassage)
}
