package rewards

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// sequence gives one turn per letter: S success, F failure, R refused, I infra failure, "-" a turn without a call.
func sequence(s string) *quarry.Episode {
	ep := &quarry.Episode{QuestionID: "q"}
	for _, c := range s {
		t := quarry.Turn{FormatOK: true}
		status := map[rune]quarry.ToolStatus{'S': quarry.ToolOK, 'F': quarry.ToolFailed, 'R': quarry.ToolRefused, 'I': quarry.ToolInfra}[c]
		if status != "" {
			t.Events = []quarry.ToolEvent{{Status: status}}
		}
		ep.Thread.Turns = append(ep.Thread.Turns, t)
	}
	return ep
}

func TestTool(t *testing.T) {
	for _, tt := range []struct {
		sequence            string
		retroactive, online float64 // sums over calls
	}{
		{"S", .1, .1}, {"F", -.1, -.1}, {"FF", -.4, -.3}, {"SFS", .1, .1}, {"FSF", -.1, -.1}, {"FFF", -.6, -.5}, {"SFFS", -.2, -.1}, {"FFSFF", -.7, -.5},
		{"FR", -.4, -.3},       // a refused call is a failure
		{"FIF", -.4, -.3},      // an outage does not break a run
		{"SIS", .2, .2},        // nor is it charged
		{"SI-S--", .2, .2},     // T counts every turn
		{"F-F", -.4, -.3},      // a turn without a call does not break a run
		{"---", 0, 0},          // no call: scored, 0
		{"SSFS", .2, .2},       // papers.md 16.4
		{"RRRRR", -1.0, -0.90}, // five in a row
	} {
		n := float64(len(tt.sequence))
		for policy, want := range map[ToolPolicy]float64{"": tt.retroactive, ToolRetroactive: tt.retroactive, ToolOnline: tt.online} {
			if got := Tool(sequence(tt.sequence), policy); !got.Scored || !near(got.Value*n, want) {
				t.Errorf("%s %q: sum %v, want %v", tt.sequence, policy, got.Value*n, want)
			}
		}
	}
	if got := Tool(sequence(""), ""); got.Scored || got.Reason != ReasonNoTurns {
		t.Errorf("no turn: %+v", got)
	}
	if got := Tool(sequence("S"), "lenient"); got.Scored {
		t.Errorf("unknown policy: %+v", got)
	}
}

// Dropping what failed by infrastructure changes no sum, and online never costs more than retroactive.
func TestToolProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("SFRI")), 1, 20, -1).Draw(t, "sequence")
		clean := ""
		for _, c := range s {
			if c != 'I' {
				clean += string(c)
			}
		}
		retro, online := Tool(sequence(s), ToolRetroactive).Value*float64(len(s)), Tool(sequence(s), ToolOnline).Value*float64(len(s))
		if clean != "" && !near(Tool(sequence(clean), ToolRetroactive).Value*float64(len(clean)), retro) {
			t.Fatalf("%s differs from %s", s, clean)
		}
		if online < retro-1e-12 {
			t.Fatalf("%s: online %v below retroactive %v", s, online, retro)
		}
	})
}

func TestFormat(t *testing.T) {
	ep := sequence("SSSS")
	if got := Format(ep); !near(got.Value, .1) {
		t.Errorf("all well formed: %v", got)
	}
	ep.Thread.Turns[2].FormatOK = false
	if got := Format(ep); !near(got.Value, (.3-.2)/4) {
		t.Errorf("one of four malformed: %v", got)
	}
	if got := Format(sequence("")); got.Scored || got.Reason != ReasonNoTurns {
		t.Errorf("no turn: %+v", got)
	}
}

func TestORM(t *testing.T) {
	q := &quarry.Question{ID: "q", Answer: "The Hague", Aliases: []string{"Den Haag"}}
	for _, tt := range []struct {
		name string
		ep   quarry.Episode
		want quarry.Score
	}{
		{"right", quarry.Episode{QuestionID: "q", Answered: true, Answer: "the  hague."}, quarry.ScoreOf(1)},
		{"alias", quarry.Episode{QuestionID: "q", Answered: true, Answer: "Den Haag"}, quarry.ScoreOf(1)},
		{"wrong", quarry.Episode{QuestionID: "q", Answered: true, Answer: "Delft"}, quarry.ScoreOf(0)},
		{"unanswered", quarry.Episode{QuestionID: "q", Answer: "The Hague", End: quarry.EndMaxTurns, Failure: quarry.FailPolicy}, quarry.ScoreOf(0)},
		{"empty answer", quarry.Episode{QuestionID: "q", Answered: true}, quarry.ScoreOf(0)},
		{"timeout", quarry.Episode{QuestionID: "q", Failure: quarry.FailTimeout}, quarry.ScoreOf(0)},
		{"infra", quarry.Episode{QuestionID: "q", Failure: quarry.FailInfra}, quarry.Unscored(ReasonInfra)},
		{"outage", quarry.Episode{QuestionID: "q", End: quarry.EndToolOutage}, quarry.Unscored(ReasonInfra)},
		{"engine died", quarry.Episode{QuestionID: "q", End: quarry.EndLLMError}, quarry.Unscored(ReasonInfra)},
		{"judge", quarry.Episode{QuestionID: "q", Failure: quarry.FailJudge, Answered: true, Answer: "The Hague"}, quarry.Unscored(ReasonJudge)},
		{"cancelled", quarry.Episode{QuestionID: "q", End: quarry.EndCancelled}, quarry.Unscored(ReasonCancelled)},
		{"another question", quarry.Episode{QuestionID: "r", Answered: true, Answer: "The Hague"}, quarry.Unscored(ReasonWrongQuestion)},
	} {
		if got := ORM(&tt.ep, q); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestScoreEpisode(t *testing.T) {
	q := &quarry.Question{ID: "q", Text: "Who?", Answer: "Ana Costa", Entities: []quarry.Named{{ID: "a", Name: "Zenith"}, {ID: "b", Name: "Ana Costa"}}}
	ep := sequence("SSFS")
	ep.Thread.Turns[0].Events[0].Output = "Zenith is a company."
	ep.Answer, ep.Answered = "Ana Costa", true
	card := ScoreEpisode(ep, q, Config{})
	want := quarry.Scorecard{Tool: card.Tool, Format: card.Format, PRM: quarry.ScoreOf(0.5), ORM: quarry.ScoreOf(1)}
	if card != want || !near(card.Tool.Value, .05) || !near(card.Format.Value, .1) {
		t.Errorf("%+v", card)
	}
}
