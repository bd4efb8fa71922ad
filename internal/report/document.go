// Package report says what a run did: Doc is the one JSON document of a run, Text prints it for a terminal, HTML writes
// it as one self-contained page, Progress draws the live line while the run goes. It computes nothing that is not
// already in the document, so the three views can never disagree.
package report

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/quarry-rl/quarry"
)

// Schema names the document's format; docs/formats/run-json.md describes it.
const Schema = "quarry.run/v1"

// Doc is everything a run reports. Shares and rates are fractions 0..1; a null number means "not measured", never 0.
type Doc struct {
	Schema     string    `json:"schema"`
	Quarry     string    `json:"quarry_version"`
	Name       string    `json:"name"` // preset or spec name
	Seed       uint      `json:"seed"`
	RunDir     string    `json:"run_dir"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`           // wall time of this command
	PeakMemory int64     `json:"peak_memory_bytes"` // peak resident set of this command

	Stages    []Stage        `json:"stages"`
	Synth     Synth          `json:"synth"`
	Filter    Filter         `json:"filter"`
	Funnel    []FunnelStep   `json:"funnel"`
	SFT       SFT            `json:"sft"`
	DPO       DPO            `json:"dpo"`
	Eval      []Eval         `json:"eval"`
	RL        RL             `json:"rl"`
	Pivot     Pivot          `json:"pivot"`
	Counts    Counts         `json:"counts"`
	Gauge     int            `json:"conservation"` // Counts.Conservation(), 0 unless something was lost
	Staleness []StalenessBin `json:"staleness_histogram"`
	Datasets  []Dataset      `json:"datasets"`
	Example   *Example       `json:"example"` // null when no question qualifies

	Notes       []string `json:"notes"`        // what a reader must know before believing the numbers
	Next        []string `json:"next"`         // what to type next
	StartAfresh string   `json:"start_afresh"` // what to type to ignore every cached stage
}

// Reasons counts by reason. An empty one is {} in JSON, never null.
type Reasons map[string]int

// MarshalJSON writes the reasons in the order of their names.
func (r Reasons) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]int(r))
}

// Sum adds all counts.
func (r Reasons) Sum() int {
	n := 0
	for _, v := range r {
		n += v
	}
	return n
}

// Sorted lists the reasons, most frequent first, equals by name.
func (r Reasons) Sorted() []string {
	return slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a, b))
	})
}

// String lists the reasons with their counts for people, most frequent first.
func (r Reasons) String() string { return reasonList(r) }

// Stage is one node of the run's graph.
type Stage struct {
	Name            string  `json:"name"`
	Digest          string  `json:"digest"`           // of the stage's result files
	Seconds         float64 `json:"seconds"`          // spent by this command, near 0 when cached
	Cached          bool    `json:"cached"`           // taken from an earlier command
	ComputedSeconds float64 `json:"computed_seconds"` // spent when it was computed; equals Seconds unless cached
	Result          string  `json:"result"`           // one short phrase: "33,042 statements, 8,076 passages"
}

// Synth counts candidates: Walks = Accepted + the sum of Rejected.
type Synth struct {
	Walks    int     `json:"walks"`
	Accepted int     `json:"accepted"`
	Rejected Reasons `json:"rejected"`
	ByShape  Reasons `json:"by_shape"` // accepted questions by "hops+conditions"
}

// Filter counts the train questions that met the skill levels: In = Kept + the sum of Rejected. For the held-out ones
// HeldoutIn = Heldout + the sum of HeldoutRejected.
type Filter struct {
	In              int     `json:"in"`
	Kept            int     `json:"kept"`
	Rejected        Reasons `json:"rejected"`
	Tier            int     `json:"tier"`            // questions that fit the skill levels
	TierUnscorable  int     `json:"tier_unscorable"` // of them, those the expert could not play
	Heldout         int     `json:"heldout"`         // questions of the evaluation
	HeldoutIn       int     `json:"heldout_in"`
	HeldoutRejected Reasons `json:"heldout_rejected"`
	Levels          []Level `json:"levels"`
}

// Level is one skill level of the filter and how it did on the train questions.
type Level struct {
	Name     string  `json:"name"`
	Attempts int     `json:"attempts"`
	Success  float64 `json:"success"` // fraction of attempts that were right
}

// FunnelStep is one narrowing. In = Passed + the sum of Rejected, all counted in InUnit; Out counts what the passed
// ones gave, in OutUnit: 96 questions may pass and give 141 pairs.
type FunnelStep struct {
	Name     string  `json:"name"`
	In       int     `json:"in"`
	InUnit   string  `json:"in_unit"`
	Passed   int     `json:"passed"`
	Rejected Reasons `json:"rejected"`
	Out      int     `json:"out"`
	OutUnit  string  `json:"out_unit"`
}

// SFT counts expert episodes: Episodes = Used + the sum of Dropped (expert_unscorable among the reasons).
type SFT struct {
	Episodes  int     `json:"episodes"`
	Used      int     `json:"used"`
	Dropped   Reasons `json:"dropped"`
	LossFirst float64 `json:"loss_first"` // mean negative log-likelihood of an assistant turn, nats
	LossLast  float64 `json:"loss_last"`
}

// DPO says what preference training did, or in Note why it was left out.
type DPO struct {
	Pairs   int     `json:"pairs"`
	Skipped bool    `json:"skipped"`
	Margin  float64 `json:"margin"` // mean implicit reward margin after training, nats; proves nothing alone
	Note    string  `json:"note"`
}

// Eval is held-out success of one set of weights.
type Eval struct {
	Name           string  `json:"name"` // base, sft, dpo, rl-2, rl-4 ...
	WeightsVersion int     `json:"weights_version"`
	N              int     `json:"n"`        // questions
	Attempts       int     `json:"attempts"` // per question, at T=1
	Success        float64 `json:"success"`  // mean over questions of the share of right attempts
	Lo             float64 `json:"lo"`       // 95 % interval, bootstrap over questions
	Hi             float64 `json:"hi"`
	Greedy         float64 `json:"greedy"` // success of the most probable continuation: sharpening does not move it
}

// RL holds the trainer's steps in order.
type RL struct {
	GroupSize int      `json:"group_size"`
	Steps     []RLStep `json:"steps"`
}

// RLStep is one trainer step and the batch it consumed.
type RLStep struct {
	Step           int     `json:"step"` // from 1
	WeightsVersion int     `json:"weights_version"`
	Groups         int     `json:"groups"`
	Samples        int     `json:"samples"`
	Tokens         int     `json:"tokens"`        // trained tokens, mask 1
	MixedShare     float64 `json:"mixed_share"`   // groups neither all right nor all wrong
	PivotShare     float64 `json:"pivot_share"`   // groups that continue a failed episode
	VersionMixed   int     `json:"version_mixed"` // groups whose trained tokens come from more than one version

	Reward        Reward              `json:"reward"`
	Phase         int                 `json:"phase"`        // of the coefficient schedule, from 1
	PhaseReason   string              `json:"phase_reason"` // which measured rate moved it at this step, "" when unmoved
	Coefficients  quarry.Coefficients `json:"coefficients"`
	VarianceShare *Shares             `json:"variance_share"` // null when the total does not vary

	MaskedFraction        float64    `json:"masked_fraction"` // of trained tokens, by the IcePop mask
	MaskedFractionEntropy *float64   `json:"masked_fraction_entropy"`
	Ratio                 Quantiles  `json:"ratio"`         // trainer probability over rollout probability, all trained tokens
	RatioEntropy          *Quantiles `json:"ratio_entropy"` // the same over tokens that had a choice (entropy > 0)
	Staleness             Staleness  `json:"staleness"`
}

// Reward is the mean over the step's scored episodes; null when no episode was scored for it.
type Reward struct {
	PRM      *float64 `json:"prm"`
	ORM      *float64 `json:"orm"`
	Tool     *float64 `json:"tool"`
	Format   *float64 `json:"format"`
	Total    *float64 `json:"total"`
	Unscored Reasons  `json:"unscored"` // episodes without a component, by reason
}

// Shares splits the variance of the total reward: cov(coefficient*component, total) / var(total). They sum to 1; one
// may be negative when it works against the rest.
type Shares struct {
	Tool   float64 `json:"tool"`
	Format float64 `json:"format"`
	PRM    float64 `json:"prm"`
	ORM    float64 `json:"orm"`
}

// Quantiles of a distribution.
type Quantiles struct {
	P01 float64 `json:"p01"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Staleness of a step's samples: trainer version at ship minus the oldest version of a trained token.
type Staleness struct {
	Max  int     `json:"max"`
	Mean float64 `json:"mean"`
}

// StalenessBin counts shipped samples of one staleness.
type StalenessBin struct {
	Staleness int `json:"staleness"`
	Samples   int `json:"samples"`
}

// Pivot counts failed episodes: Failed = Located + NotLocated, Located = Tasks + NoTask = the sum of ByClass.
type Pivot struct {
	Failed     int     `json:"failed"`
	Located    int     `json:"located"`
	Tasks      int     `json:"tasks"`
	ByClass    Reasons `json:"by_class"`
	NotLocated Reasons `json:"not_located"` // reasons
	NoTask     Reasons `json:"no_task"`     // reasons
}

// Counts are the coordinator's episodes by where they are.
type Counts struct {
	Dispatched   int     `json:"dispatched"`
	Acknowledged int     `json:"acknowledged"`
	Discarded    Reasons `json:"discarded"` // by reason
	Buffered     int     `json:"buffered"`
	Leased       int     `json:"leased"`
	InFlight     int     `json:"in_flight"`
}

// Conservation is dispatched minus everything that is accounted for: 0 when nothing was lost or counted twice.
func (c Counts) Conservation() int {
	return c.Dispatched - c.Acknowledged - c.Discarded.Sum() - c.Buffered - c.Leased - c.InFlight
}

// Dataset is one output directory.
type Dataset struct {
	Kind   string `json:"kind"` // Q1, S1, D1, R1, T1, ledger
	Path   string `json:"path"`
	Rows   int    `json:"rows"`
	SHA256 string `json:"sha256"` // of the manifest, hex
}

// Example is one held-out question that the last RL weights solve and the base did not.
type Example struct {
	QuestionID string     `json:"question_id"`
	Question   string     `json:"question"`
	Answer     string     `json:"answer"`
	Path       []Evidence `json:"path"`
	Base       Transcript `json:"base"`
	RL         Transcript `json:"rl"`
}

// Evidence is one hop of the path with the sentence that carries it. From and To are names, Relation is readable text.
type Evidence struct {
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
	Title    string `json:"title"` // of the document
	Sentence string `json:"sentence"`
}

// Transcript is one attempt at the example.
type Transcript struct {
	WeightsVersion int                `json:"weights_version"`
	Answer         string             `json:"answer"`
	Correct        bool               `json:"correct"`
	End            quarry.Termination `json:"end"`
	Messages       []quarry.Message   `json:"messages"`
}

// AllCached says that no stage was computed by this command.
func (d *Doc) AllCached() bool {
	for _, s := range d.Stages {
		if !s.Cached {
			return false
		}
	}
	return len(d.Stages) > 0
}

// JSON writes the document, indented, text left as it is (no HTML escapes), with a final newline. An empty list is [],
// never null.
func JSON(w io.Writer, d *Doc) error {
	if err := d.finite(); err != nil {
		return err
	}
	c := *d
	c.Stages, c.Funnel, c.Eval = listed(c.Stages), listed(c.Funnel), listed(c.Eval)
	c.RL.Steps, c.Filter.Levels = listed(c.RL.Steps), listed(c.Filter.Levels)
	c.Staleness, c.Datasets = listed(c.Staleness), listed(c.Datasets)
	c.Notes, c.Next = listed(c.Notes), listed(c.Next)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&c)
}

func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
