package datasets

import "github.com/quarry-rl/quarry"

// R1 is one RL prompt, in the columns that verl, slime, OpenRLHF, ROLL and TRL look for.
type R1 struct {
	ID          string          `parquet:"id"`
	Prompt      []PromptMessage `parquet:"prompt,list"`
	DataSource  string          `parquet:"data_source,dict"`
	Ability     string          `parquet:"ability,dict"`
	AgentName   string          `parquet:"agent_name,dict"`
	Label       string          `parquet:"label"`
	RewardModel RewardModel     `parquet:"reward_model"`
	ExtraInfo   ExtraInfo       `parquet:"extra_info"`
	Metadata    TaskMetadata    `parquet:"metadata"`
	Tools       string          `parquet:"tools"`
	Datasource  string          `parquet:"datasource,dict"`
	Tag         string          `parquet:"tag,dict"`
	Domain      string          `parquet:"domain,dict"`
	GroundTruth string          `parquet:"ground_truth"`
}

// PromptMessage is a message before the first assistant turn.
type PromptMessage struct {
	Role    string `parquet:"role,dict"`
	Content string `parquet:"content"`
}

// RewardModel is verl's place of the ground truth, always text.
type RewardModel struct {
	Style       string `parquet:"style,dict"`
	GroundTruth string `parquet:"ground_truth"`
}

// ExtraInfo carries what a reward function needs to score without quarry.
type ExtraInfo struct {
	Split           string `parquet:"split,dict"`
	Index           int64  `parquet:"index"`
	TaskID          string `parquet:"task_id"`
	NeedToolsKwargs bool   `parquet:"need_tools_kwargs"`
	Aliases         string `parquet:"aliases"`  // JSON array text of strings
	Entities        string `parquet:"entities"` // JSON array text of {id, name, aliases}
}

// TaskMetadata is slime's metadata struct.
type TaskMetadata struct {
	TaskID     string `parquet:"task_id"`
	SourceName string `parquet:"source_name,dict"`
}

// R1FromQuestion makes the view of a question that trainers roll out. prompt is how the task starts (system and user);
// tools decide between verl's tool and single-turn agents. The caller numbers rows in ExtraInfo.Index when a trainer
// wants that. Tools whose parameters are not JSON leave the tools column empty, which the writer refuses.
func R1FromQuestion(q quarry.Question, prompt []quarry.Message, tools []quarry.Tool) R1 {
	row := R1{
		ID: q.ID, DataSource: q.Source, Ability: "deep_research", AgentName: "single_turn_agent", Label: q.Answer,
		RewardModel: RewardModel{Style: "rule", GroundTruth: q.Answer},
		ExtraInfo:   ExtraInfo{Split: string(q.Split), TaskID: q.ID, Aliases: listText(q.Aliases), Entities: listText(q.Entities)},
		Metadata:    TaskMetadata{TaskID: q.ID, SourceName: q.Source},
		Datasource:  q.Source, Tag: q.Source, Domain: "deep_research", GroundTruth: q.Answer,
	}
	if len(tools) > 0 {
		row.AgentName = "tool_agent"
	}
	for _, m := range prompt {
		row.Prompt = append(row.Prompt, PromptMessage{Role: m.Role, Content: m.Content})
	}
	row.Tools, _ = ToolsText(tools) // "" on error: the row check names the column
	return row
}

func listText[E any](list []E) string {
	if len(list) == 0 {
		return "[]"
	}
	text, _ := jsonText(list) // strings only: cannot fail
	return text
}

func (r R1) key() string { return r.ID }

func (R1) spec() spec {
	return spec{kind: "R1", version: 1, short: []string{"id", "data_source", "ability", "agent_name", "datasource", "tag", "domain"}}
}

func (r R1) check(c *checker) {
	c.id("id", r.ID)
	if len(r.Prompt) == 0 {
		c.fail("prompt", note("[]"), "at least one message")
	}
	for i, m := range r.Prompt {
		c.enter("prompt", i)
		c.oneOf("role", m.Role, "system", "user")
		c.text("content", m.Content)
		c.leave()
	}
	c.short("data_source", r.DataSource)
	c.short("ability", r.Ability)
	c.short("agent_name", r.AgentName)
	c.short("datasource", r.Datasource)
	c.short("tag", r.Tag)
	c.short("domain", r.Domain)
	c.filled("label", r.Label)
	c.filled("ground_truth", r.GroundTruth)
	if r.GroundTruth != r.Label {
		c.fail("ground_truth", r.GroundTruth, "the label "+shown(r.Label))
	}
	c.enter("reward_model", -1)
	c.text("style", r.RewardModel.Style)
	c.text("ground_truth", r.RewardModel.GroundTruth)
	if r.RewardModel.GroundTruth != r.Label {
		c.fail("ground_truth", r.RewardModel.GroundTruth, "the label "+shown(r.Label))
	}
	c.leave()
	c.enter("extra_info", -1)
	c.oneOf("split", r.ExtraInfo.Split, "train", "tier", "heldout")
	c.atLeast("index", r.ExtraInfo.Index, 0)
	c.text("task_id", r.ExtraInfo.TaskID)
	c.json("aliases", r.ExtraInfo.Aliases, "[")
	c.json("entities", r.ExtraInfo.Entities, "[")
	c.leave()
	c.enter("metadata", -1)
	c.text("task_id", r.Metadata.TaskID)
	c.text("source_name", r.Metadata.SourceName)
	c.leave()
	c.json("tools", r.Tools, "[")
}
