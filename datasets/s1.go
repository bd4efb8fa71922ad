package datasets

import "github.com/quarry-rl/quarry"

// S1 is one conversation for supervised fine-tuning.
type S1 struct {
	ID        string    `parquet:"id"`
	Messages  []Message `parquet:"messages,list"`
	Tools     string    `parquet:"tools"` // JSON array text, "[]" when none
	Source    string    `parquet:"source,dict"`
	TaskID    string    `parquet:"task_id"`
	License   string    `parquet:"license,dict"`
	Reward    *float64  `parquet:"reward,optional"` // outcome reward; null when unscored
	NumTurns  int32     `parquet:"num_turns"`       // assistant messages
	NumTokens int32     `parquet:"num_tokens"`      // of the episode's thread
}

// S1FromEpisode makes a row of an episode's conversation. Every assistant message carries loss; Message.SetLoss takes
// it off a turn, and the caller sets License. Reward is the episode's outcome reward. An episode without a reply is an
// invalid error.
func S1FromEpisode(ep *quarry.Episode, source string) (S1, error) {
	if ep == nil {
		return S1{}, noEpisode("make S1 row", "no episode")
	}
	tools, err := ToolsText(ep.Tools)
	if err != nil {
		return S1{}, err
	}
	row := S1{ID: ep.ID, Messages: toRows(ep.Messages, true), Tools: tools, Source: source, TaskID: ep.TaskID,
		Reward: outcome(ep), NumTokens: int32Of(len(ep.Thread.IDs))}
	row.NumTurns = turns(row.Messages)
	if row.NumTurns == 0 {
		return S1{}, noEpisode("make S1 row", "episode "+shown(ep.ID)+" has no assistant message")
	}
	return row, nil
}

// Conversation is the row's messages as S1FromEpisode got them.
func (r S1) Conversation() []quarry.Message { return fromRows(r.Messages...) }

func (r S1) key() string { return r.ID }

func (S1) spec() spec {
	return spec{kind: "S1", version: 1, short: []string{"id", "source", "task_id", "license"}}
}

func (r S1) check(c *checker) {
	c.id("id", r.ID)
	c.messages("messages", r.Messages)
	c.json("tools", r.Tools, "[")
	c.short("source", r.Source)
	c.short("task_id", r.TaskID)
	c.short("license", r.License)
	c.maybe("reward", r.Reward)
	if n := turns(r.Messages); n == 0 || n != r.NumTurns {
		c.fail("num_turns", r.NumTurns, "the number of assistant messages, at least 1")
	}
	c.atLeast("num_tokens", int64(r.NumTokens), 0)
	c.tokens += int64(r.NumTokens)
}

func noEpisode(op, msg string) error {
	return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Msg: msg, Hint: "leave this episode out of the dataset"}
}

// outcome is the episode's outcome reward, nil when unscored.
func outcome(ep *quarry.Episode) *float64 {
	if ep.Scorecard == nil {
		return nil
	}
	return scored(ep.Scorecard.ORM)
}

func scored(s quarry.Score) *float64 {
	if !s.Scored {
		return nil
	}
	return &s.Value
}
