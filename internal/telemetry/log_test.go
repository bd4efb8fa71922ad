package telemetry

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

func TestLevels(t *testing.T) {
	for level, want := range map[string]string{"debug": "diwe", "info": "iwe", "warn": "we", "error": "e"} {
		for _, asJSON := range []bool{false, true} {
			var b bytes.Buffer
			log, err := NewLogger(&b, level, asJSON)
			if err != nil {
				t.Fatal(err)
			}
			log.Debug("d", "step", 1)
			log.Info("i", "step", 1)
			log.Warn("w", "step", 1)
			log.Error("e", "step", 1)
			got := ""
			for line := range strings.Lines(b.String()) {
				var rec struct {
					Msg  string
					Step int
				}
				if asJSON {
					if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.Step != 1 {
						t.Errorf("%q: %v", line, err)
					}
				} else if _, rest, ok := strings.Cut(line, "msg="); ok && strings.HasSuffix(rest, " step=1\n") {
					rec.Msg = rest[:1]
				}
				got += rec.Msg
			}
			if got != want {
				t.Errorf("level %s, json %t: %q, want %q", level, asJSON, got, want)
			}
		}
	}
}

func TestUnknownLevel(t *testing.T) {
	if _, err := NewLogger(&bytes.Buffer{}, "loud", false); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "loud") {
		t.Errorf("%v", err)
	}
}
