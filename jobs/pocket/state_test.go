package pocket

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

func rlJobs(t *testing.T) (first, second RLJob) {
	w := random(4, 0.5)
	rows0, _ := batchRows(t, w, 0, 4, 1, 1)
	rows1, _ := batchRows(t, w, 1, 4, 1, 1)
	dir := t.TempDir()
	first = RLJob{Data: write(t, rows0), Parent: save(t, w), Start: true, Out: filepath.Join(dir, "w1.json"), Version: 1, LearningRate: 0.1, Alpha: 0.5, Beta: 5}
	second = RLJob{Data: write(t, rows1), Parent: first.Out, Out: filepath.Join(dir, "w2.json"), Version: 2, LearningRate: 0.1, Alpha: 0.5, Beta: 5}
	return first, second
}

func rl(t *testing.T, job RLJob) RLResult {
	t.Helper()
	res, err := trainer().RL(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestResumedStepGivesTheSameBytes(t *testing.T) {
	first, second := rlJobs(t)
	rl(t, first)
	res := rl(t, second)
	want := []string{read(t, second.Out), read(t, StatePath(second.Out))}

	for name, undo := range map[string]func() error{
		"killed before the weights":    func() error { return errors.Join(os.Remove(second.Out), os.Remove(StatePath(second.Out))) },
		"killed after the weights":     func() error { return os.Remove(StatePath(second.Out)) },
		"weights damaged":              func() error { return os.WriteFile(second.Out, []byte("{"), 0o644) },
		"state torn":                   func() error { return os.Truncate(StatePath(second.Out), 100) },
		"killed before its ack":        func() error { return nil },
		"weights of another batch":     func() error { o := second; o.Data = first.Data; rl(t, o); return nil },
		"weights of another rate":      func() error { o := second; o.LearningRate = 0.2; rl(t, o); return nil },
		"an older step asked for anew": func() error { rl(t, first); return nil },
	} {
		if err := undo(); err != nil {
			t.Fatal(err)
		}
		again := rl(t, second)
		if d := cmp.Diff(want, []string{read(t, second.Out), read(t, StatePath(second.Out))}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if reused := name == "killed before its ack" || strings.HasPrefix(name, "an older"); again.Reused != reused {
			t.Errorf("%s: reused %v", name, again.Reused)
		}
		again.Reused = false
		if d := cmp.Diff(res, again); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}

	// The optimiser's memory matters: without the parent's state the step would be another one, so it is not taken.
	if err := errors.Join(os.Remove(StatePath(first.Out)), os.Remove(second.Out)); err != nil {
		t.Fatal(err)
	}
	_, err := trainer().RL(t.Context(), second)
	if quarry.KindOf(err) != quarry.KindCorrupt || !strings.Contains(err.Error(), StatePath(first.Out)) || !strings.Contains(quarry.HintOf(err), first.Out) {
		t.Errorf("%v, hint %q", err, quarry.HintOf(err))
	}
	for _, path := range []string{second.Out, StatePath(second.Out)} {
		if err := os.Remove(path); path == second.Out != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s after the refusal: %v", path, err)
		}
	}
	second.Start = true
	if rl(t, second); read(t, second.Out) == want[0] {
		t.Error("the step does not depend on the state of its parent")
	}
}

func TestStateOfOtherWeightsIsRefused(t *testing.T) {
	first, second := rlJobs(t)
	rl(t, first)
	state := read(t, StatePath(first.Out))
	for name, c := range map[string]struct {
		text string
		kind quarry.Kind
	}{
		"other weights": {strings.Replace(state, `"weights":"sha256:`, `"weights":"sha256:0`, 1), quarry.KindCorrupt},
		"newer":         {`{"schema": 2, "adam": "another shape"}`, quarry.KindInvalid},
		"torn":          {state[:len(state)/2], quarry.KindCorrupt},
	} {
		if err := os.WriteFile(StatePath(first.Out), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := trainer().RL(t.Context(), second)
		if quarry.KindOf(err) != c.kind || !strings.Contains(err.Error(), StatePath(first.Out)) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, quarry.HintOf(err))
		}
	}
}

// The golden file is the format that docs/stages/jobs.md describes.
func TestStateGolden(t *testing.T) {
	golden := read(t, filepath.Join("testdata", "adam.golden.json"))
	s, err := parseState([]byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	want := stepKey{Logic: 1, FeatureSet: "toy/1", Parent: "sha256:aa", Batch: "bb", Version: 2, LearningRate: 0.1, Alpha: 0.5, Beta: 5}
	if s.Weights != "sha256:cc" || s.Step != want || s.Adam.T != 3 || !cmp.Equal(s.Adam.M, []float64{0.25, -1e-300}) {
		t.Errorf("%+v %+v", s, s.Adam)
	}
	weights := filepath.Join(t.TempDir(), "w.json")
	if err := saveState(weights, s); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(golden, read(t, StatePath(weights))); d != "" {
		t.Error(d)
	}
}

// One step by hand: Kingma and Ba, algorithm 1, with bias correction.
func TestAdamGolden(t *testing.T) {
	a, w := newAdam(3), []float64{1, 1, 1}
	a.ascend(w, []float64{2, -0.5, 0}, 0.1)
	for i, want := range []float64{1 + 0.1*2/(2+1e-6), 1 - 0.1*0.5/(0.5+1e-6), 1} {
		if math.Abs(w[i]-want) > 1e-15 {
			t.Errorf("step 1, w[%d] = %v, want %v", i, w[i], want)
		}
	}
	w = []float64{0, 0, 0}
	a.ascend(w, []float64{1, 0, 0}, 0.1)
	m, v := (0.9*0.2+0.1)/(1-0.81), (0.99*0.04+0.01)/(1-0.9801)
	if want := 0.1 * m / (math.Sqrt(v) + 1e-6); math.Abs(w[0]-want) > 1e-15 || w[1] == 0 || w[2] != 0 {
		t.Errorf("step 2: %v, want w[0] = %v, w[1] moved by its momentum, w[2] untouched", w, want)
	}
}

func TestMaskedTurns(t *testing.T) {
	text := rapid.StringMatching(`[a-z<|>_\n]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		msgs := []quarry.Message{{Role: "user", Content: text.Draw(t, "question")}}
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			msgs = append(msgs, quarry.Message{Role: "assistant", Content: text.Draw(t, "turn")},
				quarry.Message{Role: "tool", Content: text.Draw(t, "observation")})
		}
		ids, mask, turns := tokens.RenderConversation(msgs, nil)
		got, err := maskedTurns(ids, mask)
		if err != nil || !cmp.Equal(got, turns) {
			t.Fatalf("%v, %v, want %v", got, err, turns)
		}
		i := rapid.IntRange(0, len(mask)-1).Draw(t, "flip")
		if mask[i] == 1 {
			return
		}
		mask[i] = 1
		if got, err := maskedTurns(ids, mask); quarry.KindOf(err) != quarry.KindInvalid {
			t.Fatalf("token %d of the context is trained on: %v, %v", i, got, err)
		}
	})
	// A turn that was cut off has no <|im_end|>; the mask may also stop early, but not begin late.
	ids := append(tokens.RenderPrompt([]quarry.Message{{Role: "user", Content: "q"}}, nil), 'a', 'b')
	mask := make([]int8, len(ids))
	n := len(ids)
	mask[n-2], mask[n-1] = 1, 1
	if got, err := maskedTurns(ids, mask); err != nil || !cmp.Equal(got, [][2]int{{n - 2, n}}) {
		t.Errorf("cut off: %v, %v", got, err)
	}
	mask[n-2] = 0
	if _, err := maskedTurns(ids, mask); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("a mask that begins within a turn: %v", err)
	}
	if _, err := maskedTurns(ids, mask[1:]); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("lengths: %v", err)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"schema":1,"weights":"sha256:aa","step":{"logic":1},"adam":{"t":1,"m":[0.5],"v":[1e-9]},"result":{}}`))
	f.Add([]byte(`{"schema":2}`))
	f.Add([]byte(`{"schema":1,"adam":{"t":-1,"m":[1],"v":[]}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data)
		switch quarry.KindOf(err) {
		case quarry.KindInvalid, quarry.KindCorrupt:
		case "":
			if s.Schema != StateSchema || len(s.Adam.M) != len(s.Adam.V) || s.Adam.T < 0 {
				t.Fatalf("accepted %+v", s)
			}
		default:
			t.Fatalf("kind of %v", err)
		}
	})
}
