package datasets

import (
	"slices"

	"github.com/quarry-rl/quarry"
)

// D1 is one preference pair: two ways to go on from the same prompt.
type D1 struct {
	ID               string    `parquet:"id"`
	Prompt           []Message `parquet:"prompt,list"` // ends where an assistant turn begins
	Chosen           []Message `parquet:"chosen,list"`
	Rejected         []Message `parquet:"rejected,list"`
	Tools            string    `parquet:"tools"`
	ScoreChosen      *float64  `parquet:"score_chosen,optional"`
	ScoreRejected    *float64  `parquet:"score_rejected,optional"`
	PairKind         string    `parquet:"pair_kind,dict"`  // trajectory, decision
	DivergenceTurn   int32     `parquet:"divergence_turn"` // assistant messages in the prompt
	RefChosenLogps   *float32  `parquet:"ref_chosen_logps,optional"`
	RefRejectedLogps *float32  `parquet:"ref_rejected_logps,optional"`
}

// The kinds of pair.
const (
	PairTrajectory = "trajectory" // chosen and rejected run to the end of their episodes
	PairDecision   = "decision"   // chosen and rejected are one assistant message each
)

// D1FromPair makes a trajectory pair. The prompt is the messages that both episodes share, cut back to the start of an
// assistant turn, so that both suffixes begin with the policy's own message also where only an observation differs.
// Messages are the same when all their fields are, call ids included. Scores are the outcome rewards. Episodes of
// different tasks or tools, without a shared prompt, or without a difference are invalid errors.
func D1FromPair(p quarry.Pair) (D1, error) {
	fail := func(msg string) (D1, error) {
		return D1{}, &quarry.Error{Op: "make D1 row", Kind: quarry.KindInvalid, Subject: "pair " + shown(p.ID), Msg: msg,
			Hint: "pair two episodes of one task that start from the same messages"}
	}
	if p.Chosen == nil || p.Rejected == nil {
		return fail("one of the episodes is missing")
	}
	if p.Chosen.TaskID != p.Rejected.TaskID {
		return fail("the episodes belong to tasks " + shown(p.Chosen.TaskID) + " and " + shown(p.Rejected.TaskID))
	}
	tools, err := ToolsText(p.Chosen.Tools)
	if err != nil {
		return D1{}, err
	}
	if other, err := ToolsText(p.Rejected.Tools); err != nil || other != tools {
		return fail("the episodes were offered different tools")
	}
	a, b := p.Chosen.Messages, p.Rejected.Messages
	if slices.EqualFunc(a, b, sameMessage) {
		return fail("the episodes do not differ")
	}
	cut := 0
	for i := range min(len(a), len(b)) {
		if a[i].Role == "assistant" && b[i].Role == "assistant" {
			cut = i
		}
		if !sameMessage(a[i], b[i]) {
			break
		}
	}
	if cut == 0 {
		return fail("the episodes differ before the first assistant message")
	}
	row := D1{ID: p.ID, Prompt: toRows(a[:cut], false), Chosen: toRows(a[cut:], true), Rejected: toRows(b[cut:], true), Tools: tools,
		ScoreChosen: outcome(p.Chosen), ScoreRejected: outcome(p.Rejected), PairKind: PairTrajectory}
	row.DivergenceTurn = turns(row.Prompt)
	return row, nil
}

// Conversations are the messages of both episodes as D1FromPair got them.
func (r D1) Conversations() (chosen, rejected []quarry.Message) {
	return fromRows(slices.Concat(r.Prompt, r.Chosen)...), fromRows(slices.Concat(r.Prompt, r.Rejected)...)
}

func (r D1) key() string { return r.ID }

func (D1) spec() spec {
	return spec{kind: "D1", version: 1, short: []string{"id", "pair_kind"}}
}

func (r D1) check(c *checker) {
	c.id("id", r.ID)
	c.messages("prompt", r.Prompt)
	c.messages("chosen", r.Chosen)
	c.messages("rejected", r.Rejected)
	c.json("tools", r.Tools, "[")
	c.maybe("score_chosen", r.ScoreChosen)
	c.maybe("score_rejected", r.ScoreRejected)
	c.oneOf("pair_kind", r.PairKind, PairTrajectory, PairDecision)
	if r.DivergenceTurn != turns(r.Prompt) {
		c.fail("divergence_turn", r.DivergenceTurn, "the number of assistant messages in the prompt")
	}
	c.maybe32("ref_chosen_logps", r.RefChosenLogps)
	c.maybe32("ref_rejected_logps", r.RefRejectedLogps)
	for i, m := range r.Prompt {
		if m.Loss {
			c.enter("prompt", i)
			c.fail("loss", m.Loss, "false: the prompt is context")
			c.leave()
		}
	}
	c.side("chosen", r.Chosen, r.PairKind)
	c.side("rejected", r.Rejected, r.PairKind)
}

func (c *checker) side(column string, msgs []Message, kind string) {
	if len(msgs) == 0 || msgs[0].Role != "assistant" {
		c.fail(column, note("no assistant message first"), "messages that begin with an assistant turn")
	}
	if kind == PairDecision && len(msgs) != 1 {
		c.fail(column, len(msgs), "one message, as pair_kind is decision")
	}
}
