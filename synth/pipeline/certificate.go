package pipeline

import (
	"encoding/json"
	"fmt"

	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/certify"
)

// Certificate is why a question is accepted. Counts of answers stop at certify.CountLimit.
type Certificate struct {
	Graph       string   `json:"graph"` // digest
	Answers     int      `json:"answers"`
	PathAnswers int      `json:"answers_by_path_alone"`
	Without     []int    `json:"answers_without_condition"`
	Free        bool     `json:"anchor_needed"` // without the first step there is another answer
	Joint       int      `json:"left_by_conditions_on_answer"`
	Leaf        int      `json:"leaf"` // the fewest entities that an atom of the answer, or two, leave
	Necessity   string   `json:"necessity"`
	Levels      Levels   `json:"levels"`
	Margin      int      `json:"margin"` // atoms the best rival fails; 2 for two or more
	Rival       string   `json:"rival,omitempty"`
	Branches    Branches `json:"independence"`
	Members     []Member `json:"members,omitempty"`
	Shape       string   `json:"shape"` // of path and conditions together
	Treewidth   int      `json:"treewidth"`

	Retrieval *Retrieval `json:"retrieval,omitempty"`
	Missing   string     `json:"missing,omitempty"` // what could not be certified, and why
	Times     *Times     `json:"times,omitempty"`   // nil without an as-of date
}

// Levels are the levels of necessity one by one; N4 is null for a graph without texts.
type Levels struct {
	N0 bool  `json:"n0"`
	N1 bool  `json:"n1"`
	N2 bool  `json:"n2"`
	N3 bool  `json:"n3"`
	N4 *bool `json:"n4"`
}

// Branches is the independence of the path and of each condition on the answer.
type Branches struct {
	Holds       bool      `json:"holds"`
	Disjoint    bool      `json:"disjoint"`
	Unlinked    bool      `json:"unlinked"`
	DocsApart   bool      `json:"documents_apart"`
	Informative bool      `json:"informative"`
	Unlike      bool      `json:"unlike"`
	Bits        []float64 `json:"bits"`
}

// Member narrows a variable of the atoms to a set: a type, or a decade.
type Member struct {
	Variable string `json:"variable"`
	Type     string `json:"type,omitempty"`
	From     int    `json:"from,omitempty"` // years, both included
	To       int    `json:"to,omitempty"`
	Size     int    `json:"size"` // entities that satisfy the condition
}

// Retrieval is what the search tool shows of a path.
type Retrieval struct {
	K          int     `json:"k"`
	Queries    int     `json:"queries"`
	WorstRank  int     `json:"worst_rank"` // of the hops' best
	Steps      []Step  `json:"steps"`
	Documents  int     `json:"documents"` // distinct ones of the path
	Crossings  int     `json:"crossings"`
	Dispersion float64 `json:"dispersion"` // of path and conditions
	Pressure   float64 `json:"acquisition_pressure"`
	ToolCalls  int     `json:"tool_calls"`
	Bindings   []int   `json:"bindings"`    // by hop, up to k
	Distracted []int   `json:"distractors"` // by hop
}

// Times flags statements by their place in the question, hops before conditions, from 1.
type Times struct {
	AsOf    string `json:"as_of"`
	Stale   []int  `json:"stale,omitempty"`
	Several []int  `json:"several_objects,omitempty"`
}

const noTexts = "retrieval, documents, acquisition pressure, N4 and the single-query filter: the graph has no texts"

func (s *Space) certificateOf(p *proof, variable func(int) string) json.RawMessage {
	c := p.graph
	shape, width := certify.Shape(certify.Question(p.walk, p.conds))
	cert := Certificate{Graph: s.g.Digest(), Answers: c.Answers, PathAnswers: c.PathAnswers, Without: c.Without, Free: c.Free, Joint: c.Joint, Leaf: c.Leaf,
		Necessity: fmt.Sprintf("N%d", c.Necessity.Level()), Levels: Levels{c.Necessity.N0, c.Necessity.N1, c.Necessity.N2, c.Necessity.N3, p.text}, Margin: c.Margin,
		Branches: Branches{c.Independence.Holds(), c.Independence.Disjoint, c.Independence.Unlinked, c.Independence.DocsApart, c.Independence.Informative, c.Independence.Unlike, c.Independence.Bits},
		Shape:    string(shape), Treewidth: width}
	if c.Rival != csr.NoDoc {
		cert.Rival = s.g.ID(c.Rival)
	}
	for i, k := range p.conds {
		if k.Set < 0 {
			continue
		}
		m := Member{Variable: variable(k.Place), Type: s.sets[k.Set].Type, Size: k.Size}
		if m.Type == "" {
			m.Variable, m.From, m.To = dateVariable(i), s.sets[k.Set].Decade, s.sets[k.Set].Decade+9
		}
		cert.Members = append(cert.Members, m)
	}
	if s.single != nil {
		cert.Times = &Times{AsOf: s.o.AsOf, Stale: fromOne(p.times.Stale), Several: fromOne(p.times.Several)}
	}
	if s.texts == nil {
		cert.Missing = noTexts
		return encode(cert)
	}
	r := &Retrieval{K: s.o.K, Queries: s.o.Queries, Steps: s.steps(p), Pressure: p.pressure, ToolCalls: s.o.ToolCalls}
	path := walk.Path{Anchor: p.walk.Anchor}
	docs := append([]uint32{}, p.docs...)
	for i, f := range p.found {
		path.Hops = append(path.Hops, walk.Hop{Doc: p.docs[i]})
		r.WorstRank = max(r.WorstRank, f.rank)
		r.Bindings, r.Distracted = append(r.Bindings, p.loads[i].Bindings), append(r.Distracted, p.loads[i].Distractors)
	}
	for _, e := range p.edges {
		if e != csr.NoDoc {
			docs = append(docs, s.g.Docs[e])
		}
	}
	r.Documents, r.Crossings, r.Dispersion = path.Documents(), path.Crossings(), certify.Dispersion(docs)
	cert.Retrieval = r
	return encode(cert)
}

func fromOne(places []int) []int {
	var out []int
	for _, i := range places {
		out = append(out, i+1)
	}
	return out
}
