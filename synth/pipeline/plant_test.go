package pipeline

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/store"
)

// facts are lines "subject|relation|object|document|start|end": the first three are names and ids in one, the document
// may be empty, each has one sentence a fact. A line "document: text" adds a sentence without a fact, "=id: name" renames,
// "#id: type" gives a type.
func facts(t testing.TB, lines ...string) *kg.Mapped {
	t.Helper()
	var out []store.Record
	docs := map[string]*store.Document{}
	entity := map[string]*store.Entity{}
	thing := func(id string) *store.Entity {
		if entity[id] == nil {
			entity[id] = &store.Entity{ID: "id-" + id, Name: id}
		}
		return entity[id]
	}
	say := func(doc, text string) store.Span {
		d := docs[doc]
		if d == nil {
			d = &store.Document{ID: doc}
			docs[doc] = d
		}
		at := len(strings.Join(d.Sentences, " "))
		if at > 0 {
			at++
		}
		d.Sentences = append(d.Sentences, text)
		return store.Span{Start: at, End: at + len(text)}
	}
	for _, l := range lines {
		if id, name, ok := strings.Cut(l, ": "); ok && !strings.Contains(l, "|") {
			switch l[0] {
			case '=':
				thing(id[1:]).Name = name
			case '#':
				thing(id[1:]).Type = name
			default:
				say(id, name)
			}
			continue
		}
		f := append(strings.Split(l, "|"), "", "", "")
		s := &store.Statement{Subject: "id-" + f[0], Predicate: f[1], Object: "id-" + f[2], Doc: f[3]}
		thing(f[0])
		thing(f[2])
		if f[3] != "" {
			s.Spans = []store.Span{say(f[3], thing(f[0]).Name+" "+f[1]+" "+thing(f[2]).Name+".")}
		}
		for i, p := range []string{store.QualStart, store.QualEnd} {
			if v := f[4+i]; v != "" {
				s.Qualifiers = append(s.Qualifiers, store.Qualifier{Property: p, Value: v})
			}
		}
		out = append(out, store.Record{Statement: s})
	}
	var first []store.Record
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		first = append(first, store.Record{Document: docs[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(entity)) {
		first = append(first, store.Record{Entity: entity[id]})
	}
	return small(t, append(first, out...)...)
}

// base is a graph in which the path Alder, Birch, Cedar makes a question of two conditions: Birch grows near three,
// Cypress and Chestnut each lack one of them, and Dogwood has both but is not near Birch.
func base() []string {
	return []string{
		"Alder|planted by|Birch|d1", "Birch|grows near|Cedar|d2", "Birch|grows near|Cypress|d3", "Birch|grows near|Chestnut|d4",
		"Cedar|sold at|Xenia|d5", "Cypress|sold at|Xenia|d6", "Cedar|loved by|Yarrow|d7", "Chestnut|loved by|Yarrow|d8",
		"Dogwood|sold at|Xenia|d9", "Dogwood|loved by|Yarrow|d10",
	}
}

const path = "Alder -planted by-> Birch -grows near-> Cedar"

// minimal makes the anchor needed: somewhere else grows Dogwood.
var minimal = []string{"Elder|grows near|Dogwood|d11"}

type hidden struct {
	Searcher
	g   *kg.Mapped
	doc string
}

// Search is as if a document were not in the index.
func (h hidden) Search(query string, k int, dst []bm25.Hit) []bm25.Hit {
	return slices.DeleteFunc(h.Searcher.Search(query, k+10, dst), func(x bm25.Hit) bool { return h.g.DocumentID(h.g.Passage(x.Passage).Doc) == h.doc })
}

func id(t testing.TB, g *kg.Mapped, name string) uint32 {
	t.Helper()
	v, ok := g.EntityByID("id-" + name)
	if !ok {
		t.Fatal("no ", name)
	}
	return v
}

func plantOptions(t testing.TB, g *kg.Mapped) Options {
	return Options{Seed: 1, Hops: 2, Leaf: 2, MinDocs: -1, K: 4, Starts: []uint32{id(t, g, "Alder")}}
}

// Each fault is planted alone in a graph that gives a question without it, and rejects the candidate for itself.
func TestPlantedFaults(t *testing.T) {
	without := func(lines []string, fact string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.HasPrefix(l, fact) })
	}
	tests := []struct {
		name  string
		facts []string
		set   func(o *Options)
		hooks func(h *Hooks, g *kg.Mapped)
		path  string
		want  Reason
		says  string
	}{
		{name: "nothing", facts: base()},
		{name: "nothing, minimal", facts: append(base(), minimal...), set: func(o *Options) { o.Necessity = N3 }},
		{name: "shortcut edge", facts: append(base(), "Alder|knows|Cedar"), want: Shortcut},
		{name: "shortcut edge, induced", facts: []string{"Alder|a|Birch|d1", "Birch|b|Cedar|d2", "Alder|c|Cedar"}, set: func(o *Options) { o.Necessity = N2 }, path: "none", want: WalkShortcut},
		{name: "second answer", facts: append(base(), "Birch|grows near|Cork|d12", "Cork|sold at|Xenia", "Cork|loved by|Yarrow"), want: Several},
		{name: "second answer without text", facts: append(base(), "Birch|grows near|Cork", "Cork|sold at|Xenia", "Cork|loved by|Yarrow"), want: Several},
		{name: "telling step", facts: base(), set: func(o *Options) { o.Necessity, o.Leaf = N3, 4 }, want: Telling},
		{name: "needless anchor", facts: base(), set: func(o *Options) { o.Necessity = N3 }, want: Needless},
		{name: "rival", facts: base(), set: func(o *Options) { o.Margin = 2 }, want: Rival, says: "fails 1 atom"},
		{name: "shared document", facts: append(without(base(), "Cedar|sold at"), "Cedar|sold at|Xenia|d2"), set: func(o *Options) { o.Independent = true }, want: Dependent},
		{name: "like sentences", facts: append(without(base(), "Cedar|loved by"), "Cedar|sold at|Xenib|d7", "Chestnut|sold at|Xenib|d8", "Dogwood|sold at|Xenib|d10"),
			set: func(o *Options) { o.Independent = true }, want: Dependent, says: "Unlike:false"},
		{name: "independent", facts: base(), set: func(o *Options) { o.Independent = true }},
		{name: "namesake of the anchor", facts: append(base(), "Alder2|planted by|Beech|d13", "Beech|grows near|Cork|d14", "Cork|sold at|Xenia", "Cork|loved by|Yarrow", "=Alder2: Alder"), want: Ambiguous, says: "Cork"},
		{name: "namesake with the same answer", facts: append(base(), "Alder2|planted by|Birch|d13", "=Alder2: Alder")},
		{name: "named condition without text", facts: append(without(base(), "Cedar|sold at"), "Cedar|sold at|Xenia"), want: Several},
		{name: "decade without text", facts: append(slices.DeleteFunc(base(), func(l string) bool { return strings.Contains(l, "|sold at|") }),
			"Cedar|felled in|1951", "Cypress|felled in|1952|d6", "Dogwood|felled in|1953|d9", "#1951: TIME", "#1952: TIME", "#1953: TIME"), want: Unsourced, says: "felled in"},
		{name: "text shortcut", facts: append(append(base(), minimal...), "Alder|seen with|Fir|d15", "Cedar|seen with|Gorse|d15"), set: func(o *Options) { o.Necessity = N4 }, want: TextShortcut, says: "d15"},
		{name: "ended", facts: append(without(base(), "Birch|grows near|Cedar"), "Birch|grows near|Cedar|d2|1990|1995-06"), set: func(o *Options) { o.AsOf = "2000" }, want: Ended},
		{name: "not ended", facts: append(without(base(), "Birch|grows near|Cedar"), "Birch|grows near|Cedar|d2|1990|2000-06"), set: func(o *Options) { o.AsOf = "2000-03" }},
		{name: "ahead", facts: append(without(base(), "Cedar|sold at"), "Cedar|sold at|Xenia|d5|2001"), set: func(o *Options) { o.AsOf = "2000" }, want: Ahead},
		{name: "unreachable hop", facts: base(), hooks: func(h *Hooks, g *kg.Mapped) { h.Search = hidden{g.Index(), g, "d2"} }, want: Unreachable, says: "hop 2"},
		{name: "unreachable first hop", facts: base(), hooks: func(h *Hooks, g *kg.Mapped) { h.Search = hidden{g.Index(), g, "d1"} }, want: Unreachable, says: "hop 1"},
		{name: "no text", facts: base(), hooks: func(h *Hooks, _ *kg.Mapped) {
			h.Writer = written(func(*Draft) (Wording, error) { return Wording{Reason: "reads otherwise"}, nil })
		}, want: NoWording, says: "reads otherwise"},
		{name: "answer leaks", facts: base(), hooks: func(h *Hooks, _ *kg.Mapped) {
			h.Writer = written(func(*Draft) (Wording, error) {
				return Wording{Text: "Is it the ceDar near what Alder had planted?"}, nil
			})
		}, want: Leaked, says: "leak_answer"},
		{name: "inner entity leaks", facts: base(), hooks: func(h *Hooks, _ *kg.Mapped) {
			h.Writer = written(func(*Draft) (Wording, error) { return Wording{Text: "What grows near Birch?"}, nil })
		}, want: Leaked, says: "leak_inside"},
		{name: "single query", facts: append(base(), "d16: Alder and Cedar went to Yarrow."), want: SingleQuery, says: "d16"},
		{name: "dead end", facts: base(), set: func(o *Options) { o.Hops = 9 }, path: "none", want: WalkDeadEnd},
		{name: "documents", facts: []string{"Alder|a|Birch|d1", "Birch|b|Cedar|d1"}, set: func(o *Options) { o.MinDocs = 2 }, path: "none", want: WalkDocuments},
		{name: "only hubs to end at", facts: []string{"Alder|a|Birch|d1", "Birch|b|Cedar|d1", "Cedar|b|Fir|d2"}, set: func(o *Options) { o.HubDocs = 1 }, path: "none", want: WalkEnd},
		{name: "literal start", facts: append(base(), "#Alder: TIME"), path: "none", want: WalkStart},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := facts(t, test.facts...)
			o, h := plantOptions(t, g), Hooks{Writer: plain{}}
			if test.set != nil {
				test.set(&o)
			}
			if test.hooks != nil {
				test.hooks(&h, g)
				o.Index = "test"
			}
			s := must[*Space](t)(NewSpace(g, o, h))
			want := path
			if test.path == "none" {
				want = ""
			}
			for n := range 200 {
				c := must[Candidate](t)(s.Candidate(t.Context(), n))
				if c.Path != want || want == "" && c.Reason != test.want {
					continue
				}
				if c.Reason != test.want || !strings.Contains(c.Detail, test.says) || (c.Question == nil) != (test.want != "") {
					t.Fatalf("walk %d is rejected for %q (%s), expected %q (%s)", n, c.Reason, c.Detail, test.want, test.says)
				}
				if m := meanings[c.Reason]; c.Reason != "" && (m.stage != c.Stage || m.says == "" || m.do == "") {
					t.Fatalf("%s at stage %s is explained as %+v", c.Reason, c.Stage, m)
				}
				return
			}
			t.Fatalf("no walk is %q", want)
		})
	}
}

// judge is a filter made of a function.
type judge func(q *quarry.Question) Verdict

func (j judge) Filter(_ context.Context, qs []*quarry.Question) ([]Verdict, error) {
	var out []Verdict
	for _, q := range qs {
		out = append(out, j(q))
	}
	return out, nil
}

// What depends on the questions before: caps, duplicates, models.
func TestPlantedRepetitions(t *testing.T) {
	tests := []struct {
		name   string
		set    func(o *Options)
		writer written
		judge  judge
		want   map[Reason]bool
	}{
		{name: "the same question again", want: map[Reason]bool{SameText: true}},
		{name: "answer used up", set: func(o *Options) { o.PerAnswer = 1 }, want: map[Reason]bool{AnswerCap: true}},
		{name: "anchor used up", set: func(o *Options) { o.PerAnchor = 1 }, want: map[Reason]bool{AnchorCap: true}},
		{name: "other words", writer: func(d *Draft) (Wording, error) {
			return Wording{Text: strings.Repeat(string(rune('a'+d.Walk%26)), 20) + " Alder, Xenia, Yarrow"}, nil
		}, want: map[Reason]bool{SameEntity: true}},
		{name: "nearly the same words", writer: func(d *Draft) (Wording, error) {
			return Wording{Text: "Of all that grows near what planted Alder, and is sold at Xenia and loved by Yarrow, which one is it, please tell me " + string(rune('a'+d.Walk%26))}, nil
		}, want: map[Reason]bool{NearText: true}},
		{name: "refused by a model", judge: func(*quarry.Question) Verdict { return Verdict{Reason: "closed_book", Detail: "7 of 8"} },
			want: map[Reason]bool{"policy:closed_book": true, SameText: true}},
		{name: "model failed", judge: func(*quarry.Question) Verdict { return Verdict{Quarantined: true, Cost: Cost{Calls: 3}} },
			want: map[Reason]bool{"policy:undecided": true, SameText: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := facts(t, base()...)
			o, h := plantOptions(t, g), Hooks{Writer: plain{}}
			o.MaxWalks = 60
			if test.set != nil {
				test.set(&o)
			}
			if test.writer != nil {
				h.Writer = test.writer
			}
			if test.judge != nil {
				h.Filter, o.Policy = test.judge, "test"
			}
			r := must[Report](t)(Run(t.Context(), g, t.TempDir(), o, h))
			for why := range test.want {
				if r.Rejected[why] == 0 {
					t.Errorf("nothing is rejected for %s: %+v", why, r.Rejected)
				}
			}
			if asked := r.Rejected["policy:closed_book"] + r.Rejected["policy:undecided"]; test.judge != nil && (asked != 1 || r.Accepted != 0) || test.judge == nil && r.Accepted != 1 {
				t.Errorf("%d accepted, %d refused by models: %+v", r.Accepted, asked, r.Rejected)
			}
			if test.name == "model failed" && (r.Quarantined != 1 || r.Cost.Calls != 3) {
				t.Errorf("quarantined %d, cost %+v", r.Quarantined, r.Cost)
			}
			checkReport(t, r)
		})
	}
}

// checkReport is the equation of every stage.
func checkReport(t *testing.T, r Report) {
	t.Helper()
	in, rejected := r.Walks, 0
	for _, s := range r.Stages {
		out := s.In
		for _, n := range s.Rejected {
			out -= n
			rejected += n
		}
		if s.In != in || s.Out != out {
			t.Errorf("stage %s: in %d, out %d, rejected %v; %d came", s.Name, s.In, s.Out, s.Rejected, in)
		}
		in = s.Out
	}
	if in != r.Accepted || r.Walks != r.Accepted+rejected || r.Conservation != 0 {
		t.Errorf("%d walks, %d accepted, %d rejected, conservation %d", r.Walks, r.Accepted, rejected, r.Conservation)
	}
}
