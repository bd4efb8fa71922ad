package loop

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

// planted changes a copy of a question.
func planted(q quarry.Question, id string, change func(*quarry.Question)) quarry.Question {
	q.ID, q.Aliases, q.Split = id, []string{}, quarry.SplitTrain
	change(&q)
	return q
}

// oneHop asks for the first hop of a question alone and takes any name of its sentence that is not known beforehand:
// one query brings the answer.
func oneHop(t *testing.T, e *Env, known []string) func(*quarry.Question) {
	t.Helper()
	return func(q *quarry.Question) {
		ph := english.Load().Phrase(q.Path[0].Predicate, q.Path[0].Inverse)
		if ph == nil {
			t.Fatalf("question %s begins with a hop that cannot be asked", q.ID)
		}
		q.Text = english.Write(english.Plan{Anchor: e.startName(q), Steps: []*english.Phrase{ph}}, 0)
		to, ok := e.Graph.Entity(q.Path[0].To())
		if !ok {
			t.Fatalf("question %s has no first result", q.ID)
		}
		q.Answer = e.Graph.Entities[to].Name
		for _, n := range english.Names(q.Path[0].Text) {
			same := func(k string) bool { return quarry.Normalize(k) == n.Norm }
			if !slices.ContainsFunc(append(known, e.startName(q)), same) {
				q.Aliases = append(q.Aliases, n.Text)
			}
		}
		q.Path, q.Atoms, q.Conditions = q.Path[:1], q.Atoms[:1], nil
	}
}

// A question by heart, one that a single query answers and one without an answer go, each with its reason; each
// stands in the ledger once.
func TestFilterDropsWhatIsPlanted(t *testing.T) {
	// By heart and by one query the policy is right now and then, so the shortcuts get many tries.
	e := newEnv(t, "", func(s *configs.Run) {
		s.Filter = configs.Filter{Attempts: 4, MaxAttempts: 16, ClosedBook: 100, SingleQuery: 40}
		s.Synth.MinTrain, s.Synth.MinHeldout = 0, 0
	})
	guesses, err := pocket.LoadWeights(filepath.Join(shared(t, "filter"), "level-2.json"), e.Reader.Features())
	if err != nil {
		t.Fatal(err)
	}
	var in []quarry.Question
	for _, q := range questions(t, "synth", QuestionsFile) {
		if q.Split == quarry.SplitTier {
			in = append(in, q)
		}
	}
	train := questions(t, "filter", KeptFile)[0]
	in = append(in,
		planted(train, "by-heart", func(q *quarry.Question) { q.Answer = guesses.Guesses[0] }),
		planted(train, "one-query", oneHop(t, e, guesses.Guesses)),
		planted(train, "no-answer", func(q *quarry.Question) { q.Answer = "an answer nobody can find" }),
		planted(train, "too-long", func(q *quarry.Question) { q.Text += strings.Repeat(" and so on", 4000) }),
		planted(train, "too-long-heldout", func(q *quarry.Question) {
			q.Text, q.Split = q.Text+strings.Repeat(" and so on", 4000), quarry.SplitHeldout
		}),
	)
	dir := t.TempDir()
	path := filepath.Join(dir, QuestionsFile)
	if err := datasets.WriteQuestionsJSONL(path, in); err != nil {
		t.Fatal(err)
	}
	f, err := e.Filter(t.Context(), path, dir)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := readLines[FilterEntry](filepath.Join(dir, FilterLedgerFile), LedgerSchema)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]FilterEntry{}
	for _, en := range ledger {
		if _, twice := got[en.Question]; twice {
			t.Errorf("%s stands in the ledger twice", en.Question)
		}
		got[en.Question] = en
	}
	for id, reason := range map[string]string{"by-heart": dropClosedBook, "one-query": dropSingleQuery, "no-answer": dropNever, "too-long": reasonTooLong, "too-long-heldout": reasonTooLong} {
		if en, ok := got[id]; !ok || en.Reason != reason || en.Kept {
			t.Errorf("%s: %+v, want reason %q", id, en, reason)
		}
	}
	rejected := 0
	for _, n := range f.Rejected {
		rejected += n
	}
	if len(ledger) != 5 || f.In != 4 || rejected != 4 || f.Kept != 0 || f.HeldoutIn != 1 || f.HeldoutRejected[reasonTooLong] != 1 {
		t.Errorf("%d ledger lines; in %d, kept %d, rejected %v", len(ledger), f.In, f.Kept, f.Rejected)
	}
	if qs, err := ReadQuestions(filepath.Join(dir, KeptFile), ""); err != nil || len(qs) != 0 {
		t.Errorf("%d questions are kept (%v)", len(qs), err)
	}
}

// The shared run's ledger has every train and held-out question once and none of the tier part, and what is kept
// carries its attempts.
func TestFilterLedgerIsComplete(t *testing.T) {
	for _, q := range questions(t, "filter", KeptFile) {
		var d struct{ Tries []Tries }
		if err := json.Unmarshal(q.Difficulty, &d); err != nil || len(d.Tries) != 3 || d.Tries[2].Attempts < 3 {
			t.Errorf("%s: difficulty %s (%v)", q.ID, q.Difficulty, err)
		}
	}
	ledger, err := readLines[FilterEntry](filepath.Join(shared(t, "filter"), FilterLedgerFile), LedgerSchema)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, en := range ledger {
		if en.Kept == (en.Reason != "") {
			t.Errorf("%s is kept %v with reason %q", en.Question, en.Kept, en.Reason)
		}
		got = append(got, en.Question)
	}
	for _, q := range questions(t, "synth", QuestionsFile) {
		if q.Split != quarry.SplitTier {
			want = append(want, q.ID)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ledger %v, questions %v", got, want)
	}
}

func TestJudge(t *testing.T) {
	for _, k := range []struct {
		name string
		en   FilterEntry
		want string
	}{
		{"sometimes", FilterEntry{Tries: []Tries{{Right: 0, Attempts: 4}, {Right: 3, Attempts: 4}}}, ""},
		{"never", FilterEntry{Tries: []Tries{{Attempts: 4}, {Attempts: 16}}}, dropNever},
		{"always", FilterEntry{Tries: []Tries{{Right: 4, Attempts: 4}, {Right: 4, Attempts: 4}}}, dropAlways},
		{"one failure of the weakest level", FilterEntry{Tries: []Tries{{Right: 3, Attempts: 4}, {Right: 4, Attempts: 4}}}, ""},
		{"by heart goes first", FilterEntry{ClosedBook: 1, Single: 4, Tries: []Tries{{Attempts: 4}}}, dropClosedBook},
		{"one query", FilterEntry{Single: 1, Tries: []Tries{{Right: 1, Attempts: 4}}}, dropSingleQuery},
		{"held out and clean", FilterEntry{Split: quarry.SplitHeldout}, ""},
		{"held out and by heart", FilterEntry{Split: quarry.SplitHeldout, ClosedBook: 1}, dropClosedBook},
	} {
		w := &filtering{entries: []FilterEntry{k.en}}
		w.judge(0)
		if en := w.entries[0]; en.Reason != k.want || en.Kept != (k.want == "") {
			t.Errorf("%s: kept %v, reason %q, want %q", k.name, en.Kept, en.Reason, k.want)
		}
	}
}

func TestUndecided(t *testing.T) {
	for _, k := range []struct {
		name  string
		tries []Tries
		want  bool
	}{
		{"never, wide interval", []Tries{{Attempts: 4}, {Attempts: 4, Hi: 0.6}}, true},
		{"never, settled", []Tries{{Attempts: 4}, {Attempts: 16, Hi: 0.2}}, false},
		{"always, wide interval", []Tries{{Right: 4, Attempts: 4}, {Right: 4, Attempts: 4, Lo: 0.4, Hi: 1}}, true},
		{"always, settled", []Tries{{Right: 4, Attempts: 4}, {Right: 16, Attempts: 16, Lo: 0.8, Hi: 1}}, false},
		{"mixed", []Tries{{Attempts: 4}, {Right: 1, Attempts: 4, Lo: 0, Hi: 0.8}}, false},
	} {
		w := &filtering{entries: []FilterEntry{{Tries: k.tries}}}
		if got := w.undecided(0, 1); got != k.want {
			t.Errorf("%s: %v", k.name, got)
		}
	}
}
