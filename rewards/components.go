package rewards

import "github.com/quarry-rl/quarry"

// Per-call and per-turn values of the MindDR report.
const (
	toolSuccess     = 0.1
	toolIsolated    = -0.1
	toolConsecutive = -0.2
	formatGood      = 0.1
	formatBad       = -0.2
)

// Reasons for an unscored component.
const (
	ReasonNoTurns       = "no_turns"
	ReasonNoEntities    = "no_entities"
	ReasonInfra         = "infra_failure"
	ReasonJudge         = "judge_failure"
	ReasonCancelled     = "cancelled"
	ReasonWrongQuestion = "wrong_question"
	ReasonUnknownMode   = "unknown_mode"
	ReasonNotFinite     = "not_finite"
)

// ToolPolicy says what the first failure of a run costs once a second one follows. The report leaves it open.
type ToolPolicy string

// The policies. The empty policy is ToolRetroactive.
const (
	ToolRetroactive ToolPolicy = "retroactive" // every failure of a run of two or more costs 0.2
	ToolOnline      ToolPolicy = "online"      // the first failure of a run costs 0.1, the later ones 0.2
)

// Config says how episodes are scored; the zero value is the default of each choice.
type Config struct {
	ToolPolicy ToolPolicy `json:"tool_policy"`
	PRMMode    PRMMode    `json:"prm_mode"`
}

// ScoreEpisode measures the four components of an episode of question q. Continuations of a pivot are scored against
// what their prefix already showed, which it takes from the episode's messages (PriorOf).
func ScoreEpisode(ep *quarry.Episode, q *quarry.Question, cfg Config) quarry.Scorecard {
	return quarry.Scorecard{
		Tool:   Tool(ep, cfg.ToolPolicy),
		Format: Format(ep),
		PRM:    PRM(ep, q.Entities, q.Text, cfg.PRMMode, PriorOf(ep)),
		ORM:    ORM(ep, q),
	}
}

// Tool is the sum over the episode's calls (+0.1 success, -0.1 isolated failure, -0.2 consecutive failure) divided by
// the number of all its turns, calls or not. A refused call is a failure; an infra failure costs nothing and neither
// breaks nor lengthens a run of failures.
func Tool(ep *quarry.Episode, policy ToolPolicy) quarry.Score {
	turns := len(ep.Thread.Turns)
	if turns == 0 {
		return quarry.Unscored(ReasonNoTurns)
	}
	switch policy {
	case "", ToolRetroactive, ToolOnline:
	default:
		return quarry.Unscored(ReasonUnknownMode)
	}
	sum, run := 0.0, 0
	for _, ev := range ep.ToolEvents() {
		switch ev.Status {
		case quarry.ToolOK:
			sum += toolSuccess
			run = 0
		case quarry.ToolFailed, quarry.ToolRefused:
			run++
			switch {
			case run == 1:
				sum += toolIsolated
			case run == 2 && policy != ToolOnline:
				sum += toolConsecutive + (toolConsecutive - toolIsolated) // the first of the run is no longer isolated
			default:
				sum += toolConsecutive
			}
		}
	}
	return quarry.ScoreOf(sum / float64(turns))
}

// Format is the mean over turns of +0.1 for a well-formed turn and -0.2 for any other.
func Format(ep *quarry.Episode) quarry.Score {
	turns := ep.Thread.Turns
	if len(turns) == 0 {
		return quarry.Unscored(ReasonNoTurns)
	}
	sum := 0.0
	for _, t := range turns {
		if t.FormatOK {
			sum += formatGood
		} else {
			sum += formatBad
		}
	}
	return quarry.ScoreOf(sum / float64(len(turns)))
}

// ORM is 1 when the episode's answer is right and 0 when it is wrong or missing. What happened to an episode, rather
// than by it, leaves it unscored.
func ORM(ep *quarry.Episode, q *quarry.Question) quarry.Score {
	switch {
	case ep.Failure == quarry.FailInfra, ep.End == quarry.EndToolOutage, ep.End == quarry.EndLLMError:
		return quarry.Unscored(ReasonInfra)
	case ep.Failure == quarry.FailJudge:
		return quarry.Unscored(ReasonJudge)
	case ep.End == quarry.EndCancelled:
		return quarry.Unscored(ReasonCancelled)
	case ep.QuestionID != q.ID:
		return quarry.Unscored(ReasonWrongQuestion)
	case ep.Answered && q.Accepts(ep.Answer):
		return quarry.ScoreOf(1)
	}
	return quarry.ScoreOf(0)
}
