package loop

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rewards"
)

// Checkpoint is a weights file to evaluate.
type Checkpoint struct {
	Name    string
	Weights string
	Version int
}

// EvalResult is held-out success of one checkpoint.
type EvalResult struct {
	Name        string             `json:"name"`
	Version     int                `json:"weights_version"`
	N           int                `json:"n"`
	Attempts    int                `json:"attempts"`
	Success     float64            `json:"success"` // mean over questions of the share of right attempts at T=1
	Lo          float64            `json:"lo"`      // 95 %, bootstrap over questions
	Hi          float64            `json:"hi"`
	Greedy      float64            `json:"greedy"`
	Cross       *float64           `json:"cross_document"`  // success on questions whose path crosses documents; null when there are none
	Single      *float64           `json:"single_document"` // on the others
	PerQuestion map[string]float64 `json:"per_question"`
	Unplayed    []Unplayed         `json:"unplayed,omitempty"` // attempts without a chance; a refused one counts nowhere above
}

// EvalFacts is what the eval stage leaves behind.
type EvalFacts struct {
	Results []EvalResult `json:"results"`
	Example *Solved      `json:"example,omitempty"`
}

// Solved is a question that the last checkpoint solves and the first did not, with an episode of each.
type Solved struct {
	Question quarry.Question `json:"question"`
	Base     *quarry.Episode `json:"base"`
	Last     *quarry.Episode `json:"last"`
}

// Eval measures checkpoints on held-out questions: attempts at T=1 and one greedy attempt per question.
func (e *Env) Eval(ctx context.Context, heldout string, cks []Checkpoint) (EvalFacts, error) {
	var f EvalFacts
	qs, err := ReadQuestions(heldout, "")
	if err != nil {
		return f, err
	}
	eng, err := e.StartEngine(ctx, cks[0].Weights, cks[0].Version)
	if err != nil {
		return f, err
	}
	defer eng.Close()
	var first, last []*quarry.Episode
	for i, ck := range cks {
		if err := eng.UpdateWeights(ctx, ck.Weights, versionLabel(ck.Version)); err != nil {
			return f, err
		}
		eps, err := e.Sample(ctx, eng, qs, e.Spec.Eval.Attempts, 1, "eval."+ck.Name)
		if err != nil {
			return f, err
		}
		greedy, err := e.Sample(ctx, eng, qs, 1, 0, "greedy."+ck.Name)
		if err != nil {
			return f, err
		}
		f.Results = append(f.Results, e.evaluate(ck, qs, eps, greedy))
		if i == 0 {
			first = eps
		}
		last = eps
	}
	f.Example = example(qs, first, last, e.Spec.Eval.Attempts)
	return f, nil
}

// evaluate counts scored attempts only; a question without one is left out, of N too.
func (e *Env) evaluate(ck Checkpoint, qs []quarry.Question, eps, greedy []*quarry.Episode) EvalResult {
	r := EvalResult{Name: ck.Name, Version: ck.Version, Attempts: e.Spec.Eval.Attempts, PerQuestion: map[string]float64{}}
	r.Unplayed = append(UnplayedOf(eps), UnplayedOf(greedy)...)
	var per, cross, single []float64
	for i := range qs {
		v := successOf(eps[i*r.Attempts : (i+1)*r.Attempts])
		if v == nil {
			continue
		}
		r.PerQuestion[qs[i].ID] = *v
		per = append(per, *v)
		if len(qs[i].Docs()) > 1 {
			cross = append(cross, *v)
		} else {
			single = append(single, *v)
		}
	}
	r.N = len(per)
	for _, v := range per {
		r.Success += v / float64(r.N)
	}
	if g := successOf(greedy); g != nil {
		r.Greedy = *g
	}
	r.Cross, r.Single = mean(cross), mean(single)
	r.Lo, r.Hi = rewards.BootstrapCI(per, seedOf(e.Spec.Seed, "bootstrap"), e.Spec.Eval.Bootstrap)
	return r
}

// successOf is the share of right ones among the scored episodes, nil when none is scored.
func successOf(eps []*quarry.Episode) *float64 {
	right01 := make([]float64, 0, len(eps))
	for _, ep := range eps {
		if ep.Scorecard.ORM.Scored {
			right01 = append(right01, ep.Scorecard.ORM.Value)
		}
	}
	return mean(right01)
}

// mean is nil for no values.
func mean(xs []float64) *float64 {
	if len(xs) == 0 {
		return nil
	}
	m := 0.0
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return &m
}

// example picks the question where the gain is largest, paths across documents first, and an episode of each end.
func example(qs []quarry.Question, first, last []*quarry.Episode, n int) *Solved {
	best, score := -1, 0
	for i := range qs {
		a, b := 0, 0
		for k := i * n; k < (i+1)*n; k++ {
			if right(first[k]) {
				a++
			}
			if right(last[k]) {
				b++
			}
		}
		s := 4*b + len(qs[i].Docs())
		if a == 0 && b > 0 && s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return nil
	}
	s := &Solved{Question: qs[best], Base: first[best*n]}
	for _, ep := range last[best*n : (best+1)*n] {
		if right(ep) {
			s.Last = ep
			break
		}
	}
	return s
}

// checkpoints lists what the eval stage measures: base, sft, dpo, every so many RL steps and the last.
func checkpoints(sftDir, dpoDir string, d DPOFacts, every int, phases ...rlPhase) []Checkpoint {
	cks := []Checkpoint{{"base", filepath.Join(sftDir, "base.json"), 0}, {"sft", filepath.Join(sftDir, WeightsFile), 1}}
	if d.Skipped == "" {
		cks = append(cks, Checkpoint{"dpo", filepath.Join(dpoDir, WeightsFile), d.Version})
	}
	var steps []Checkpoint
	for _, p := range phases {
		for _, s := range p.facts.Steps {
			r := RLRun{Dir: p.dir}
			steps = append(steps, Checkpoint{fmt.Sprintf("rl-%d", s.Step), r.weights(s.Version), s.Version})
		}
	}
	for i, ck := range steps {
		if (i+1)%every == 0 || i == len(steps)-1 {
			cks = append(cks, ck)
		}
	}
	return cks
}

type rlPhase struct {
	dir   string
	facts RLFacts
}
