package tiers

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/english"
)

// whole is the demo's documents as texts to be found as a whole.
type whole struct {
	g         *kg.Graph
	index     *bm25.Index
	text      []string // normalised, with a space at both ends
	frequency map[string]int
}

var wiki = sync.OnceValues(func() (*whole, error) {
	g, err := kg.Load(context.Background(), "../../examples/wiki")
	if err != nil {
		return nil, err
	}
	w := &whole{g: g, frequency: map[string]int{}}
	b := bm25.New(bm25.Options{})
	for _, d := range g.Docs {
		text := d.Title + " " + strings.Join(d.Sentences, " ")
		b.Add(d.Title, strings.Join(d.Sentences, " "))
		w.text = append(w.text, " "+quarry.Normalize(text)+" ")
		words := quarry.Words(text)
		slices.Sort(words)
		for _, x := range slices.Compact(words) {
			w.frequency[x]++
		}
	}
	var file bytes.Buffer
	if _, err := b.WriteTo(&file); err != nil {
		return nil, err
	}
	w.index, err = bm25.FromBytes(file.Bytes())
	return w, err
})

func newWhole(t testing.TB) *whole {
	t.Helper()
	w, err := wiki()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *whole) Search(query string, k int) []int {
	var docs []int
	for _, h := range w.index.Search(query, k, nil) {
		docs = append(docs, int(h.Passage))
	}
	return docs
}

func (w *whole) Holds(doc int, e quarry.Named) bool {
	if slices.Contains(w.g.Entities[w.entity(e.ID)].Docs, w.g.Docs[doc].ID) {
		return true
	}
	for _, n := range append([]string{e.Name}, e.Aliases...) {
		if n = quarry.Normalize(n); len(n) > 1 && strings.Contains(w.text[doc], " "+n+" ") {
			return true
		}
	}
	return false
}

func (w *whole) Frequency(term string) int { return w.frequency[term] }

func (w *whole) entity(id string) int { i, _ := w.g.Entity(id); return i }

// end is what a phrase leads to from an entity, by an edge.
type end struct {
	phrase *english.Phrase
	edge   int
	to     int
}

// ways lists for each entity where phrases lead: those with evidence, and all.
func (w *whole) ways() (walked, all [][]end) {
	lex := english.Load()
	walked, all = make([][]end, len(w.g.Entities)), make([][]end, len(w.g.Entities))
	for i, e := range w.g.Edges {
		for _, inverse := range []bool{false, true} {
			p := lex.Phrase(w.g.Relations[e.Relation].ID, inverse)
			from, to := e.Subject, e.Object
			if inverse {
				from, to = to, from
			}
			if p == nil {
				continue
			}
			all[from] = append(all[from], end{p, i, to})
			if len(e.Evidence) > 0 && !w.g.Entities[from].Literal() {
				walked[from] = append(walked[from], end{p, i, to})
			}
		}
	}
	return walked, all
}

func follow(all [][]end, anchor int, steps []*english.Phrase) map[int]bool {
	set := map[int]bool{anchor: true}
	for _, p := range steps {
		next := map[int]bool{}
		for e := range set {
			for _, x := range all[e] {
				if x.phrase == p {
					next[x.to] = true
				}
			}
		}
		set = next
	}
	return set
}

// ask makes the question of a path, without conditions.
func (w *whole) ask(anchor int, path []end, frame int) (*quarry.Question, []quarry.Named) {
	plan := english.Plan{Anchor: w.g.Entities[anchor].Name}
	for _, s := range path {
		plan.Steps = append(plan.Steps, s.phrase)
	}
	a := &w.g.Entities[path[len(path)-1].to]
	return &quarry.Question{ID: "q", Text: english.Write(plan, frame), AnswerID: a.ID, Answer: a.Name, Aliases: a.Aliases},
		[]quarry.Named{w.g.Entities[anchor].Named}
}

// Questions of one hop that have one answer are nearly all found with one query, those of four hops and more that
// passed the graph's checks (answer guarded, one answer, two documents) hardly ever.
func TestSearchOnceOnTheDemo(t *testing.T) {
	w := newWhole(t)
	walked, all := w.ways()
	r := rand.New(rand.NewPCG(1, 2))

	tried, hit := 0, 0
	for tried < 400 {
		from := r.IntN(len(walked))
		if len(walked[from]) == 0 {
			continue
		}
		s := walked[from][r.IntN(len(walked[from]))]
		if len(follow(all, from, []*english.Phrase{s.phrase})) != 1 {
			continue
		}
		tried++
		if q, clues := w.ask(from, []end{s}, tried); SearchOnce(w, q, clues) != nil {
			hit++
		}
	}
	t.Logf("one hop: %d of %d rejected", hit, tried)
	if hit*100 < 95*tried {
		t.Errorf("one hop: only %d of %d are rejected", hit, tried)
	}

	found, shown := 0, 0
	for n := 0; found < 120 && n < 400000; n++ {
		at := r.IntN(len(walked))
		anchor, on := at, []int{at}
		var path []end
		for len(path) < 4+n%2 && len(walked[at]) > 0 {
			s := walked[at][r.IntN(len(walked[at]))]
			if slices.Contains(on, s.to) {
				break
			}
			path, on, at = append(path, s), append(on, s.to), s.to
		}
		if len(path) < 4+n%2 || !w.survives(all, anchor, on, path) {
			continue
		}
		found++
		if q, clues := w.ask(anchor, path, n); SearchOnce(w, q, clues) != nil {
			shown++
		}
	}
	t.Logf("four hops and more: %d of %d rejected", shown, found)
	if found < 120 || shown*100 > 15*found {
		t.Errorf("four hops and more: %d of %d are rejected", shown, found)
	}
}

func (w *whole) survives(all [][]end, anchor int, on []int, path []end) bool {
	answer := on[len(on)-1]
	for _, x := range all[answer] {
		if slices.Contains(on[:len(on)-2], x.to) {
			return false // N1
		}
	}
	docs := map[int]bool{}
	var steps []*english.Phrase
	for _, s := range path {
		docs[w.g.Passages[w.g.Edges[s.edge].Evidence[0]].Doc] = true
		steps = append(steps, s.phrase)
	}
	return len(docs) > 1 && len(follow(all, anchor, steps)) == 1
}

// A solver that answers from what it is shown passes the oracle; without one needed sentence it fails.
func TestOracleNeedsEverySentence(t *testing.T) {
	w := newWhole(t)
	walked, _ := w.ways()
	var pool []string
	for _, p := range w.g.Passages[:200] {
		pool = append(pool, p.Text)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for done := 0; done < 40; {
		at := r.IntN(len(walked))
		q := &quarry.Question{ID: fmt.Sprint("q", done), Text: "Who?"}
		texts := map[string]bool{}
		for len(q.Path) < 3 && len(walked[at]) > 0 {
			s := walked[at][r.IntN(len(walked[at]))]
			st := w.g.Statement(s.edge, w.g.Edges[s.edge].Evidence[0])
			q.Path = append(q.Path, quarry.Hop{Statement: st, Inverse: st.Subject != w.g.Entities[at].ID})
			texts[st.Text] = true
			at = s.to
		}
		if len(q.Path) < 3 || len(texts) < 3 {
			continue
		}
		done++
		q.AnswerID, q.Answer = w.g.Entities[at].ID, w.g.Entities[at].Name
		for without := -1; without < 3; without++ {
			shown, err := OracleContext(7, q, pool)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := OracleContext(7, q, pool); !slices.Equal(shown, again) || len(shown) != 3+Distractors {
				t.Fatalf("%d sentences, or another order", len(shown))
			}
			if without >= 0 {
				shown = slices.DeleteFunc(shown, func(s string) bool { return s == q.Path[without].Text })
			}
			prompt := OraclePrompt(q, shown)
			d, _ := drive(t, Rules{Tiers: []string{"m"}, Oracle: oracle()}, &Item{Question: q}, script(func(it *Item, a Attempt) Outcome {
				for text := range texts { // it reads, and needs each of the three
					if !strings.Contains(prompt, text) {
						return Outcome{Result: Wrong}
					}
				}
				return Outcome{Result: Right}
			}))
			if (d.State == Kept) != (without < 0) || without >= 0 && d.Reason != ReasonOracle {
				t.Errorf("without %d: %s %s", without, d.State, d.Reason)
			}
		}
	}
}
