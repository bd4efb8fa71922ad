package datasets

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// badRow is a change of a good row and what the error must name: column, value, expectation.
type badRow[T Row] struct {
	column string
	value  string
	want   string
	change func(*T)
}

func TestBadRows(t *testing.T) {
	nan, inf := math.NaN(), float32(math.Inf(-1))
	badRows(t, func() Q1 { return Q1FromQuestion(sampleQuestion(0)) }, []badRow[Q1]{
		{"id", `""`, "non-empty", func(r *Q1) { r.ID = "" }},
		{"id", `"xxx`, "at most 4096 bytes", func(r *Q1) { r.ID = strings.Repeat("x", 5000) }},
		{"question", `"a\xff"`, "UTF-8 (bad byte at offset 1)", func(r *Q1) { r.Text = "a\xff" }},
		{"answer", `""`, "non-empty", func(r *Q1) { r.Answer = "" }},
		{"aliases[1]", `"\xc0"`, "UTF-8", func(r *Q1) { r.Aliases = []string{"a", "\xc0"} }},
		{"split", `"test"`, "one of train, tier, heldout", func(r *Q1) { r.Split = "test" }},
		{"entities[0].name", `""`, "non-empty", func(r *Q1) { r.Entities[0].Name = "" }},
		{"entities[0].aliases[0]", `"\xff"`, "UTF-8", func(r *Q1) { r.Entities[0].Aliases = []string{"\xff"} }},
		{"path", "[]", "at least one hop", func(r *Q1) { r.Path = nil }},
		{"path[1].o", `"Q1731"`, `starts at "Q5"`, func(r *Q1) { r.Path[0].O = "Q5" }},
		{"path[0].doc", `""`, "non-empty", func(r *Q1) { r.Path[0].Doc = "" }},
		{"path[0].start", "-1", ">= 0", func(r *Q1) { r.Path[0].Start = -1 }},
		{"path[0].end", "0", ">= 1", func(r *Q1) { r.Path[0].End = 0 }},
		{"path[0].text_sha256", `"abc"`, "64 lower-case hex", func(r *Q1) { r.Path[0].TextSHA256 = "abc" }},
		{"atoms", "[]", "at least one", func(r *Q1) { r.Atoms = nil }},
		{"atoms[2].o", `""`, "non-empty", func(r *Q1) { r.Atoms[2].O = "" }},
		{"conditions", "0 of them", "1, one for each atom", func(r *Q1) { r.Conditions = nil }},
		{"conditions", "1 of them", "0, one for each atom", func(r *Q1) { r.Atoms = r.Atoms[:2] }},
		{"conditions[0].doc", `""`, "non-empty", func(r *Q1) { r.Conditions[0].Doc = "" }},
		{"conditions[0].end", "2", ">= 3", func(r *Q1) { r.Conditions[0].End = 2 }},
		{"conditions[0].text_sha256", `"abc"`, "64 lower-case hex", func(r *Q1) { r.Conditions[0].TextSHA256 = "abc" }},
		{"conditions[0]", `"Q1644 P31 Q5"`, "the statement of atoms[2]", func(r *Q1) { r.Conditions[0].O = "Q5" }},
		{"conditions[0]", `"Q1644 P17 Q4022"`, "the statement of atoms[2]", func(r *Q1) { r.Conditions[0].P = "P17" }},
		{"answer_set", "2", "1: an accepted", func(r *Q1) { r.AnswerSet = 2 }},
		{"certificate", `"{"`, "JSON", func(r *Q1) { r.Certificate = "{" }},
		{"difficulty", `""`, "JSON", func(r *Q1) { r.Difficulty = "" }},
		{"walk", `"{} {}"`, "JSON", func(r *Q1) { r.Walk = "{} {}" }},
	})
	badRows(t, func() S1 { return must(S1FromEpisode(sampleEpisode(0, true), "expert"))(t) }, []badRow[S1]{
		{"messages", "[]", "at least one", func(r *S1) { r.Messages = nil }},
		{"messages[1].role", `"human"`, "one of system, user, assistant, tool", func(r *S1) { r.Messages[1].Role = "human" }},
		{"messages[1].content", `"\xf0\x9f"`, "UTF-8", func(r *S1) { r.Messages[1].Content = "\xf0\x9f" }},
		{"messages[0].tool_calls", "[]", "null when", func(r *S1) { r.Messages[0].ToolCalls = []ToolCall{} }},
		{"messages[1].tool_calls", "1 calls in a user message", "assistant messages only", func(r *S1) { r.Messages[1].ToolCalls = r.Messages[2].ToolCalls }},
		{"messages[2].tool_calls[0].function.arguments", `"{bad"`, "JSON object", func(r *S1) { r.Messages[2].ToolCalls[0].Function.Arguments = "{bad" }},
		{"messages[2].tool_calls[0].function.arguments", `"[1]"`, "JSON object", func(r *S1) { r.Messages[2].ToolCalls[0].Function.Arguments = "[1]" }},
		{"messages[2].tool_calls[0].function.name", `""`, "non-empty", func(r *S1) { r.Messages[2].ToolCalls[0].Function.Name = "" }},
		{"messages[2].tool_calls[0].type", `"fn"`, "one of function", func(r *S1) { r.Messages[2].ToolCalls[0].Type = "fn" }},
		{"messages[2].step_loss_mask", "0", "1, as loss is true", func(r *S1) { r.Messages[2].StepLossMask = 0 }},
		{"messages[1].loss", "true", "only assistant", func(r *S1) { r.Messages[1].SetLoss(true) }},
		{"tools", `"{}"`, "JSON array", func(r *S1) { r.Tools = "{}" }},
		{"tools", `""`, "JSON array", func(r *S1) { r.Tools = "" }},
		{"reward", "NaN", "finite", func(r *S1) { r.Reward = &nan }},
		{"num_turns", "3", "number of assistant", func(r *S1) { r.NumTurns = 3 }},
		{"num_tokens", "-1", ">= 0", func(r *S1) { r.NumTokens = -1 }},
	})
	badRows(t, func() D1 { return must(D1FromPair(quarryPair(sampleEpisode(0, true), "no")))(t) }, []badRow[D1]{
		{"prompt", "[]", "at least one", func(r *D1) { r.Prompt, r.DivergenceTurn = nil, 0 }},
		{"prompt[2].loss", "true", "context", func(r *D1) { r.Prompt[2].SetLoss(true) }},
		{"chosen", "[]", "at least one", func(r *D1) { r.Chosen = nil }},
		{"rejected", "no assistant", "begin with an assistant", func(r *D1) { r.Rejected = r.Prompt[:1] }},
		{"pair_kind", `"x"`, "one of trajectory, decision", func(r *D1) { r.PairKind = "x" }},
		{"chosen", "2", "one message", func(r *D1) { r.PairKind, r.Chosen = PairDecision, append(r.Chosen, r.Chosen...) }},
		{"divergence_turn", "7", "assistant messages in the prompt", func(r *D1) { r.DivergenceTurn = 7 }},
		{"score_rejected", "NaN", "finite", func(r *D1) { r.ScoreRejected = &nan }},
		{"ref_chosen_logps", "-Inf", "finite", func(r *D1) { r.RefChosenLogps = &inf }},
	})
	badRows(t, func() R1 { return r1Rows(1)[0] }, []badRow[R1]{
		{"prompt", "[]", "at least one", func(r *R1) { r.Prompt = nil }},
		{"prompt[0].role", `"assistant"`, "one of system, user", func(r *R1) { r.Prompt[0].Role = "assistant" }},
		{"label", `""`, "non-empty", func(r *R1) { r.Label = "" }},
		{"ground_truth", `"x"`, `label "Elbe"`, func(r *R1) { r.GroundTruth = "x" }},
		{"reward_model.ground_truth", `"x"`, `label "Elbe"`, func(r *R1) { r.RewardModel.GroundTruth = "x" }},
		{"extra_info.aliases", `"{}"`, "JSON array", func(r *R1) { r.ExtraInfo.Aliases = "{}" }},
		{"extra_info.entities", `"["`, "JSON array", func(r *R1) { r.ExtraInfo.Entities = "[" }},
		{"extra_info.index", "-1", ">= 0", func(r *R1) { r.ExtraInfo.Index = -1 }},
	})
}

func TestBadT1Rows(t *testing.T) {
	nan32, inf := float32(math.NaN()), math.Inf(1)
	badRows(t, func() T1 {
		ep := sampleEpisode(0, true)
		ep.Kind, ep.ParentEpisode, ep.HintStart, ep.HintLen = quarry.TaskPivot, "ep-0", 1, 2
		return must(T1FromEpisode(ep, sampleBatch()))(t)
	}, []badRow[T1]{
		{"ids", "[]", "at least one", func(r *T1) { r.IDs = nil }},
		{"ids[2]", "-5", ">= 0", func(r *T1) { r.IDs[2] = -5 }},
		{"mask", "8 values", "9, as many as ids", func(r *T1) { r.Mask = r.Mask[:8] }},
		{"behav_logprobs", "8 values", "9", func(r *T1) { r.BehavLogprobs = r.BehavLogprobs[:8] }},
		{"weight_versions", "0 values", "9", func(r *T1) { r.WeightVersions = nil }},
		{"adv", "0 values", "9", func(r *T1) { r.Adv = []float32{} }},
		{"train_logprobs", "1 values", "9", func(r *T1) { r.TrainLogprobs = []float32{0} }},
		{"kv_mixed", "1 values", "9", func(r *T1) { r.KVMixed = []int8{0} }},
		{"mask[5]", "2", "0 or 1", func(r *T1) { r.Mask[5] = 2 }},
		{"mask", "all 0", "at least one sampled", func(r *T1) { clear(r.Mask); clear(r.BehavLogprobs); fill(r.WeightVersions, -1) }},
		{"behav_logprobs[4]", "NaN", "finite number <= 0", func(r *T1) { r.BehavLogprobs[4] = nan32 }},
		{"behav_logprobs[4]", "-Inf", "finite number <= 0", func(r *T1) { r.BehavLogprobs[4] = float32(math.Inf(-1)) }},
		{"behav_logprobs[4]", "0.1", "finite number <= 0", func(r *T1) { r.BehavLogprobs[4] = 0.1 }},
		{"behav_logprobs[6]", "-1", "0, as mask is 0", func(r *T1) { r.BehavLogprobs[6] = -1 }},
		{"behav_logprobs[6]", "NaN", "0, as mask is 0", func(r *T1) { r.BehavLogprobs[6] = nan32 }},
		{"weight_versions[6]", "3", "-1, as mask is 0", func(r *T1) { r.WeightVersions[6] = 3 }},
		{"weight_versions[4]", "-1", "as mask is 1", func(r *T1) { r.WeightVersions[4] = -1 }},
		{"train_logprobs[0]", "NaN", "finite", func(r *T1) { r.TrainLogprobs = make([]float32, 9); r.TrainLogprobs[0] = nan32 }},
		{"adv[8]", "NaN", "finite", func(r *T1) { r.Adv = make([]float32, 9); r.Adv[8] = nan32 }},
		{"kv_mixed[0]", "1", "sampled token", func(r *T1) { r.KVMixed = make([]int8, 9); r.KVMixed[0] = 1 }},
		{"prompt_len", "3", "4, the index of the first", func(r *T1) { r.PromptLen = 3 }},
		{"min_version", "2", "3, the oldest", func(r *T1) { r.MinVersion = 2 }},
		{"max_version", "5", "4, the newest", func(r *T1) { r.MaxVersion = 5 }},
		{"reward", "+Inf", "finite", func(r *T1) { r.Reward = &inf }},
		{"adv_scalar", "-0.75", "reward is null", func(r *T1) { r.Reward = nil }},
		{"rewards.prm", "+Inf", "finite", func(r *T1) { r.Rewards.PRM = &inf }},
		{"coeff.orm", "+Inf", "finite", func(r *T1) { r.Coeff.ORM = inf }},
		{"loss_weight", "-1", ">= 0", func(r *T1) { r.LossWeight = -1 }},
		{"task_kind", `"part"`, "one of full, pivot", func(r *T1) { r.TaskKind = "part" }},
		{"task_kind", `"full"`, "pivot columns are set", func(r *T1) { r.TaskKind = "full" }},
		{"parent_traj_id", "null", "task_kind is pivot", func(r *T1) { r.ParentTrajID = "" }},
		{"pivot_turn", "null", "task_kind is pivot", func(r *T1) { r.HintLen = nil }},
		{"hint_len", "2", "within the prompt of 4", func(r *T1) { *r.HintStart = 3 }},
		{"trainer_version_at_ship", "-1", ">= 0", func(r *T1) { r.TrainerVersionAtShip = -1 }},
		{"temperature", "-1", ">= 0", func(r *T1) { r.Temperature = -1 }},
		{"top_p", "0", "(0, 1]", func(r *T1) { r.TopP = 0 }},
		{"finish_reason", `"eos"`, "one of stop, length, abort", func(r *T1) { r.FinishReason = "eos" }},
		{"status", `""`, "one of completed", func(r *T1) { r.Status = "" }},
		{"icepop.alpha", "6", "alpha <= beta (5)", func(r *T1) { r.IcePop.Alpha = 6 }},
		{"icepop.kl_k1", "+Inf", "finite", func(r *T1) { r.IcePop.KLK1 = &inf }},
		{"batch_id", `""`, "non-empty", func(r *T1) { r.BatchID = "" }},
		{"group_id", `""`, "non-empty", func(r *T1) { r.GroupID = "" }},
	})
}

func fill(s []int32, v int32) {
	for i := range s {
		s[i] = v
	}
}

// badRows writes a good row and then the bad one: the error must say dataset, row, column, value and expectation, and
// no dataset may appear.
func badRows[T Row](t *testing.T, good func() T, cases []badRow[T]) {
	t.Helper()
	kind := specOf[T]().kind
	for _, c := range cases {
		t.Run(kind+" "+c.column+" "+c.want, func(t *testing.T) {
			dir := t.TempDir()
			bad := good()
			c.change(&bad)
			w := must(NewWriter[T](dir, "my-data", Options{}))(t)
			first := good()
			setID(&first, "row-0")
			if err := w.Write(first); err != nil {
				t.Fatal(err)
			}
			err := w.Write(bad)
			if quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
				t.Fatalf("error %v (%s), want an invalid one with a hint", err, quarry.KindOf(err))
			}
			for _, part := range []string{"dataset my-data " + kind + " row 1 ", " column " + c.column + ": ", "got " + c.value, c.want} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if _, err := w.Close(Meta{}); quarry.KindOf(err) != quarry.KindInvalid {
				t.Errorf("Close after a bad row: %v", err)
			}
			if got := listing(t, dir); got != "" {
				t.Errorf("left behind: %s", got)
			}
			if err := Validate(bad); quarry.KindOf(err) != quarry.KindInvalid {
				t.Errorf("Validate: %v", err)
			}
		})
	}
}

func setID[T Row](row *T, id string) {
	switch r := any(row).(type) {
	case *Q1:
		r.ID = id
	case *S1:
		r.ID = id
	case *D1:
		r.ID = id
	case *R1:
		r.ID = id
	case *T1:
		r.ID = id
	}
}

func TestDuplicateID(t *testing.T) {
	w := must(NewWriter[Q1](t.TempDir(), "ds", Options{}))(t)
	rows := q1Rows(3)
	rows[2].ID = rows[0].ID
	err := w.Write(rows...)
	if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), `row 2 (id "q-000") column id`) || !strings.Contains(err.Error(), "row 0 has the same") {
		t.Fatal(err)
	}
}

func TestTooLarge(t *testing.T) {
	row := must(S1FromEpisode(sampleEpisode(0, true), "x"))(t)
	row.Messages[3].Content = strings.Repeat("x", maxValue+1)
	err := Validate(row)
	if err == nil || !strings.Contains(err.Error(), "column messages[3].content") || !strings.Contains(err.Error(), "(67108865 bytes)") || len(err.Error()) > 500 {
		t.Fatalf("%.600v", err)
	}
	// Each value is allowed, the row is not.
	long := strings.Repeat("x", maxValue)
	for i := range 5 {
		row.Messages[i].Content = long
	}
	w := must(NewWriter[S1](t.TempDir(), "ds", Options{}))(t)
	if err := w.Write(row); err == nil || !strings.Contains(err.Error(), "at most 268435456 bytes") {
		t.Fatalf("%.600v", err)
	}
}

func TestRawJSON(t *testing.T) {
	for raw, want := range map[string]string{"": "null", "null": "null", `{"a": 1}`: `{"a": 1}`} {
		if got := rawText(json.RawMessage(raw)); got != want {
			t.Errorf("rawText(%q) = %q, want %q", raw, got, want)
		}
		if back := rawText(textRaw(want)); back != want {
			t.Errorf("textRaw(%q) comes back as %q", want, back)
		}
	}
}
