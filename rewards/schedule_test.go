package rewards

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func rates(tool, format, prm float64) Rates {
	return Rates{Tool: quarry.ScoreOf(tool), Format: quarry.ScoreOf(format), PRM: quarry.ScoreOf(prm)}
}

func TestScheduleReachesTheOutcomeByStep3(t *testing.T) {
	s := DefaultSchedule()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var st ScheduleState
	var names []string
	var weights []float64
	for step := 1; step <= 5; step++ {
		names, weights = append(names, s.Current(st).Name), append(weights, s.Current(st).Coefficients.ORM)
		st, _ = s.Observe(st, step, rates(.95, 1, .6))
	}
	if diff := cmp.Diff([]string{"start", "tool_saturated", "format_stable", "outcome", "outcome"}, names); diff != "" {
		t.Error(diff)
	}
	if weights[2] < .5 {
		t.Errorf("ORM weight in step 3 is %v", weights[2])
	}
}

func TestScheduleEvidence(t *testing.T) {
	s := DefaultSchedule()
	st, change := s.Observe(ScheduleState{}, 4, rates(.9, .1, .2))
	want := &PhaseChange{Step: 4, From: "start", To: "tool_saturated", Metric: "tool", Rate: .9, Threshold: .9, Streak: 1,
		Rates: rates(.9, .1, .2), Coefficients: quarry.Coefficients{Tool: .1, Format: .3, PRM: .4, ORM: .2}}
	if diff := cmp.Diff(want, change); diff != "" {
		t.Error(diff)
	}
	if again, c := s.Observe(st, 4, rates(1, 1, 1)); c != nil || again != st {
		t.Errorf("a replayed step moved the phase: %+v", c)
	}
	if same, c := s.Observe(st, 5, rates(0, .94, 1)); c != nil || same.Phase != 1 {
		t.Errorf("moved back or on without reason: %+v", c)
	}
}

func TestScheduleWindow(t *testing.T) {
	s := DefaultSchedule()
	s.Window = 2
	unmeasured := Rates{Tool: quarry.Unscored("no_calls"), Format: quarry.ScoreOf(1), PRM: quarry.ScoreOf(1)}
	var st ScheduleState
	var phases []int
	for i, r := range []Rates{rates(.95, 1, 1), rates(.8, 1, 1), rates(.95, 1, 1), unmeasured, rates(.95, 1, 1), rates(0, 1, 1), rates(0, 1, 1)} {
		st, _ = s.Observe(st, i+1, r)
		phases = append(phases, st.Phase)
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0, 1, 2, 3}, phases); diff != "" {
		t.Error(diff)
	}
}

// Storing and reading back the state between any two steps changes nothing; phases go up by at most one and never back.
func TestScheduleSurvivesRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := DefaultSchedule()
		s.Window = rapid.IntRange(1, 3).Draw(t, "window")
		var st, stored ScheduleState
		for step := 1; step <= 12; step++ {
			v := rapid.Float64Range(0.4, 1)
			r := rates(v.Draw(t, "tool"), v.Draw(t, "format"), v.Draw(t, "prm"))
			before := st.Phase
			var change *PhaseChange
			st, change = s.Observe(st, step, r)
			raw, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			var read ScheduleState
			if err := json.Unmarshal(raw, &read); err != nil {
				t.Fatal(err)
			}
			stored, _ = s.Observe(read, step, r)
			if stored != st {
				t.Fatalf("restarted %+v, went on %+v", stored, st)
			}
			if st.Phase < before || st.Phase > before+1 || (change != nil) != (st.Phase == before+1) {
				t.Fatalf("phase %d to %d, change %+v", before, st.Phase, change)
			}
			if change != nil && change.Rate < change.Threshold {
				t.Fatalf("moved on %+v", change)
			}
		}
	})
}

func TestScheduleRefuses(t *testing.T) {
	for name, change := range map[string]func(*Schedule){
		"three phases":   func(s *Schedule) { s.Phases = s.Phases[:3] },
		"no phase":       func(s *Schedule) { s.Phases = nil },
		"same name":      func(s *Schedule) { s.Phases[1].Name = "start" },
		"sum":            func(s *Schedule) { s.Phases[3].Coefficients.ORM = .6 },
		"threshold 0":    func(s *Schedule) { s.Thresholds.PRM = 0 },
		"threshold > 1":  func(s *Schedule) { s.Thresholds.Tool = 90 },
		"no window":      func(s *Schedule) { s.Window = 0 },
		"negative share": func(s *Schedule) { s.Phases[0].Coefficients = quarry.Coefficients{Tool: -1, ORM: 2} },
	} {
		s := DefaultSchedule()
		change(&s)
		if err := s.Validate(); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := DefaultSchedule()
	if err := s.CheckState(ScheduleState{Phase: 4}); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("phase 4: %v", err)
	}
	if err := s.CheckState(ScheduleState{Phase: 3}); err != nil {
		t.Error(err)
	}
	if st, c := s.Observe(ScheduleState{Phase: -1}, 1, rates(1, 1, 1)); c != nil || st.Phase != -1 {
		t.Errorf("phase -1 moved: %+v", c)
	}
}

func TestMeasureRates(t *testing.T) {
	a, b := sequence("SFI-"), sequence("SS")
	b.Thread.Turns[0].FormatOK = false
	got := MeasureRates([]*quarry.Episode{a, b}, []quarry.Scorecard{card(0, 0, .5, 0), {PRM: quarry.Unscored(ReasonNoEntities)}, card(0, 0, 1, 0)})
	if !near(got.Tool.Value, 3./4) || !near(got.Format.Value, 5./6) || !near(got.PRM.Value, .75) {
		t.Errorf("%+v", got)
	}
	if got := MeasureRates([]*quarry.Episode{sequence("I")}, nil); got.Tool.Scored || !got.Format.Scored || got.PRM.Scored {
		t.Errorf("nothing measured: %+v", got)
	}
}
