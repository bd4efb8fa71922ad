package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/store"
)

var update = flag.Bool("update", false, "record the digests of the stages anew")

// made is what a stage made under a key.
type made struct {
	Key    string `json:"key"`
	Digest string `json:"digest"`
}

// The stages of the shared run give what is recorded for their keys. A key stands for one output: whoever changes what
// a stage makes must change its key too, or users keep being served cached output of the old code. Weights are left out
// and datasets are compared by their rows: neither a processor's rounding nor a compression library is logic.
func TestStagesGiveWhatIsRecordedForTheirKeys(t *testing.T) {
	var names = []string{"kg", "synth", "filter", "sft", "dpo"}
	got := map[string]made{}
	for _, name := range names {
		var rec struct {
			Key string `json:"key"`
		}
		dir := shared(t, name)
		if data, err := os.ReadFile(filepath.Join(dir, "stage.json")); err != nil || json.Unmarshal(data, &rec) != nil {
			t.Fatalf("stage.json of %s: %v", name, err)
		}
		m := made{Key: rec.Key}
		switch name {
		case "kg":
			m.Digest = hashed(t, fileSHA(t, filepath.Join(dir, store.GraphFile)), fileSHA(t, filepath.Join(dir, kg.IndexFile)))
		case "synth":
			m.Digest = hashed(t, fileSHA(t, filepath.Join(dir, QuestionsFile)), fileSHA(t, filepath.Join(dir, LedgerFile)), rows[datasets.Q1](t, filepath.Join(dir, "q1")))
		case "filter":
			m.Digest = hashed(t, fileSHA(t, filepath.Join(dir, KeptFile)), fileSHA(t, filepath.Join(dir, FilterLedgerFile)), rows[datasets.R1](t, filepath.Join(dir, "r1")))
		case "sft":
			m.Digest = hashed(t, rows[datasets.S1](t, filepath.Join(dir, "s1")))
		case "dpo":
			m.Digest = hashed(t, rows[datasets.D1](t, filepath.Join(dir, "d1")))
		}
		got[name] = m
	}
	path := filepath.Join("testdata", "digests.json")
	want := map[string]made{}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, name := range names {
		g, w := got[name], want[name]
		switch {
		case g == w:
		case g.Key == w.Key:
			t.Errorf("stage %s makes something else under the same key. Bump logic%s in run.go (or what else of its code stands in its key), then record with -update", name, map[string]string{
				"kg": "KG", "synth": "Synth", "filter": "Filter", "sft": "SFT", "dpo": "DPO"}[name])
		case !*update:
			t.Errorf("stage %s has the key %.12s and the digest %.12s, recorded are %.12s and %.12s. If that is meant, record with -update", name, g.Key, g.Digest, w.Key, w.Digest)
		}
	}
	if *update && !t.Failed() {
		if err := writeJSON(path, got); err != nil {
			t.Fatal(err)
		}
	}
}

func hashed(t *testing.T, parts ...any) string {
	t.Helper()
	data, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
