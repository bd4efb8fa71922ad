package near_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry/synth/near"
)

var vocabulary = func() []string {
	r := rand.New(rand.NewPCG(5, 5))
	syllables := strings.Fields("ka lor min ve sta bri on tel mar qui dor fen gas hul ir jon pel ru sin tov")
	seen := map[string]bool{}
	var out []string
	for len(out) < 4000 {
		var w strings.Builder
		for range 1 + r.IntN(3) {
			w.WriteString(syllables[r.IntN(len(syllables))])
		}
		if !seen[w.String()] {
			seen[w.String()] = true
			out = append(out, w.String())
		}
	}
	return out
}()

func question(r *rand.Rand) string {
	n := 12 + r.IntN(12)
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return "Which " + strings.Join(words, " ") + "?"
}

// edited is text with n words replaced.
func edited(r *rand.Rand, text string, n int) string {
	words := strings.Fields(text)
	for range n {
		words[1+r.IntN(len(words)-1)] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

// shingles is the definition of a shingle set, independent of how the package cuts them.
func shingles(text string) map[string]bool {
	rs := []rune(near.Normal(text))
	out := map[string]bool{}
	for i, r := range rs {
		n := 5
		if near.CJK(r) {
			n = 3
		}
		if i+n <= len(rs) {
			out[string(rs[i:i+n])] = true
		}
	}
	if len(out) == 0 && len(rs) > 0 {
		out[string(rs)] = true
	}
	return out
}

func jaccard(a, b map[string]bool) float64 {
	both := 0
	for s := range a {
		if b[s] {
			both++
		}
	}
	if len(a)+len(b) == 0 {
		return 1
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

func verdictLines(vs []near.Verdict) string {
	var b bytes.Buffer
	for _, v := range vs {
		fmt.Fprintf(&b, "%s %s %s %.3f\n", v.ID, v.Twin, v.Rule, v.Similarity)
	}
	return b.String()
}

func shuffled[T any](r *rand.Rand, s []T) []T {
	out := slices.Clone(s)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
