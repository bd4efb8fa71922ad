package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test ./internal/report -update and read the difference", path)
	}
}

func textOf(t *testing.T, d *Doc, width int, color bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, d, width, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) { golden(t, "run.txt", []byte(textOf(t, sampleDoc(), 100, false))) }

func TestTextFitsEveryWidth(t *testing.T) {
	d := sampleDoc()
	whole := map[string]bool{} // what may stick out: it is to be copied
	for _, n := range d.Next {
		whole["  "+n] = true
	}
	for _, s := range d.Datasets {
		whole["    "+s.Path] = true
	}
	for _, width := range []int{48, 57, 72, 80, 100, 200} {
		text := textOf(t, d, width, false)
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := cells(line); n > min(width, 100) && !whole[line] {
				t.Errorf("width %d: %d cells in %q", width, n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("width %d: blanks at the end of %q", width, line)
			}
		}
		for _, must := range []string{"rl-14", "Canada", "gauge 0", d.Next[0]} {
			if !strings.Contains(text, must) {
				t.Errorf("width %d lacks %q", width, must)
			}
		}
	}
	if got := textOf(t, d, 57, false); !strings.Contains(got, "at this width without:") {
		t.Error("a narrow report hides columns without saying so")
	}
}

// TestNoTitleLosesWords: a title that does not fit goes on in the next line, and the new facts are there at every width.
func TestNoTitleLosesWords(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		text := strings.Join(strings.Fields(textOf(t, sampleDoc(), width, false)), " ")
		for _, want := range []string{
			"Funnel in = passed + rejected at every line",
			"Held-out success 183 questions, 4 attempts each at T=1, 95 % interval over questions",
			"RL rewards 14 steps, groups of 8; means over scored episodes; t/f/p/o = tool/format/PRM/ORM",
			"RL batches what the trainer consumed at each step",
			"Staleness trainer version at ship minus oldest version of a trained token, in samples",
			"One question that RL solves and the base did not q-000417",
			"tool and format are mean rewards of a turn and top out at 0.1",
			"shapes questions by hops + conditions: 611 of 2+1, 287 of 3+0, 129 of 3+1",
			"tier 77 questions to fit the skill levels on, 5 of them beyond the expert",
			"33,042 statements, 16,248 entities, 8,076 sentences",
			"held-out 183 of 190 questions kept; out: 5 single query, 2 closed book",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("width %d lacks %q", width, want)
			}
		}
	}
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTextColorAddsOnlyColor(t *testing.T) {
	plain, colored := textOf(t, sampleDoc(), 100, false), textOf(t, sampleDoc(), 100, true)
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[1m") {
		t.Error("colour where none was asked for, or none where it was")
	}
	if escape.ReplaceAllString(colored, "") != plain {
		t.Error("the coloured report differs in text")
	}
}

func TestTextAllCached(t *testing.T) {
	d := sampleDoc()
	if strings.Contains(textOf(t, d, 100, false), "cached: done") {
		t.Error("a computed run claims to be cached")
	}
	d.Seconds = 0.41
	for i := range d.Stages {
		d.Stages[i].Cached, d.Stages[i].Seconds = true, 0.01
	}
	text := textOf(t, d, 100, false)
	for _, want := range []string{"All 8 stages were cached: done in 0.4 s. Start afresh with: quarry run demo --fresh\n", "yes, was 38.9 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTextSaysWhatIsBroken(t *testing.T) {
	d := sampleDoc()
	d.Counts.Acknowledged -= 2
	d.Gauge = d.Counts.Conservation()
	d.DPO = DPO{Skipped: true, Note: "12 pairs, fewer than 30"}
	d.Eval = d.Eval[:2]
	d.Eval[1] = Eval{Name: "sft", N: 183, Attempts: 4, Success: 0.001, Hi: 0.01}
	d.RL.Steps[0].Reward.PRM = nil
	text := textOf(t, d, 100, false)
	for _, want := range []string{"gauge 2: EPISODES WERE LOST", "dpo  skipped: 12 pairs, fewer than 30",
		"Held-out success fell from 0.4 % (base) to 0.1 % (sft)", "this may be chance", "     1      1    -  .36"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTextNeverLetsContentDriveTheTerminal(t *testing.T) {
	d := hostileDoc("\x1b[2J\x1b]0;owned\x07\r\u202e\u009b31m")
	text := textOf(t, d, 100, false)
	for _, r := range text {
		if r != '\n' && (r < ' ' || r >= 0x7f && r <= 0x9f || r == '\u202e') {
			t.Fatalf("control character %q reached the terminal", r)
		}
	}
}

func TestTextThinsLongRunsAloud(t *testing.T) {
	d := sampleDoc()
	for len(d.RL.Steps) < 90 {
		s := d.RL.Steps[13]
		s.Step = len(d.RL.Steps) + 1
		d.RL.Steps = append(d.RL.Steps, s)
	}
	text := textOf(t, d, 100, false)
	if strings.Count(text, "24 of 90 steps shown") != 2 || !strings.Contains(text, "\n    90 ") || !strings.Contains(text, "\n     1 ") {
		t.Errorf("first step, last step or the remark is missing:\n%s", text)
	}
}

func TestEmptyDocHasNoEmptyTables(t *testing.T) {
	text := textOf(t, &Doc{Name: "x"}, 80, false)
	for _, title := range []string{"Stages", "Funnel", "Held-out", "RL rewards", "Datasets", "Notes", "Next", "One question"} {
		if strings.Contains(text, title) {
			t.Errorf("empty section %s", title)
		}
	}
}

// hostileDoc puts s into every text a model, a document or a file name may bring.
func hostileDoc(s string) *Doc {
	d := sampleDoc()
	d.Name, d.RunDir, d.StartAfresh, d.Quarry = s, s, s, s
	for i := range d.Stages {
		d.Stages[i].Name, d.Stages[i].Result, d.Stages[i].Digest, d.Stages[i].Cached = s, s, s, true
	}
	d.Synth.Rejected = Reasons{s: 1}
	d.Filter.Levels[0].Name = s
	d.Funnel[0] = FunnelStep{Name: s, InUnit: s, OutUnit: s, In: 2, Passed: 1, Out: 1, Rejected: Reasons{s: 1}}
	d.SFT.Dropped, d.DPO.Note, d.Pivot.ByClass, d.Counts.Discarded = Reasons{s: 17}, s, Reasons{s: 3}, Reasons{s: 80}
	d.Eval[2].Name = s
	d.Eval[9].Name = s
	d.RL.Steps[1].PhaseReason, d.RL.Steps[1].Reward.Unscored = s, Reasons{s: 2}
	d.Datasets[0] = Dataset{Kind: s, Path: s, SHA256: s}
	d.Notes, d.Next = []string{s}, []string{s}
	m := []quarry.Message{{Role: s, Content: s}, {Role: "assistant", Content: s, ToolCalls: []quarry.ToolCall{{Name: s, Arguments: s}}}, {Role: "tool", Content: s}}
	d.Example = &Example{QuestionID: s, Question: s, Answer: s, Path: []Evidence{{s, s, s, s, s}},
		Base: Transcript{Answer: s, End: quarry.Termination(s), Messages: m}, RL: Transcript{Answer: s, Messages: m}}
	return d
}
