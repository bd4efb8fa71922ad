package tiers

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

var sameDecision = cmpopts.IgnoreUnexported(Tally{})

// troubled is a model with errors: what becomes of an attempt depends on the attempt only.
func troubled(seed uint64, rate, errors float64) script {
	return func(it *Item, a Attempt) Outcome {
		switch x := draw(seed, it.Question.ID, a, "error"); {
		case x < errors/2:
			return Outcome{Result: Timeout}
		case x < errors*.98:
			return Outcome{Result: Error, Kind: ErrRateLimit, Detail: "429"}
		case x < errors:
			return Outcome{Result: Error, Kind: ErrTooLong}
		}
		return model(seed, func(Attempt) float64 { return rate })(it, a)
	}
}

// anyRules are rules with all stages that ask.
func anyRules(t *rapid.T) Rules {
	r, err := Preset("apodex", "a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	r.Retries = rapid.IntRange(0, 5).Draw(t, "retries")
	r.Closed.Strict = rapid.Bool().Draw(t, "strict")
	r.Closed.Tau = .9
	r.Oracle.Right = 1
	r.Panel.OpenAbove = rapid.SampledFrom([]float64{0, .75}).Draw(t, "open")
	r.Band = Band(rapid.SampledFrom(r.Tiers).Draw(t, "policy"))
	r.Plausibility.Judge = &Ask{Steps: []int{1, 3}, Quorum: 1}
	if rapid.Bool().Draw(t, "free first") {
		r.Order = FreeFirst()
	}
	for name, a := range r.asks() {
		if rapid.Bool().Draw(t, "off "+name) {
			a.Steps, a.Quorum = []int{1}, 1
		}
	}
	return r
}

// Outcomes in any order, with a stop and a replay through JSON between any two of them, give the decision of attempts
// made one after the other, from the same attempts.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRules(t)
		s := troubled(rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 1).Draw(t, "rate"), rapid.Float64Range(0, .6).Draw(t, "errors"))
		it := item("q")
		want, made := driveRapid(t, r, it, s)

		m := NewMachine(&r, it)
		var recorded []Outcome
		for {
			if rapid.IntRange(0, 4).Draw(t, "kill") == 0 { // what was in flight is lost, what was recorded is not
				m = NewMachine(&r, it)
				for _, i := range rapid.Permutation(indices(len(recorded))).Draw(t, "replay") {
					data, _ := json.Marshal(recorded[i])
					var o Outcome
					if err := json.Unmarshal(data, &o); err != nil {
						t.Fatal(err)
					}
					if err := m.Add(o); err != nil {
						t.Fatal(err)
					}
				}
			}
			need, d := m.Next()
			if d != nil {
				if diff := cmp.Diff(want, d, sameDecision); diff != "" {
					t.Fatal(diff)
				}
				if len(recorded) != len(made) {
					t.Fatalf("%d attempts, %d in a row", len(recorded), len(made))
				}
				return
			}
			need = rapid.Permutation(need).Draw(t, "order")
			for _, a := range need[:rapid.IntRange(0, len(need)).Draw(t, "back")] {
				o := s(it, a)
				o.Question, o.Mode, o.Tier, o.N = "q", a.Mode, a.Tier, a.N
				if err := m.Add(o); err != nil {
					t.Fatal(err)
				}
				recorded = append(recorded, o)
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func driveRapid(t *rapid.T, r Rules, it *Item, s script) (*Decision, []Outcome) {
	m := NewMachine(&r, it)
	var made []Outcome
	for {
		need, d := m.Next()
		if (d == nil) == (len(need) == 0) {
			t.Fatalf("%d attempts and decision %v", len(need), d)
		}
		if d != nil {
			return d, made
		}
		for _, a := range need {
			o := s(it, a)
			o.Question, o.Mode, o.Tier, o.N = it.Question.ID, a.Mode, a.Tier, a.N
			if err := m.Add(o); err != nil {
				t.Fatal(err)
			}
			made = append(made, o)
		}
	}
}

// No question costs more than MostAttempts says, retries aside.
func TestMostAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRules(t)
		_, made := driveRapid(t, r, item("q"), troubled(rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 1).Draw(t, "rate"), 0))
		n := map[string]int{}
		for _, o := range made {
			n[o.Tier]++
		}
		most := r.MostAttempts()
		for tier, k := range n {
			if k > most[tier] {
				t.Fatalf("%d attempts by %s, at most %d were announced", k, tier, most[tier])
			}
		}
	})
}

func TestAdd(t *testing.T) {
	r := preset(t, "tongyi", "m")
	m := NewMachine(&r, item("q"))
	ok := Outcome{Question: "q", Mode: ModeFull, Tier: "m", Result: Right}
	for name, change := range map[string]func(*Outcome){
		"mode":         func(o *Outcome) { o.Mode = "guess" },
		"negative":     func(o *Outcome) { o.N = -1 },
		"huge":         func(o *Outcome) { o.N = 1 << 40 },
		"no result":    func(o *Outcome) { o.Result = "" },
		"kind":         func(o *Outcome) { o.Result, o.Kind = Error, "bad luck" },
		"kind of none": func(o *Outcome) { o.Kind = ErrOther },
		"vote":         func(o *Outcome) { o.Votes = []Vote{"abstain"} },
	} {
		o := ok
		change(&o)
		if err := m.Add(o); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	steps := []struct {
		o    Outcome
		want bool
	}{
		{Outcome{Result: Timeout}, true}, {Outcome{Result: Error, Kind: ErrOther}, true}, // failed again
		{ok, true}, {ok, true}, // in place of the error; twice the same
		{Outcome{Result: Timeout}, true}, // older news
		{Outcome{Result: Wrong}, false},  // two stories
	}
	for i, s := range steps {
		s.o.Question, s.o.Mode, s.o.Tier = "q", ModeFull, "m"
		if err := m.Add(s.o); (err == nil) != s.want {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if got := m.cells[key{ModeFull, "m"}][0]; got.Result != Right {
		t.Errorf("the attempt is %s", got.Result)
	}
}

// What was recorded under other rules is decided anew without a call.
func TestOtherRules(t *testing.T) {
	r := preset(t, "apodex", "a", "b", "c")
	_, made := drive(t, r, item("q"), counted(map[string]int{"oracle c": 4, "full c": 9}))
	other := preset(t, "deepdive", "a", "b", "c")
	m := NewMachine(&other, item("q"))
	for _, o := range made {
		if err := m.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	need, d := m.Next()
	if d == nil || d.Reason != ReasonAlways || d.Difficulty.Tiers[0].Scored != 4 {
		t.Errorf("%v, %+v", need, d)
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Rules){
		"no tier":          func(r *Rules) { r.Tiers = nil },
		"same tier":        func(r *Rules) { r.Tiers[1] = r.Tiers[0] },
		"the judge's name": func(r *Rules) { r.Tiers[1] = JudgeTier },
		"two tiers":        func(r *Rules) { r.Tiers = r.Tiers[:2] },
		"retries":          func(r *Rules) { r.Retries = -1 },
		"half an order":    func(r *Rules) { r.Order = Order()[1:] },
		"stage twice":      func(r *Rules) { r.Order = append(Order()[1:], StageBand) },
		"no steps":         func(r *Rules) { r.Panel.Steps = nil },
		"descending":       func(r *Rules) { r.Panel.Steps = []int{8, 4} },
		"quorum":           func(r *Rules) { r.Panel.Quorum = 5 },
		"no quorum":        func(r *Rules) { r.Single.Quorum = 0 },
		"oracle":           func(r *Rules) { r.Oracle.Right = 5 },
		"cold":             func(r *Rules) { r.Closed.Temperature = 0 },
		"tau":              func(r *Rules) { r.Closed.Tau = 1 },
		"max_low":          func(r *Rules) { r.Panel.MaxLow = 0 },
		"first":            func(r *Rules) { r.Panel.First = 3 },
		"band":             func(r *Rules) { r.Band = Band("d") },
		"band turned":      func(r *Rules) { r.Band = Band("a"); r.Band.Lo = .6 },
	} {
		r := preset(t, "apodex", "a", "b", "c")
		change(&r)
		if err := r.Validate(); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range [][]string{{"nobody", "a"}, {"apodex", "a", "b"}, {"tongyi"}} {
		if _, err := Preset(c[0], c[1:]...); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestDifficultyJSON(t *testing.T) {
	r := preset(t, "openseeker", "m")
	d, _ := drive(t, r, item("q1"), results("tr"))
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"question":"q1","state":"rejected","stage":"closed_book","reason":"closed_book","detail":"1 of 1 right without a tool, limit 0","difficulty":{"rules":"openseeker",` +
		`"oracle":{"tier":"m","right":1,"scored":1,"lo":0.025,"hi":1,"errors":{"timeout":1}},` +
		`"closed_book":{"tier":"m","right":1,"scored":1,"lo":0.025,"hi":1,"errors":{"timeout":1}}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
