package pipeline

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

func goldenLedger() []byte {
	var c chain
	o := Options{Seed: 1, Accept: 2, License: "CC BY-SA 4.0", Wording: "templates"}.withDefaults()
	s := settingsOf(strings.Repeat("01", 32), o)
	for i := range s {
		if s[i].Name == "analyser" { // changes with the tables of the analyser, not with the format
			s[i].Value = "0123456789abcdef"
		}
	}
	b := c.seal(nil, header{Schema: Schema, Graph: s[0].Value, Options: s.Digest(), Settings: s})
	for _, e := range []Entry{
		{Walk: 0, State: Rejected, Stage: StageWalk, Reason: WalkDeadEnd, Detail: "from e00012"},
		{Walk: 1, State: Rejected, Stage: StageUnique, Reason: NearText, Detail: "walk 0, similarity 0.912", Cost: &Cost{Calls: 1, PromptTokens: 412, OutputTokens: 60}},
		{Walk: 2, State: Quarantined, Stage: StagePolicy, Reason: "policy:quorum"},
		{Walk: 3, State: Accepted, Question: "q-0123456789abcdef", End: 4711, Digest: strings.Repeat("ab", 32)},
	} {
		b = c.seal(b, e)
	}
	return b
}

// The format's page shows a ledger, and that is what is written and read.
func TestGoldenLedger(t *testing.T) {
	golden := must[[]byte](t)(os.ReadFile("testdata/ledger.jsonl"))
	if got := goldenLedger(); !bytes.Equal(got, golden) {
		t.Fatalf("the format changed:\n%s", got)
	}
	page := string(must[[]byte](t)(os.ReadFile("../../docs/formats/synth-ledger.md")))
	for _, l := range strings.Split(strings.TrimSpace(string(golden)), "\n")[1:] {
		if !strings.Contains(page, l) {
			t.Errorf("the page does not show %s", l)
		}
	}
	for _, s := range Stages() {
		if !strings.Contains(page, "`"+string(s)+"`") {
			t.Errorf("the page does not name stage %s", s)
		}
	}
	for why, m := range meanings {
		if !strings.Contains(page, "| `"+string(why)+"` | `"+string(m.stage)+"` | ") {
			t.Errorf("the page does not explain %s of stage %s", why, m.stage)
		}
	}
	for _, v := range []any{Entry{}, header{}} {
		for i := range reflect.TypeOf(v).NumField() {
			if key, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ","); !strings.Contains(page, "`"+key+"`") {
				t.Errorf("the page does not name %s", key)
			}
		}
	}
	entries := 0
	head, _, whole, err := scan("golden", bytes.NewReader(golden), func(*header) error { return nil }, func(Entry) error { entries++; return nil })
	if err != nil || whole != int64(len(golden)) || entries != 4 || head.Options != head.Settings.Digest() {
		t.Fatalf("%d entries, %d bytes: %v", entries, whole, err)
	}
	swapped := bytes.Split(golden, []byte("\n"))
	swapped[1], swapped[2] = swapped[2], swapped[1]
	if _, _, _, err := scan("golden", bytes.NewReader(bytes.Join(swapped, []byte("\n"))), func(*header) error { return nil }, func(Entry) error { return nil }); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Fatalf("two lines swapped: %v", err)
	}
}
