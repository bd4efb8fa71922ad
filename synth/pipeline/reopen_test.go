package pipeline

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/near"
)

// A folder's settings are enough to draw its candidates again: accepted ones byte for byte, rejected ones with their text.
func TestReopen(t *testing.T) {
	g := wiki(t)
	for name, o := range map[string]Options{
		"defaults": {},
		"all of them": {Seed: 1<<64 - 1, Hops: 3, Beta: 2.5, MinDocs: -1, MaxDegree: 400, HubDocs: 300, Backtracks: 9, Necessity: N2, Leaf: 4, Conditions: 2, NoSets: true, Margin: 1,
			Independent: true, K: 12, Queries: 2, ToolCalls: 30, AsOf: "2030", StaleYears: 7, PerAnswer: 1, PerAnchor: 2, Skip: []near.Rule{near.RuleText, near.RuleDocuments}, License: "CC0-1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o.MaxWalks, o.Wording, o.Policy = 600, "plain", "half"
			half := judge(func(q *quarry.Question) Verdict {
				if q.ID[len(q.ID)-1]%2 == 0 {
					return Verdict{Reason: "even"}
				}
				return Verdict{}
			})
			must[Report](t)(Run(t.Context(), g, dir, o, Hooks{Writer: plain{}, Filter: half}))
			s := must[*Space](t)(Reopen(g, dir, Hooks{Writer: plain{}}))
			qs := questionsIn(t, dir)
			drawn := 0
			err := Entries(dir, func(e Entry) error {
				c := must[Candidate](t)(s.Candidate(t.Context(), e.Walk))
				switch e.Stage {
				case "":
					a, b := must[[]byte](t)(json.Marshal(qs[0])), must[[]byte](t)(json.Marshal(c.Question))
					if qs = qs[1:]; !bytes.Equal(a, b) {
						t.Errorf("walk %d:\n%s\n%s", e.Walk, a, b)
					}
				case StageLeak, StageSingle, StageUnique, StagePolicy:
					if drawn++; c.Drawn == nil || c.Drawn.Text == "" {
						t.Errorf("walk %d has no text", e.Walk)
					}
				default:
					if c.Drawn != nil || c.Reason != e.Reason {
						t.Errorf("walk %d: %s, was %s", e.Walk, c.Reason, e.Reason)
					}
				}
				return nil
			})
			if err != nil || drawn == 0 || len(qs) != 0 {
				t.Errorf("%d drawn again, %d left: %v", drawn, len(qs), err)
			}
		})
	}
	dir := t.TempDir()
	if _, err := Reopen(g, dir, Hooks{Writer: plain{}}); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("an empty folder: %v", err)
	}
	must[Report](t)(Run(t.Context(), g, dir, Options{MaxWalks: 1, Starts: []uint32{1, 2}}, Hooks{Writer: plain{}}))
	if _, err := Reopen(g, dir, Hooks{Writer: plain{}}); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "starts") {
		t.Errorf("a list of starts: %v", err)
	}
	if _, err := Reopen(facts(t, base()...), dir, Hooks{Writer: plain{}}); quarry.KindOf(err) != quarry.KindConflict {
		t.Errorf("another graph: %v", err)
	}
}
