package loop

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/sft"
)

// The success of a policy trained on the real names does not depend on them: with every name of corpus and questions
// replaced by an invented one it stays within its 95 % interval.
func TestRenamingEveryEntityKeepsSuccess(t *testing.T) {
	e, weights, train, heldout := learnt(t)
	qs := append(train, heldout...) // what is new is the names
	before := success(t, e, weights, qs, t.TempDir())

	r := newRenaming(e.Graph)
	g := r.graph(t, e.Graph, os.Getenv(corpusEnv))
	renamed := r.questions(t, qs)
	r.check(t, e.Graph, qs, renamed)
	after := success(t, NewEnv(e.Spec, g, "", quiet(), silent{}), weights, renamed, t.TempDir())
	t.Logf("%d questions, %d words renamed: success %.3f [%.3f, %.3f], renamed %.3f", len(qs), len(r.to), before.Success, before.Lo, before.Hi, after.Success)
	if before.Success < 0.1 {
		t.Errorf("success %.3f before renaming: nothing was learnt that could be lost", before.Success)
	}
	if after.Success < before.Lo || after.Success > before.Hi {
		t.Errorf("renamed success %.3f is outside [%.3f, %.3f]", after.Success, before.Lo, before.Hi)
	}
}

// learnt is a policy trained on the questions of the train part, with the questions of train and held-out.
func learnt(t *testing.T) (e *Env, weights string, train, heldout []quarry.Question) {
	t.Helper()
	e = newEnv(t, "", func(s *configs.Run) {
		s.Synth.Train, s.Synth.Tier, s.Synth.Heldout = 60, 1, 40
		s.Eval.Attempts = 2
	})
	dir := t.TempDir()
	if _, err := e.Synthesise(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	qs, err := ReadQuestions(filepath.Join(dir, QuestionsFile), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range qs {
		switch q.Split {
		case quarry.SplitTrain:
			train = append(train, q)
		case quarry.SplitHeldout:
			heldout = append(heldout, q)
		}
	}
	if len(train) < 25 || len(heldout) < 20 {
		t.Fatalf("%d train and %d held-out questions are too few to tell", len(train), len(heldout))
	}
	return e, fit(t, e, train, dir), train, heldout
}

// fit trains as the sft stage does.
func fit(t *testing.T, e *Env, qs []quarry.Question, dir string) string {
	t.Helper()
	eps, _, err := e.ExpertEpisodes(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	eps, _ = sft.Select(eps)
	data, base, out := filepath.Join(dir, "s1"), filepath.Join(dir, "base.json"), filepath.Join(dir, WeightsFile)
	if _, err := BuildS1(eps, data, "expert", ""); err != nil {
		t.Fatal(err)
	}
	if err := e.untrained(base); err != nil {
		t.Fatal(err)
	}
	s := e.Spec.SFT
	if _, err := e.Trainer.SFT(t.Context(), trainer.SFTJob{Data: data, Parent: base, Out: out, Version: 1, Epochs: 20, LearningRate: s.LearningRate, L2: s.L2, MaxGuesses: trainer.MaxGuesses}); err != nil {
		t.Fatal(err)
	}
	return out
}

func success(t *testing.T, e *Env, weights string, qs []quarry.Question, dir string) EvalResult {
	t.Helper()
	path := filepath.Join(dir, HeldoutFile)
	if err := writeLines(path, noSchema, qs); err != nil {
		t.Fatal(err)
	}
	f, err := e.Eval(context.Background(), path, []Checkpoint{{"sft", weights, 1}})
	if err != nil {
		t.Fatal(err)
	}
	return f.Results[0]
}

var (
	word   = regexp.MustCompile(`\p{L}+`)
	months = regexp.MustCompile(`^(January|February|March|April|May|June|July|August|September|October|November|December)$`)
)

// renaming maps each capitalised word of an entity's name to an invented one. What general English tells of a name
// stays: head nouns, months, words that occur in lower case more often, demonym endings, capitals.
type renaming struct {
	to    map[string]string
	taken map[string]bool
	rng   *rand.Rand
}

func newRenaming(g *kg.Graph) *renaming {
	r := &renaming{to: map[string]string{}, taken: map[string]bool{}, rng: rand.New(rand.NewPCG(7, 7))}
	common := map[string]int{} // how much oftener a word stands in lower case than as a name
	for _, p := range g.Passages {
		for _, w := range word.FindAllString(p.Text, -1) {
			if first, _ := utf8.DecodeRuneInString(w); unicode.IsLower(first) {
				common[w]++
			} else {
				common[strings.ToLower(w)]--
			}
		}
	}
	for _, en := range g.Entities {
		for _, name := range append([]string{en.Name}, en.Aliases...) {
			for _, w := range word.FindAllString(name, -1) {
				first, size := utf8.DecodeRuneInString(w)
				low := strings.ToLower(w)
				class := english.HeadClass(low)
				if r.to[w] != "" || !unicode.IsUpper(first) || len(w) == size || common[low] > 0 || months.MatchString(w) || english.Stop(low) ||
					class > 0 && class != english.HeadDemonym {
					continue
				}
				r.to[w] = r.invent(w, class == english.HeadDemonym)
			}
		}
	}
	return r
}

// invent makes an unused word in the same capitals; it ends in x, which no rule of English morphology here touches.
func (r *renaming) invent(w string, demonym bool) string {
	for {
		var b strings.Builder
		for i := range max(utf8.RuneCountInString(w), 5) {
			set := "bdfgklmnprstvz"
			if i%2 == 1 {
				set = "aeiou"
			}
			b.WriteByte(set[r.rng.IntN(len(set))])
		}
		x := b.String() + "x"
		if demonym {
			x += "ian"
		}
		if r.taken[x] {
			continue
		}
		r.taken[x] = true
		if strings.ToUpper(w) == w {
			return strings.ToUpper(x)
		}
		return strings.ToUpper(x[:1]) + x[1:]
	}
}

func (r *renaming) text(s string) string {
	return word.ReplaceAllStringFunc(s, func(w string) string {
		if x := r.to[w]; x != "" {
			return x
		}
		return w
	})
}

// graph writes the data folder src with the names replaced and loads it.
func (r *renaming) graph(t *testing.T, g *kg.Graph, src string) *kg.Graph {
	t.Helper()
	dir := t.TempDir()
	docs := make([]kg.Document, len(g.Docs))
	for i, d := range g.Docs {
		docs[i] = kg.Document{ID: d.ID, Title: r.text(d.Title)}
		for _, s := range d.Sentences {
			docs[i].Sentences = append(docs[i].Sentences, r.text(s))
		}
	}
	entities := make([]kg.Entity, len(g.Entities))
	for i, en := range g.Entities {
		entities[i] = en
		entities[i].Name, entities[i].Aliases = r.text(en.Name), r.all(en.Aliases)
	}
	if err := writeLines(filepath.Join(dir, ingest.DocsFile), noSchema, docs); err != nil {
		t.Fatal(err)
	}
	if err := writeLines(filepath.Join(dir, ingest.EntitiesFile), noSchema, entities); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{ingest.TriplesFile, ingest.RelationsFile} {
		data, err := os.ReadFile(filepath.Join(src, f))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := kg.Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// check makes sure that there is something to learn from the comparison: of the answers that are names, and of the names
// the questions start from, at least 95 % are others now. Dates and numbers stay what they are.
func (r *renaming) check(t *testing.T, g *kg.Graph, before, after []quarry.Question) {
	t.Helper()
	names, renamed, starts := 0, 0, 0
	for i, q := range before {
		if n, ok := g.Entity(q.AnswerID); ok && !g.Entities[n].Literal() {
			names++
			if quarry.Normalize(after[i].Answer) != quarry.Normalize(q.Answer) {
				renamed++
			}
		}
		if after[i].Text != q.Text {
			starts++
		}
	}
	t.Logf("%d of %d answers that are names are renamed, %d of %d question texts", renamed, names, starts, len(before))
	if names < 20 || 100*renamed < 95*names || 100*starts < 95*len(before) {
		t.Errorf("%d of %d answers that are names (%d questions) and %d texts are renamed, want 95 %%", renamed, names, len(before), starts)
	}
}

func (r *renaming) all(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = r.text(n)
	}
	return out
}

// questions replaces the names in texts and answers; the wording around them stays.
func (r *renaming) questions(t *testing.T, qs []quarry.Question) []quarry.Question {
	t.Helper()
	lex := english.Load()
	out := make([]quarry.Question, len(qs))
	for i, q := range qs {
		plan, ok := lex.Read(q.Text)
		if !ok {
			t.Fatalf("question %q cannot be read", q.Text)
		}
		frame := 0
		for english.Write(plan, frame) != q.Text {
			if frame++; frame == english.NFrames() {
				t.Fatalf("question %q is in no frame", q.Text)
			}
		}
		plan.Anchor = r.text(plan.Anchor)
		for k := range plan.Conditions {
			plan.Conditions[k].Name = r.text(plan.Conditions[k].Name)
		}
		q.Text = english.Write(plan, frame)
		q.Answer, q.Aliases = r.text(q.Answer), r.all(q.Aliases)
		q.Certificate = json.RawMessage("null")
		out[i] = q
	}
	return out
}
