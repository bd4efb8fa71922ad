package rewards

import (
	"fmt"

	"github.com/quarry-rl/quarry"
)

// Phase is a stretch of training with its coefficients.
type Phase struct {
	Name         string              `json:"name"`
	Coefficients quarry.Coefficients `json:"coefficients"`
}

// Thresholds are the rates at which phases end: the first on Tool, the second on Format, the third on PRM.
type Thresholds struct {
	Tool   float64 `json:"tool"`
	Format float64 `json:"format"`
	PRM    float64 `json:"prm"`
}

// Schedule is the reward curriculum of the MindDR report: tool use first, then format, then evidence, then the outcome.
// Start and end are published (the end by a third party); thresholds and the vectors between are quarry's.
type Schedule struct {
	Phases     []Phase    `json:"phases"` // exactly four
	Thresholds Thresholds `json:"thresholds"`
	Window     int        `json:"window"` // consecutive steps a rate must hold its threshold
}

// ScheduleState is where a run stands in its schedule; it is stored with the run. The zero value is the start.
type ScheduleState struct {
	Phase    int    `json:"phase"`
	LastStep int    `json:"last_step"` // newest observed step; older observations are ignored
	Streaks  [3]int `json:"streaks"`   // consecutive steps at or above the threshold: tool, format, PRM
}

// Rates are what one step measured. An unscored rate neither lengthens nor breaks a streak.
type Rates struct {
	Tool   quarry.Score `json:"tool"`   // share of tool calls that succeeded
	Format quarry.Score `json:"format"` // share of turns that were well formed
	PRM    quarry.Score `json:"prm"`    // mean entity coverage
}

// PhaseChange is one move of the schedule with its evidence.
type PhaseChange struct {
	Step         int                 `json:"step"` // the observed step; the new coefficients hold from the next one
	From         string              `json:"from"`
	To           string              `json:"to"`
	Metric       string              `json:"metric"`
	Rate         float64             `json:"rate"`
	Threshold    float64             `json:"threshold"`
	Streak       int                 `json:"streak"`
	Rates        Rates               `json:"rates"`
	Coefficients quarry.Coefficients `json:"coefficients"`
}

// DefaultSchedule is the schedule that runs use unless a spec says otherwise.
func DefaultSchedule() Schedule {
	return Schedule{
		Phases: []Phase{
			{"start", quarry.Coefficients{Tool: 0.6, Format: 0.3, PRM: 0.1}},
			{"tool_saturated", quarry.Coefficients{Tool: 0.1, Format: 0.3, PRM: 0.4, ORM: 0.2}},
			{"format_stable", quarry.Coefficients{Format: 0.1, PRM: 0.35, ORM: 0.55}},
			{"outcome", quarry.Coefficients{PRM: 0.3, ORM: 0.7}},
		},
		Thresholds: Thresholds{Tool: 0.9, Format: 0.95, PRM: 0.5},
		Window:     1,
	}
}

// Validate refuses (KindInvalid) any number of phases but four, coefficients that do not sum to 1, thresholds outside
// (0, 1] and windows below 1.
func (s Schedule) Validate() error {
	invalid := func(subject, hint, format string, args ...any) error {
		return &quarry.Error{Op: "schedule", Kind: quarry.KindInvalid, Subject: subject, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	if len(s.Phases) != 4 {
		return invalid("phases", "give one phase before each of the three thresholds and one after the last",
			"%d phases, must be 4", len(s.Phases))
	}
	names := map[string]bool{}
	for i, p := range s.Phases {
		subject := fmt.Sprintf("phases[%d]", i)
		if p.Name == "" || names[p.Name] {
			return invalid(subject+".name", "give every phase a name of its own", "%q is empty or used twice", p.Name)
		}
		names[p.Name] = true
		if err := CheckCoefficients(p.Coefficients); err != nil {
			return &quarry.Error{Op: "schedule", Kind: quarry.KindInvalid, Subject: subject, Err: err}
		}
	}
	for _, g := range s.gates(Rates{}) {
		if !(g.threshold > 0 && g.threshold <= 1) {
			return invalid("thresholds."+g.metric, "a rate is a share: use a number like 0.9", "%v is not in (0, 1]", g.threshold)
		}
	}
	if s.Window < 1 {
		return invalid("window", "1 moves on the first step that reaches the threshold", "%d, must be at least 1", s.Window)
	}
	return nil
}

// CheckState refuses (KindCorrupt) a stored state that does not fit this schedule.
func (s Schedule) CheckState(st ScheduleState) error {
	if st.Phase < 0 || st.Phase >= len(s.Phases) {
		return &quarry.Error{Op: "schedule", Kind: quarry.KindCorrupt, Subject: "state.phase",
			Msg:  fmt.Sprintf("%d, the schedule has %d phases", st.Phase, len(s.Phases)),
			Hint: "the state was stored by another schedule; start the stage afresh"}
	}
	return nil
}

// Current is the phase a state is in. A state that CheckState refuses gives the nearest phase.
func (s Schedule) Current(st ScheduleState) Phase {
	if len(s.Phases) == 0 {
		return Phase{}
	}
	return s.Phases[min(max(st.Phase, 0), len(s.Phases)-1)]
}

// Observe takes the rates of one step (steps count from 1) and gives the state after it, with the change if the phase moved: by one phase a
// step at most, never back. A step not newer than the last observed one changes nothing, so a replay is harmless.
func (s Schedule) Observe(st ScheduleState, step int, rates Rates) (ScheduleState, *PhaseChange) {
	if step <= st.LastStep {
		return st, nil
	}
	st.LastStep = step
	gates := s.gates(rates)
	for i, g := range gates {
		switch {
		case !usable(g.rate):
		case g.rate.Value >= g.threshold:
			st.Streaks[i]++
		default:
			st.Streaks[i] = 0
		}
	}
	at := st.Phase
	if at < 0 || at >= len(gates) || at+1 >= len(s.Phases) {
		return st, nil
	}
	g := gates[at]
	if !usable(g.rate) || g.rate.Value < g.threshold || st.Streaks[at] < s.Window {
		return st, nil
	}
	st.Phase++
	return st, &PhaseChange{
		Step: step, From: s.Phases[at].Name, To: s.Phases[at+1].Name, Metric: g.metric, Rate: g.rate.Value,
		Threshold: g.threshold, Streak: st.Streaks[at], Rates: rates, Coefficients: s.Phases[at+1].Coefficients,
	}
}

// gate is what must be reached to leave the phase of the same index.
type gate struct {
	metric    string
	rate      quarry.Score
	threshold float64
}

func (s Schedule) gates(r Rates) [3]gate {
	return [3]gate{
		{"tool", r.Tool, s.Thresholds.Tool},
		{"format", r.Format, s.Thresholds.Format},
		{"prm", r.PRM, s.Thresholds.PRM},
	}
}

// MeasureRates takes the rates of one step from its episodes and their cards. Calls that failed by infrastructure are
// no calls; a rate of nothing is unscored.
func MeasureRates(eps []*quarry.Episode, cards []quarry.Scorecard) Rates {
	var calls, ok, turns, formed, covered int
	coverage := 0.0
	for _, ep := range eps {
		for _, t := range ep.Thread.Turns {
			turns++
			if t.FormatOK {
				formed++
			}
			for _, ev := range t.Events {
				if ev.Status == quarry.ToolInfra {
					continue
				}
				calls++
				if ev.Status == quarry.ToolOK {
					ok++
				}
			}
		}
	}
	for _, c := range cards {
		if usable(c.PRM) {
			covered++
			coverage += c.PRM.Value
		}
	}
	return Rates{
		Tool:   share(float64(ok), calls, "no_calls"),
		Format: share(float64(formed), turns, ReasonNoTurns),
		PRM:    share(coverage, covered, ReasonNoEntities),
	}
}

func share(sum float64, n int, reason string) quarry.Score {
	if n == 0 {
		return quarry.Unscored(reason)
	}
	return quarry.ScoreOf(sum / float64(n))
}
