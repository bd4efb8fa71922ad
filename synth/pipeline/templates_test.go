package pipeline

import (
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/synth/wording"
)

// Questions of the demo in the words of package wording read back into their plans.
func TestTemplatesOnTheDemo(t *testing.T) {
	g, dir := wiki(t), t.TempDir()
	for _, lang := range []string{"en", "zh"} {
		o := Options{Seed: 1, MaxWalks: 4000, Accept: 12, Lang: lang, Wording: "templates", License: "CC BY-SA 4.0"}
		r := must[Report](t)(Run(t.Context(), g, dir+"/"+lang, o, Hooks{Writer: Templates{wording.NewLexicon()}}))
		if r.Accepted < 12 || r.Rejected[NoWording]*2 > r.Certified {
			t.Fatalf("%s: %+v", lang, r)
		}
		if qs := must[[]quarry.Question](t)(datasets.ReadQuestionsJSONL(dir + "/" + lang + "/" + QuestionsFile)); len(qs) != r.Accepted {
			t.Errorf("%d questions of schema Q1, %d accepted", len(qs), r.Accepted)
		}
		for _, q := range questionsOf(t, dir+"/"+lang) {
			if q.Lang != lang || strings.Contains(quarry.Normalize(q.Text), quarry.Normalize(q.Answer)) {
				t.Errorf("%s: %s (%s)", lang, q.Text, q.Answer)
			}
		}
	}
}
