package datasets

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

var update = flag.Bool("update", false, "write the golden files anew")

const hash64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// odd is text that readers and writers tend to break.
const odd = "NUL \x00, ZWJ 👩\u200d💻, RTL \u202eabc, 日本語, <&>, \u2028, \U0010ffff, \"quote\" \\ \r\n"

func sampleQuestion(i int) quarry.Question {
	return quarry.Question{
		ID: fmt.Sprintf("q-%03d", i), Text: "Which river flows through the birthplace of X?", Answer: "Elbe", Aliases: []string{"Labe", odd},
		AnswerID: "Q1644", Lang: "en", Source: "wiki", Split: quarry.SplitTrain, License: "CC-BY-SA-3.0",
		Entities: []quarry.Named{{ID: "Q1731", Name: "Dresden", Aliases: []string{"Drježdźany"}}, {ID: "Q2", Name: "Saxony"}},
		Path: quarry.Walk{
			{Statement: quarry.Statement{Subject: "Q9", Predicate: "P19", Object: "Q1731", Text: "X was born in Dresden.", Doc: "d1", Start: 0, End: 22, TextSHA256: hash64}},
			{Statement: quarry.Statement{Subject: "Q1644", Predicate: "P131", Object: "Q1731", Text: "The Elbe ...", Doc: "d2", Start: 5, End: 17, TextSHA256: hash64}, Inverse: true},
		},
		Atoms:      []quarry.Atom{{S: "Q9", P: "P19", O: "?b"}, {S: "?a", P: "P131", O: "?b"}, {S: "?a", P: "P31", O: "Q4022"}},
		Conditions: []quarry.Statement{{Subject: "Q1644", Predicate: "P31", Object: "Q4022", Text: "The Elbe is a river.", Doc: "d3", Start: 2, End: 22, TextSHA256: hash64}},
		AnswerSet:  1, Certificate: json.RawMessage(`{"unique":true}`), Difficulty: json.RawMessage(`{"base":[0,4]}`), Walk: json.RawMessage(`{"seed":7}`),
	}
}

func sampleTools() []quarry.Tool {
	return []quarry.Tool{{Name: "search", Description: "Find <documents> & more", Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)}}
}

// sampleEpisode searches once and answers; ok decides whether rightly.
func sampleEpisode(i int, ok bool) *quarry.Episode {
	answer, orm := "<answer>Elbe</answer>", 1.0
	if !ok {
		answer, orm = "<answer>Oder</answer>", 0
	}
	call := quarry.ToolCall{ID: "call-0", Name: "search", Arguments: `{"query": "river in Dresden"}`}
	ep := &quarry.Episode{
		ID: fmt.Sprintf("ep-%03d-%v", i, ok), TaskID: fmt.Sprintf("task-%03d", i), GroupID: "g", QuestionID: "q", Kind: quarry.TaskFull,
		Temperature: 1, Tools: sampleTools(), End: quarry.EndFinalAnswer, Answered: true,
		Messages: []quarry.Message{
			{Role: "system", Content: "You search."}, {Role: "user", Content: "Which river? " + odd},
			{Role: "assistant", ToolCalls: []quarry.ToolCall{call}}, {Role: "tool", Content: "[1] Elbe", ToolCallID: "call-0", Name: "search"},
			{Role: "assistant", Content: answer},
		},
		Scorecard: &quarry.Scorecard{Tool: quarry.ScoreOf(1), Format: quarry.ScoreOf(0), PRM: quarry.Unscored("no entities"), ORM: quarry.ScoreOf(orm)},
		Thread: quarry.Thread{
			IDs: []int32{257, 'a', 258, 10, 'b', 258, 10, 'c', 258}, Mask: []int8{0, 0, 0, 0, 1, 1, 0, 1, 1},
			Logprobs: []float32{0, 0, 0, 0, -0.5, 0, 0, -1e-30, -12.25}, Versions: []int32{-1, -1, -1, -1, 3, 3, -1, 4, 4}, PromptLen: 4,
			Turns: []quarry.Turn{{Start: 4, End: 6, Finish: "stop", FormatOK: true}, {Start: 7, End: 9, Finish: "stop", FormatOK: true}},
		},
	}
	return ep
}

func sampleBatch() T1Batch {
	return T1Batch{BatchID: "b1", GroupID: "g1", TrainerVersion: 5, Coefficients: quarry.Coefficients{Tool: 0.1, Format: 0.1, PRM: 0.3, ORM: 0.5},
		ScheduleVersion: 2, Advantage: -0.75, Reward: 0, RewardScored: true, NEffective: 8, LossWeight: 0.5, Alpha: 0.5, Beta: 5,
		ModelID: "pocket", TokenizerSHA: "tok", TemplateSHA: "tpl", Engine: "pocket/1"}
}

// must gives v, or ends the test it is handed: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v (hint: %s)", err, quarry.HintOf(err))
		}
		return v
	}
}

func q1Rows(n int) []Q1 {
	var rows []Q1
	for i := range n {
		q := sampleQuestion(i)
		switch i % 3 {
		case 1:
			q.Aliases, q.Entities, q.AnswerID, q.Difficulty = nil, nil, "", nil
		case 2:
			q.AsOf, q.Split = "2026-01-31", quarry.SplitHeldout
		}
		rows = append(rows, Q1FromQuestion(q))
	}
	return rows
}

func s1Rows(t testing.TB, n int) []S1 {
	var rows []S1
	for i := range n {
		ep := sampleEpisode(i, i%2 == 0)
		if i%3 == 2 {
			ep.Scorecard, ep.Tools = nil, nil
		}
		row := must(S1FromEpisode(ep, "expert"))(t)
		row.License = "CC-BY-SA-3.0"
		if i%3 == 1 {
			row.Messages[4].ReasoningContent = "first the birthplace " + strings.Repeat("x", i)
			row.Messages[2].SetLoss(false)
		}
		rows = append(rows, row)
	}
	return rows
}

func d1Rows(t testing.TB, n int) []D1 {
	var rows []D1
	for i := range n {
		p := quarry.Pair{ID: fmt.Sprintf("pair-%03d", i), TaskID: fmt.Sprintf("task-%03d", i), Chosen: sampleEpisode(i, true), Rejected: sampleEpisode(i, false)}
		row := must(D1FromPair(p))(t)
		if i%2 == 1 {
			a, b := float32(-3.5), float32(math.Copysign(0, -1))
			row.RefChosenLogps, row.RefRejectedLogps, row.ScoreChosen, row.PairKind = &a, &b, nil, PairDecision
		}
		rows = append(rows, row)
	}
	return rows
}

func r1Rows(n int) []R1 {
	var rows []R1
	for i := range n {
		row := R1FromQuestion(sampleQuestion(i), sampleEpisode(i, true).Messages[:2], sampleTools())
		if i%2 == 1 {
			q := sampleQuestion(i)
			q.Aliases, q.Entities = nil, nil
			row = R1FromQuestion(q, []quarry.Message{{Role: "user", Content: odd}}, nil)
		}
		row.ExtraInfo.Index = int64(i)
		rows = append(rows, row)
	}
	return rows
}

func t1Rows(t testing.TB, n int) []T1 {
	var rows []T1
	for i := range n {
		ep, b := sampleEpisode(i, i%2 == 0), sampleBatch()
		switch i % 4 {
		case 1:
			ep.Kind, ep.ParentEpisode, ep.PivotTurn, ep.HintStart, ep.HintLen = quarry.TaskPivot, "ep-0", 1, 1, 2
		case 2:
			b.RewardScored, b.Advantage, ep.Scorecard, ep.End, ep.Failure = false, 0, nil, quarry.EndToolOutage, quarry.FailInfra
		}
		row := must(T1FromEpisode(ep, b))(t)
		if i%4 == 3 {
			l, x := len(row.IDs), 1.5
			row.Adv, row.TrainLogprobs, row.KVMixed = make([]float32, l), make([]float32, l), make([]int8, l)
			row.Adv[4], row.TrainLogprobs[4], row.KVMixed[4], row.IcePop.RatioMax, row.IcePop.NMasked = 0.25, -0.125, 1, &x, 1
		} else if i%4 == 0 {
			row.IcePop = nil
		}
		rows = append(rows, row)
	}
	return rows
}

// writeDataset writes rows under dir/name.
func writeDataset[T Row](t testing.TB, dir, name string, opts Options, rows []T) Manifest {
	t.Helper()
	w := must(NewWriter[T](dir, name, opts))(t)
	if err := w.Write(rows...); err != nil {
		t.Fatalf("%v (hint: %s)", err, quarry.HintOf(err))
	}
	return must(w.Close(Meta{Producer: "test", License: "CC-BY-SA-3.0"}))(t)
}
