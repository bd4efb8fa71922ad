package quarry

// Score is one reward component: a value, or a reason why there is none. It is never a silent 0.
type Score struct {
	Scored bool    `json:"scored"`
	Value  float64 `json:"value"`
	Reason string  `json:"reason,omitempty"`
}

// ScoreOf is a scored component.
func ScoreOf(v float64) Score { return Score{Scored: true, Value: v} }

// Unscored is a component without a value.
func Unscored(reason string) Score { return Score{Reason: reason} }

// Coefficients weigh the components; they sum to 1 (MindDR report, section on the schedule).
type Coefficients struct {
	Tool   float64 `json:"tool"`
	Format float64 `json:"format"`
	PRM    float64 `json:"prm"`
	ORM    float64 `json:"orm"`
}

// Scorecard holds the components of an episode. Tool and Format are means over its turns, so that a total can be
// recomputed for any coefficients: R = orm*ORM + prm*PRM + tool*Tool + format*Format.
type Scorecard struct {
	Tool   Score `json:"tool"`
	Format Score `json:"format"`
	PRM    Score `json:"prm"`
	ORM    Score `json:"orm"`
}

// PivotClass is how an episode went wrong (Apodex 1.1 paper, PIVOT-RL).
type PivotClass string

// The four classes.
const (
	PivotStrategy   PivotClass = "unproductive_strategy"
	PivotEvidence   PivotClass = "thin_evidence"
	PivotTool       PivotClass = "tool_misuse"
	PivotAssumption PivotClass = "unrevised_assumption"
)

// Pivot is the turn where a failed episode went wrong.
type Pivot struct {
	EpisodeID string     `json:"episode_id"`
	Turn      int        `json:"turn"` // index of the first bad turn; the prefix ends before it
	Class     PivotClass `json:"class"`
	Evidence  string     `json:"evidence"` // which event shows it
	Hint      string     `json:"hint"`     // direction only, never a target
}

// Pair is two episodes of one task of which exactly one is right.
type Pair struct {
	ID       string   `json:"id"`
	TaskID   string   `json:"task_id"`
	Chosen   *Episode `json:"chosen"`
	Rejected *Episode `json:"rejected"`
}
