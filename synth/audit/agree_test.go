package audit

import (
	"fmt"
	"math"
	"testing"

	"github.com/quarry-rl/quarry/synth/pipeline"
)

// kappa of the textbook's table: of 50 cases both say yes 20 times, both no 15 times, A alone 5 times, B alone 10 times.
func TestKappa(t *testing.T) {
	tests := []struct {
		name       string
		a, b       string // a letter for each case; a blank is none
		rows, same int
		kappa      float64
	}{
		{"textbook", repeated("gggggggggggggggggggg", "ggggg", "bbbbbbbbbb", "bbbbbbbbbbbbbbb"), repeated("gggggggggggggggggggg", "bbbbb", "gggggggggg", "bbbbbbbbbbbbbbb"), 50, 35, .4},
		{"the same", "gbu", "gbu", 3, 3, 1},
		{"the other way round", "gb", "bg", 2, 0, -1},
		{"one word for all", "ggg", "ggg", 3, 3, math.NaN()},
		{"by chance", "gggg", "gbgb", 4, 2, 0},
		{"some only", "g bu ", "gb ug", 2, 2, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var rs []Record
			for who, s := range map[string]string{"Ann": test.a, "Bo": test.b} {
				for i, c := range s {
					if v, ok := map[rune]Verdict{'g': Good, 'b': Bad, 'u': Unsure}[c]; ok {
						rs = append(rs, Record{Line: fmt.Sprint(i), State: pipeline.Accepted, Reviewer: who, Verdict: v})
					}
				}
			}
			a := Agree(rs)
			if len(a.Pairs) != 1 {
				t.Fatalf("%+v", a.Pairs)
			}
			p := a.Pairs[0]
			if p.A != "Ann" || p.B != "Bo" || p.Rows != test.rows || p.Agreed != test.same || math.IsNaN(test.kappa) != (p.Kappa == nil) || p.Kappa != nil && math.Abs(*p.Kappa-test.kappa) > 1e-12 {
				t.Errorf("%+v", p)
			}
		})
	}
}

func repeated(parts ...string) string {
	out := ""
	for _, p := range parts {
		out += p
	}
	return out
}

func TestAgree(t *testing.T) {
	var rs []Record
	say := func(line, who string, v Verdict, f Fault, why pipeline.Reason) {
		r := Record{Line: line, State: pipeline.Accepted, Reviewer: who, Verdict: v, Fault: f, Reason: why}
		if why != "" {
			r.State = pipeline.Rejected
		}
		rs = append(rs, r)
	}
	for i := range 10 {
		say(fmt.Sprint("a", i), "Ann", Good, "", "")
	}
	say("a0", "Ann", Bad, "unclear", "") // thinks again
	say("a1", "Bo", Bad, "", "")         // differs
	say("a2", "Bo", Good, "", "")
	say("a10", "Bo", Unsure, "", "")
	say("r0", "Ann", Good, "", pipeline.SingleQuery)
	say("r1", "Ann", Bad, "too_easy", pipeline.SingleQuery)
	say("r2", "Bo", Bad, "duplicate", pipeline.NearText)
	a := Agree(rs)
	if a.Verdicts != 16 || len(a.Reviewers) != 2 || a.Accepted.Rows != 11 || a.Accepted.Good != 8 || a.Accepted.Bad != 1 || a.Accepted.Unsure != 1 || a.Accepted.Disputed != 1 {
		t.Errorf("%+v", a)
	}
	// Clopper and Pearson's 95 % interval of 8 of 9
	if a.Accepted.Share == nil || math.Abs(*a.Accepted.Share-8./9) > 1e-12 || math.Abs(a.Accepted.Low-.517503) > 1e-5 || math.Abs(a.Accepted.High-.997191) > 1e-5 {
		t.Errorf("%v, %f to %f", a.Accepted.Share, a.Accepted.Low, a.Accepted.High)
	}
	if len(a.Reasons) != 2 || a.Reasons[0].Reason != pipeline.NearText || a.Reasons[1].Good != 1 || a.Reasons[1].Bad != 1 || a.Rejected.Rows != 3 {
		t.Errorf("%+v", a.Reasons)
	}
	if a.Faults["unclear"] != 1 || a.Faults["unstated"] != 1 || a.Faults["too_easy"] != 1 || len(a.Faults) != 4 {
		t.Errorf("%v", a.Faults)
	}
	if none := Agree(nil); none.Accepted.Share != nil || none.Accepted.Low != 0 || none.Accepted.High != 1 || none.Pairs == nil {
		t.Errorf("%+v", none)
	}
}
