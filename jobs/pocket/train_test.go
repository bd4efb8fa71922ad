package pocket

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	engine "github.com/quarry-rl/quarry/rollout/pocket"
)

func sftJob(t testing.TB) SFTJob {
	return SFTJob{Data: write(t, expertRows(t, 40)), Parent: save(t, engine.NewWeights(toySet)), Out: filepath.Join(t.TempDir(), "w1.json"),
		Version: 1, Epochs: 30, LearningRate: 0.1, L2: 0.001, MaxGuesses: 3}
}

func TestSFTRaisesLikelihood(t *testing.T) {
	job := sftJob(t)
	res, err := trainer().SFT(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if res.Episodes != 40 || res.Turns != 60 || res.Unscorable != 0 || !(res.LossLast < 0.5*res.LossFirst) {
		t.Errorf("%+v", res)
	}
	// 10 colour candidates, 1 malformed turn; the guesses are colours, so they add nothing.
	if want := math.Log(11); math.Abs(res.LossFirst-want) > 1e-9 {
		t.Errorf("loss of untrained weights %v, want log 11 = %v", res.LossFirst, want)
	}
	w := load(t, job.Out)
	parent, err := fileDigest(job.Parent)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fileDigest(job.Out); err != nil || got != res.Digest || w.Parent != parent || w.Version != 1 {
		t.Errorf("digest %s, result %s, parent %s, version %d, %v", got, res.Digest, w.Parent, w.Version, err)
	}
	// Eight of each colour: equals by name, and no more than asked for.
	if d := cmp.Diff([]string{"amber", "azure", "black"}, w.Guesses); d != "" {
		t.Error(d)
	}
}

func TestGuessesAreTheCommonestAnswers(t *testing.T) {
	rows := expertRows(t, 5)
	say := func(i int, text string) { rows[i].Messages[len(rows[i].Messages)-1].Content = text }
	say(0, "<answer>The  Black Sea</answer>")
	say(1, "<answer>black sea</answer>")
	say(2, "<answer>Zulu</answer>")
	say(3, "no answer")
	say(4, "<answer>Ada</answer>")
	if d := cmp.Diff([]string{"black sea", "ada", "zulu"}, commonAnswers(rows, 20)); d != "" {
		t.Error(d)
	}
	if got := commonAnswers(rows, 0); len(got) != 0 {
		t.Errorf("0 guesses asked, got %v", got)
	}
}

func TestSFTLeavesOutWhatThePolicyCannotWrite(t *testing.T) {
	rows := expertRows(t, 6)
	last := &rows[2].Messages[len(rows[2].Messages)-1]
	last.Content = "<answer>a colour nobody offers</answer>"
	rows[3].Messages[len(rows[3].Messages)-1].SetLoss(false) // nothing to train on
	job := sftJob(t)
	job.Data, job.MaxGuesses = write(t, rows), 0
	res, err := trainer().SFT(t.Context(), job)
	if err != nil || res.Unscorable != 1 || res.Episodes != 4 || res.Turns != 6 {
		t.Errorf("%+v, %v", res, err)
	}
	job.Data = write(t, rows[2:3])
	if _, err := trainer().SFT(t.Context(), job); quarry.KindOf(err) != quarry.KindUnscorable || quarry.HintOf(err) == "" {
		t.Errorf("nothing left: %v", err)
	}
}

func TestDPORaisesTheMargin(t *testing.T) {
	ref := random(2, 0.3)
	ref.Guesses = []string{"white"}
	job := DPOJob{Data: write(t, pairRows(t, ref, 20)), Parent: save(t, ref), Out: filepath.Join(t.TempDir(), "w2.json"), Version: 2,
		Beta: 0.3, Epochs: 20, LearningRate: 0.1}
	res, err := trainer().DPO(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if res.Pairs != 20 || res.Unscorable != 0 || res.MarginFirst != 0 || !(res.MarginLast > 0.3) || !(res.LossLast < res.LossFirst) || !(res.Accuracy > 0.8) {
		t.Errorf("%+v", res)
	}
	if w := load(t, job.Out); w.Version != 2 || !slices.Equal(w.Guesses, ref.Guesses) {
		t.Errorf("version %d, guesses %v", w.Version, w.Guesses)
	}
}

// train runs RL steps of which each samples with the newest weights, and returns the success of first and last batch.
func train(t testing.TB, sign float64, steps int) (first, last float64) {
	path := save(t, engine.NewWeights(toySet))
	for step := range steps {
		rows, success := batchRows(t, load(t, path), step, 6, 1, sign)
		if step == 0 {
			first = success
		}
		last = success
		out := filepath.Join(t.TempDir(), "w.json")
		if _, err := trainer().RL(t.Context(), RLJob{Data: write(t, rows), Parent: path, Start: step == 0, Out: out, Version: step + 1,
			LearningRate: 0.3, Alpha: 0.5, Beta: 5}); err != nil {
			t.Fatal(err)
		}
		path = out
	}
	return first, last
}

func TestRLRaisesRewardAndATurnedSignLowersIt(t *testing.T) {
	first, last := train(t, 1, 12)
	if !(last > first+0.4) {
		t.Errorf("success %.2f -> %.2f", first, last)
	}
	if first, last = train(t, -1, 12); !(last < first) || last > 0.02 {
		t.Errorf("turned sign: success %.2f -> %.2f", first, last)
	}
}

// Driving the weights away from those that sampled masks tokens; an episode without advantage is counted but unused.
func TestRLStaleBatch(t *testing.T) {
	behave := random(4, 0.5)
	rows, _ := batchRows(t, behave, 0, 6, 1, 1)
	for i := range rows[:8] {
		rows[i].AdvScalar = 0
	}
	far := random(8, 2)
	job := RLJob{Data: write(t, rows), Parent: save(t, far), Start: true, Out: filepath.Join(t.TempDir(), "w.json"), Version: 1, LearningRate: 0.1, Alpha: 0.5, Beta: 5}
	res, err := trainer().RL(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if res.Stats.MaskedFraction() <= 0 || res.Entropic.MaskedFraction() <= res.Stats.MaskedFraction() || res.Episodes != 48 ||
		res.UsedEpisodes > 40 || res.Tokens != res.Stats.Tokens {
		t.Errorf("%+v", res)
	}
}

func TestBytesDoNotDependOnProcessors(t *testing.T) {
	ref := random(2, 0.3)
	s1, d1 := sftJob(t), write(t, pairRows(t, ref, 10))
	t1, _ := batchRows(t, ref, 0, 5, 0.7, 1)
	t1dir, parent := write(t, t1), save(t, ref)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	run := func(procs int) (out []string) {
		runtime.GOMAXPROCS(procs)
		dir := t.TempDir()
		s1.Out = filepath.Join(dir, "s")
		_, err := trainer().SFT(t.Context(), s1)
		if err != nil {
			t.Fatal(err)
		}
		d := DPOJob{Data: d1, Parent: parent, Out: filepath.Join(dir, "d"), Version: 2, Beta: 0.1, Epochs: 5, LearningRate: 0.1}
		if _, err := trainer().DPO(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		r := RLJob{Data: t1dir, Parent: parent, Start: true, Out: filepath.Join(dir, "r"), Version: 3, LearningRate: 0.1, Alpha: 0.5, Beta: 5}
		if _, err := trainer().RL(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return []string{read(t, s1.Out), read(t, d.Out), read(t, r.Out), read(t, StatePath(r.Out))}
	}
	want := run(1)
	for _, procs := range []int{2, 7} {
		if d := cmp.Diff(want, run(procs)); d != "" {
			t.Errorf("%d processors: %s", procs, d)
		}
	}
}

func TestForeignFeatureSetIsRefused(t *testing.T) {
	other := engine.FeatureSet{Name: "other/1", Names: toySet.Names}
	path := filepath.Join(t.TempDir(), "w.json")
	if _, err := engine.NewWeights(other).Save(path, other); err != nil {
		t.Fatal(err)
	}
	job := sftJob(t)
	job.Parent = path
	_, err := trainer().SFT(t.Context(), job)
	if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "other/1") || !strings.Contains(err.Error(), "toy/1") {
		t.Errorf("got %v", err)
	}
}

func TestBadJobs(t *testing.T) {
	ok := sftJob(t)
	for name, edit := range map[string]func(*SFTJob){
		"epochs":         func(j *SFTJob) { j.Epochs = 0 },
		"learning_rate":  func(j *SFTJob) { j.LearningRate = math.NaN() },
		"l2":             func(j *SFTJob) { j.L2 = -1 },
		"max_guesses":    func(j *SFTJob) { j.MaxGuesses = 21 },
		"holds S1":       func(j *SFTJob) { j.Data = write(t, pairRows(t, random(2, 0.3), 1)) },
		"manifest":       func(j *SFTJob) { j.Data = t.TempDir() },
		"no such":        func(j *SFTJob) { j.Parent = filepath.Join(t.TempDir(), "none") },
		"no-such-folder": func(j *SFTJob) { j.Out = filepath.Join(t.TempDir(), "no-such-folder", "w") },
	} {
		job := ok
		edit(&job)
		_, err := trainer().SFT(t.Context(), job)
		if want := map[bool]string{true: "want S1"}[name == "holds S1"]; err == nil || quarry.HintOf(err) == "" ||
			!strings.Contains(err.Error(), want) || want == "" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, hint %q", name, err, quarry.HintOf(err))
		}
	}
}

func TestCanceledWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	job := sftJob(t)
	if _, err := trainer().SFT(ctx, job); quarry.KindOf(err) != quarry.KindCanceled {
		t.Errorf("got %v", err)
	}
	if _, err := fileDigest(job.Out); err == nil {
		t.Error("weights were written")
	}
}

// A batch whose rows do not keep the conventions is refused, and the error names the row.
func TestRLRefusesBadRows(t *testing.T) {
	w := random(4, 0.5)
	parent := save(t, w)
	for name, c := range map[string]struct {
		spoil func(*datasets.T1)
		kind  quarry.Kind
	}{
		"a tool token in the mask": {func(r *datasets.T1) {
			at := r.PromptLen + 1
			for r.Mask[at] == 1 { // the first token after the first sampled turn
				at++
			}
			r.Mask[at+30], r.BehavLogprobs[at+30], r.WeightVersions[at+30] = 1, -0.5, 0
		}, quarry.KindInvalid},
		"another vocabulary": {func(r *datasets.T1) { r.TokenizerSHA = "other" }, quarry.KindInvalid},
		"another template":   {func(r *datasets.T1) { r.TemplateSHA = "other" }, quarry.KindInvalid},
		"a turn outside the candidates": {func(r *datasets.T1) {
			r.IDs[r.PromptLen] = 'q'
		}, quarry.KindUnscorable},
	} {
		rows, _ := batchRows(t, w, 0, 4, 1, 1)
		i := slices.IndexFunc(rows, func(r datasets.T1) bool { // one with a search
			sampled := 0
			for _, m := range r.Mask[r.PromptLen:] {
				sampled += int(m)
			}
			return sampled < len(r.Mask)-int(r.PromptLen)
		})
		c.spoil(&rows[i])
		out := filepath.Join(t.TempDir(), "w.json")
		_, err := trainer().RL(t.Context(), RLJob{Data: write(t, rows), Parent: parent, Start: true, Out: out, Version: 1, LearningRate: 0.1, Alpha: 0.5, Beta: 5})
		if quarry.KindOf(err) != c.kind || !strings.Contains(err.Error(), rows[i].ID) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, quarry.HintOf(err))
		}
		if _, err := fileDigest(out); err == nil {
			t.Errorf("%s: weights were written", name)
		}
	}
}
