package rollout

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	quarry "github.com/quarry-rl/quarry"
)

var when = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// The forms that journals on disk have. A change here is a new schema version.
func TestEventForms(t *testing.T) {
	cfg := Config{RunID: "r", Seed: 7, StartVersion: 2, GroupSize: 8, MinValid: 2, GroupsPerBatch: 4, TotalBatches: 10, MaxConcurrent: 64,
		MaxRetries: 2, MaxStaleness: 4, MaxVersionSpread: 3, Eta: 1, EpisodeTimeout: time.Minute, StopAfterFailed: 32, StopAfterDiscarded: 40}
	cfgJSON := `{"config":{"run_id":"r","seed":7,"start_version":2,"group_size":8,"min_valid":2,"groups_per_batch":4,"total_batches":10,"max_concurrent":64,"max_retries":2,"max_staleness":4,"max_version_spread":3,"eta":1,"episode_timeout":60000000000,"stop_after_failed":32,"stop_after_discarded":40}}`
	tests := map[string]struct {
		body Body
		data string
	}{
		"started":     {Started{cfg}, cfgJSON},
		"resumed":     {Resumed{cfg}, cfgJSON},
		"admitted":    {Admitted{3, "t3", "ab"}, `{"group":3,"task_id":"t3","task":"ab"}`},
		"tasks_ended": {TasksEnded{4, "no more"}, `{"group":4,"msg":"no more"}`},
		"finished":    {Finished{3, 1, 2, "cd", 5, 6, quarry.FailPolicy}, `{"group":3,"sample":1,"attempt":2,"episode":"cd","oldest":5,"newest":6,"failure":"policy"}`},
		"failed":      {Failed{3, 1, 2, ReasonInfra, quarry.KindUnavailable, true, "down"}, `{"group":3,"sample":1,"attempt":2,"reason":"infra","err_kind":"unavailable","permanent":true,"msg":"down"}`},
		"leased":      {Leased{1, 2, 5, []int{3, 4}, []Drop{{2, ReasonStale}}}, `{"batch":1,"token":2,"version":5,"groups":[3,4],"dropped":[{"group":2,"reason":"stale"}]}`},
		"dropped":     {Dropped{[]Drop{{2, ReasonVersionSpread}}}, `{"dropped":[{"group":2,"reason":"version_spread"}]}`},
		"acked":       {Acked{1, 2, 6, json.RawMessage(`{"step":1}`)}, `{"batch":1,"token":2,"version":6,"record":{"step":1}}`},
		"published":   {Published{6}, `{"version":6}`},
		"drained":     {Drained{}, `{}`},
	}
	for kind, tc := range tests {
		t.Run(kind, func(t *testing.T) {
			want := `{"v":1,"kind":"` + kind + `","at":"2026-01-02T03:04:05.000000006Z","data":` + tc.data + `}`
			got, err := json.Marshal(Event{when, tc.body})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, string(got)); d != "" {
				t.Error(d)
			}
			var back Event
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(Event{when, tc.body}, back); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEventRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"newer version": `{"v":2,"kind":"published","at":"2026-01-02T03:04:05Z","data":{"version":1}}`,
		"unknown kind":  `{"v":1,"kind":"exploded","at":"2026-01-02T03:04:05Z","data":{}}`,
		"unknown field": `{"v":1,"kind":"published","at":"2026-01-02T03:04:05Z","data":{"version":1,"by":"x"}}`,
		"wrong type":    `{"v":1,"kind":"published","at":"2026-01-02T03:04:05Z","data":{"version":"1"}}`,
		"no data":       `{"v":1,"kind":"published","at":"2026-01-02T03:04:05Z"}`,
		"a list":        `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			var e Event
			err := json.Unmarshal([]byte(text), &e)
			if quarry.KindOf(err) != quarry.KindCorrupt {
				t.Errorf("kind %q: %v", quarry.KindOf(err), err)
			}
		})
	}
	if _, err := json.Marshal(Event{}); err == nil || !strings.Contains(err.Error(), "no body") {
		t.Errorf("an event without body: %v", err)
	}
}

// Whatever decodes has one stable form.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"acked","at":"2026-01-02T03:04:05Z","data":{"batch":1,"token":2,"version":6,"record":{"a":"<b>"}}}`))
	f.Add([]byte(`{"v":1,"kind":"leased","at":"2026-01-02T03:04:05Z","data":{"groups":[1,-2],"dropped":[]}}`))
	f.Add([]byte(`{"v":1,"kind":"finished","at":"2026-01-02T03:04:05+01:00","data":{"group":-1}}`))
	f.Add([]byte(`{"v":1,"kind":"failed","at":"x","data":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e, again Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		first, err := json.Marshal(e)
		if err != nil {
			return // a time beyond year 9999 has no form
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s\n%v", first, second, err)
		}
		m := NewMachine() // no event, however odd, may panic the machine
		m.Apply(e)
		m.Apply(Event{when, Started{DefaultConfig(2)}})
		m.Apply(Event{when, Admitted{Group: 0}})
		m.Apply(e)
		if c := m.Counts().Conservation(); c != 0 {
			t.Fatalf("conservation %d after %s", c, first)
		}
	})
}
