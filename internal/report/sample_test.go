package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quarry-rl/quarry"
)

// sampleDoc is a realistic run: 8 stages, 10 evaluations, 14 RL steps that pass through three phases.
func sampleDoc() *Doc {
	d := &Doc{
		Schema: Schema, Quarry: "v0.1.0", Name: "demo", Seed: 1, RunDir: "state/runs/demo",
		Started: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Seconds: 96.4, PeakMemory: 412 << 20,
		Synth: Synth{Walks: 6559, Accepted: 1027, Rejected: Reasons{"one_query_shows_answer": 2830, "answer_not_unique": 443,
			"hub_answer": 837, "straddles_split": 383, "too_few_conditions": 392, "capped_per_answer": 644, "leak": 3}, ByShape: Reasons{"2+1": 611, "3+0": 287, "3+1": 129}},
		Filter: Filter{In: 383, Kept: 264, Rejected: Reasons{"never_solved": 112, "always_solved": 3, "closed_book": 1, "single_query": 3},
			Tier: 77, TierUnscorable: 5, Heldout: 183, HeldoutIn: 190, HeldoutRejected: Reasons{"closed_book": 2, "single_query": 5}, Levels: []Level{{"untrained", 1532, 0.004}, {"tier 10 %", 1821, 0.168}, {"tier", 1932, 0.331}}},
		SFT: SFT{Episodes: 264, Used: 247, Dropped: Reasons{"expert_unscorable": 17}, LossFirst: 0.412, LossLast: 0.118},
		DPO: DPO{Pairs: 141, Margin: 1.284, Note: "greedy success fell from 37.2 % to 36.1 %"},
		Pivot: Pivot{Failed: 1240, Located: 1102, Tasks: 214, ByClass: Reasons{string(quarry.PivotStrategy): 411,
			string(quarry.PivotEvidence): 502, string(quarry.PivotTool): 21, string(quarry.PivotAssumption): 168},
			NotLocated: Reasons{"no_turn_before_failure": 138}, NoTask: Reasons{"budget_spent": 602, "capped_per_question": 286}},
		RL:    RL{GroupSize: 8},
		Notes: []string{"DPO lowered greedy success by 1.1 points: the margin grew, the answers did not get better.", "The pocket engine is a log-linear policy, not a language model."},
		Next:  []string{"quarry eval --run demo --weights rl-14", "quarry synth --docs your-documents/ -o questions/"}, StartAfresh: "quarry run demo --fresh",
	}
	for i, s := range []struct{ name, result string }{
		{"kg", "33,042 statements, 16,248 entities, 8,076 sentences"}, {"synth", "6,559 walks, 1,027 questions"},
		{"filter", "264 train, 77 tier, 183 held-out"}, {"sft", "247 episodes, loss 0.412 to 0.118"}, {"dpo", "141 pairs"},
		{"rl", "14 steps, 448 groups"}, {"pivot", "1,102 of 1,240 located, 214 tasks"}, {"report", "10 evaluations"}} {
		sec := []float64{2.1, 9.4, 11.8, 6.2, 7.7, 38.9, 4.1, 16.2}[i]
		d.Stages = append(d.Stages, Stage{s.name, digest(s.name), sec, false, sec, s.result})
	}
	for i, v := range []float64{0.004, 0.347, 0.358, 0.391, 0.422, 0.447, 0.468, 0.489, 0.503, 0.516} {
		name := fmt.Sprintf("rl-%d", 2*(i-2))
		if i < 3 {
			name = []string{"base", "sft", "dpo"}[i]
		}
		half := 0.005 + 0.12*math.Sqrt(v*(1-v))
		d.Eval = append(d.Eval, Eval{name, max(0, i-1) + i, 183, 4, v, max(0, round(v-half)), round(v + half), round(v*0.93 + 0.04)})
	}
	for i := range 14 {
		d.RL.Steps = append(d.RL.Steps, sampleStep(i))
		d.addStaleness(d.RL.Steps[i])
	}
	d.Counts = Counts{Dispatched: 3712, Acknowledged: 3584, Discarded: Reasons{"stale": 48, "all_same": 24, "infra": 8}, Buffered: 32, InFlight: 16}
	d.Funnel = []FunnelStep{
		{"synth", 6559, "walks", 1027, d.Synth.Rejected, 643, "train, tier and held-out questions"},
		{"filter", 383, "train questions", 264, d.Filter.Rejected, 264, "kept"},
		{"dpo", 264, "kept", 96, Reasons{"all_right": 61, "all_wrong": 90, "truncated": 17}, 141, "pairs"},
		{"rl", 464, "groups", 448, Reasons{"stale": 6, "all_same": 3, "unfinished": 7}, 3584, "episodes"},
	}
	for _, k := range []struct {
		kind string
		rows int
	}{{"Q1", 643}, {"S1", 247}, {"D1", 141}, {"R1", 3712}, {"T1", 3584}, {"ledger", 6559}} {
		d.Datasets = append(d.Datasets, Dataset{k.kind, "state/runs/demo/stages/x-" + digest(k.kind)[:12] + "/" + strings.ToLower(k.kind), k.rows, digest(k.kind)})
	}
	d.Example = sampleExample()
	return d
}

func sampleStep(i int) RLStep {
	x := float64(i) / 13
	wave := math.Sin(float64(i)*1.7) * 0.015
	prm, orm, tool, format := round(0.42+0.34*x+wave), round(0.36+0.3*x-wave), round(0.093+0.005*x), round(0.097+0.002*x)
	k, phase, why := quarry.Coefficients{Tool: .6, Format: .3, PRM: .1}, 1, ""
	switch {
	case i >= 2:
		k, phase = quarry.Coefficients{PRM: .3, ORM: .7}, 3
	case i == 1:
		k, phase = quarry.Coefficients{Tool: .2, Format: .2, PRM: .4, ORM: .2}, 2
	}
	switch i {
	case 1:
		why = "tool 0.93 >= 0.90"
	case 2:
		why = "format 0.97 >= 0.95, PRM 0.50 >= 0.50"
	}
	total := round(k.Tool*tool + k.Format*format + k.PRM*prm + k.ORM*orm)
	s := RLStep{Step: i + 1, WeightsVersion: i + 3, Groups: 32, Samples: 256, Tokens: 20480 + 311*i, MixedShare: round(0.71 - 0.25*x),
		PivotShare: round(0.2 * min(1, 3*x)), VersionMixed: min(i, 9),
		Reward: Reward{PRM: &prm, ORM: &orm, Tool: &tool, Format: &format, Total: &total},
		Phase:  phase, PhaseReason: why, Coefficients: k, VarianceShare: &Shares{PRM: .22, ORM: .78},
		MaskedFraction: round(0.0004 * float64(i)), MaskedFractionEntropy: new(round(0.0061 * float64(i))),
		Ratio:        Quantiles{round(1 - 0.012*float64(min(i, 8))), 1, round(1 + 0.014*float64(min(i, 8)))},
		RatioEntropy: &Quantiles{round(1 - 0.055*float64(min(i, 8))), 1, round(1 + 0.09*float64(min(i, 8)))},
		Staleness:    Staleness{Max: min(i, 3), Mean: round(min(1.21, 0.2*float64(i)))}}
	switch i {
	case 0:
		s.VarianceShare = &Shares{Tool: .55, Format: .35, PRM: .1}
	case 1:
		s.VarianceShare = &Shares{Tool: .08, Format: -.03, PRM: .35, ORM: .6}
	case 4:
		s.Reward.Unscored = Reasons{"infra": 3}
	}
	return s
}

// addStaleness spreads a step's samples over the bins up to its maximum.
func (d *Doc) addStaleness(s RLStep) {
	for len(d.Staleness) <= s.Staleness.Max {
		d.Staleness = append(d.Staleness, StalenessBin{Staleness: len(d.Staleness)})
	}
	left := s.Samples
	for v := range s.Staleness.Max {
		n := left / 2
		d.Staleness[v].Samples += n
		left -= n
	}
	d.Staleness[s.Staleness.Max].Samples += left
}

func sampleExample() *Example {
	msg := func(role, text string) quarry.Message { return quarry.Message{Role: role, Content: text} }
	call := func(q string) quarry.Message {
		return msg("assistant", "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \""+q+"\"}}\n</tool_call>")
	}
	system := msg("system", "You answer questions by searching. Call search, then give <answer>...</answer>.")
	question := msg("user", "In which country lies the city whose mayor from 1977 to 1980 was born in Prelate, Saskatchewan?")
	first := msg("tool", "[1] Ross Alger\nRoss Patterson Alger (August 20, 1920 – January 16, 1992) was a politician in the Canadian province of Alberta, who served as mayor of Calgary from 1977 to 1980.\n[2] Prelate, Saskatchewan\nPrelate is a village in the Canadian province of Saskatchewan.\n[3] Rod Sykes\nRodney Sykes was the mayor of Calgary from 1969 to 1977.\nSearches left: 1")
	second := msg("tool", "[1] Calgary Stampede\nThe Calgary Stampede is an annual rodeo held every July in Calgary, Alberta, Canada.\n[2] Calgary City Council\nThe Calgary City Council is the legislative governing body of Calgary.\nSearches left: 0")
	return &Example{
		QuestionID: "q-000417", Question: question.Content, Answer: "Canada",
		Path: []Evidence{
			{"Prelate, Saskatchewan", "place of birth of", "Ross Alger", "Ross Alger", "Born in Prelate, Saskatchewan, he moved to Alberta with his family in 1930s."},
			{"Ross Alger", "mayor of", "Calgary", "Ross Alger", "Ross Patterson Alger (August 20, 1920 – January 16, 1992) was a politician in the Canadian province of Alberta, who served as mayor of Calgary from 1977 to 1980."},
			{"Calgary", "country", "Canada", "Calgary Stampede", "The Calgary Stampede is an annual rodeo held every July in Calgary, Alberta, Canada."},
		},
		Base: Transcript{0, "Rod Sykes", false, quarry.EndFinalAnswer, []quarry.Message{system, question, call("Saskatchewan"), first, msg("assistant", "<answer>Rod Sykes</answer>")}},
		RL:   Transcript{16, "Canada", true, quarry.EndFinalAnswer, []quarry.Message{system, question, call("Prelate, Saskatchewan born"), first, call("Calgary country"), second, msg("assistant", "<answer>Canada</answer>")}},
	}
}

func digest(s string) string {
	const hex = "0123456789abcdef"
	h, b := uint64(14695981039346656037), make([]byte, 64)
	for i := range b {
		h = (h ^ uint64(s[i%len(s)])) * 1099511628211
		b[i] = hex[h>>60]
	}
	return string(b)
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }
