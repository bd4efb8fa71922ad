package synth

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
)

// oracle answers questions from the triples alone: it shares the wording of phrases with synth and nothing else.
type oracle struct {
	lex     *english.Lexicon
	triples []said
	names   map[string]string // by id
}

// said is a triple with the phrases that say it from either end.
type said struct {
	subject, object   string
	forward, backward *english.Phrase
}

func newOracle(t *testing.T, g *kg.Graph) *oracle {
	o := &oracle{lex: english.Load(), names: map[string]string{}}
	data, err := os.ReadFile("../examples/wiki/triples.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(line, "\t")
		o.triples = append(o.triples, said{f[0], f[2], o.lex.Phrase(f[1], false), o.lex.Phrase(f[1], true)})
	}
	for _, e := range g.Entities {
		o.names[e.ID] = quarry.Normalize(e.Name)
	}
	return o
}

// step is everything that a phrase says of any of the entities.
func (o *oracle) step(from map[string]bool, ph *english.Phrase) map[string]bool {
	out := map[string]bool{}
	for _, t := range o.triples {
		if t.forward == ph && from[t.subject] {
			out[t.object] = true
		}
		if t.backward == ph && from[t.object] {
			out[t.subject] = true
		}
	}
	return out
}

// answers reads the question's text and follows it from every entity of the name it starts from.
func (o *oracle) answers(t *testing.T, text string) map[string]bool {
	t.Helper()
	plan, ok := o.lex.Read(text)
	if !ok {
		t.Fatalf("%q cannot be read", text)
	}
	named := func(name string) map[string]bool {
		out := map[string]bool{}
		norm := quarry.Normalize(name)
		for id, n := range o.names {
			if n == norm {
				out[id] = true
			}
		}
		return out
	}
	at := named(plan.Anchor)
	for i, ph := range plan.Steps {
		at = o.step(at, ph)
		for _, c := range plan.Conditions {
			if c.Step == i+1 {
				ok := o.step(named(c.Name), c.Phrase)
				maps.DeleteFunc(at, func(id string, _ bool) bool { return !ok[id] })
			}
		}
	}
	names := map[string]bool{}
	for id := range at {
		names[o.names[id]] = true
	}
	return names
}

// TestOneAnswer recomputes the answers of every question by brute force over all triples, from its text alone.
func TestOneAnswer(t *testing.T) {
	g, res := wiki(t)
	o := newOracle(t, g)
	for _, q := range res.Questions {
		names := o.answers(t, q.Text)
		if len(names) != 1 || !names[quarry.Normalize(q.Answer)] || !q.Accepts(q.Answer) || q.AnswerSet != 1 {
			t.Errorf("%q, answer %q: brute force gives %v", q.Text, q.Answer, slices.Collect(maps.Keys(names)))
		}
	}
}
