package loop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
)

// TestEvaluateCountsWhatWasScored: an attempt the engine refused is neither right nor wrong, a question without any
// scored attempt is not measured, and both are listed. A question that does not fit the context counts as wrong.
func TestEvaluateCountsWhatWasScored(t *testing.T) {
	e := &Env{Spec: configs.Run{Eval: configs.Eval{Attempts: 2, Bootstrap: 100}}}
	episode := func(q string, score quarry.Score, end quarry.Termination) *quarry.Episode {
		ep := &quarry.Episode{ID: q + "." + string(end), QuestionID: q, End: end, Scorecard: &quarry.Scorecard{ORM: score}}
		if end == quarry.EndFinalAnswer {
			ep.Thread.Turns = make([]quarry.Turn, 1)
		}
		return ep
	}
	right1 := func(q string) *quarry.Episode { return episode(q, quarry.ScoreOf(1), quarry.EndFinalAnswer) }
	wrong := func(q string) *quarry.Episode { return episode(q, quarry.ScoreOf(0), quarry.EndFinalAnswer) }
	refused := func(q string) *quarry.Episode {
		return episode(q, quarry.Unscored("infra_failure"), quarry.EndLLMError)
	}
	long := func(q string) *quarry.Episode { return episode(q, quarry.ScoreOf(0), quarry.EndContextOverflow) }
	qs := []quarry.Question{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	r := e.evaluate(Checkpoint{Name: "x"}, qs,
		[]*quarry.Episode{right1("a"), refused("a"), right1("b"), wrong("b"), refused("c"), refused("c"), long("d"), long("d")},
		[]*quarry.Episode{right1("a"), wrong("b"), refused("c"), long("d")})
	if d := cmp.Diff(map[string]float64{"a": 1, "b": .5, "d": 0}, r.PerQuestion); d != "" {
		t.Error(d)
	}
	if r.N != 3 || r.Success != .5 || r.Greedy < .333 || r.Greedy > .334 || r.Single == nil || *r.Single != .5 {
		t.Errorf("%+v", r)
	}
	reasons := map[string]int{}
	for _, u := range r.Unplayed {
		reasons[u.Question+" "+u.Reason]++
	}
	if d := cmp.Diff(map[string]int{"a engine_refused": 1, "c engine_refused": 3, "d question_too_long": 3}, reasons); d != "" {
		t.Error(d)
	}
}
