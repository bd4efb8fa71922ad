package tiers

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Distractors is how many sentences beside the evidence the oracle filter shows.
const Distractors = 3

// OracleContext is what the oracle filter shows: the evidence sentences of path and conditions, each once, among
// Distractors sentences of the pool that are no evidence and do not name the answer, shuffled. Seed, question and pool
// determine it. A hop without text and a pool without enough distractors are KindInvalid.
func OracleContext(seed uint64, q *quarry.Question, pool []string) ([]string, error) {
	var out []string
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for i, h := range q.Path {
		if h.Text == "" {
			return nil, &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("question %s hop %d", q.ID, i+1), Msg: "no evidence sentence", Hint: "the oracle filter needs statements with their text: make the question from walks over statements with evidence"}
		}
		add(h.Text)
	}
	for _, c := range q.Conditions {
		add(c.Text)
	}
	evidence := len(out)
	r := rand.New(rand.NewPCG(seed, hash(q.ID)))
	try := func(i int) {
		if s := pool[i]; len(out) < evidence+Distractors && s != "" && !slices.Contains(out, s) && !names(s, q) {
			out = append(out, s)
		}
	}
	for n := 0; len(pool) > 0 && n < 20*Distractors && len(out) < evidence+Distractors; n++ {
		try(r.IntN(len(pool)))
	}
	for i := 0; i < len(pool) && len(out) < evidence+Distractors; i++ { // a small pool, or one full of the answer
		try(i)
	}
	if len(out) < evidence+Distractors {
		return nil, &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: "question " + q.ID, Msg: fmt.Sprintf("%d of %d distractors in a pool of %d sentences", len(out)-evidence, Distractors, len(pool)),
			Hint: "give the oracle filter more sentences that are no evidence and do not name the answer"}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// OraclePrompt puts a context and the question as one text.
func OraclePrompt(q *quarry.Question, sentences []string) string {
	var b strings.Builder
	for i, s := range sentences {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, s)
	}
	return b.String() + "\n" + q.Text
}

func names(text string, q *quarry.Question) bool {
	return stands(text, q.Answer) || slices.ContainsFunc(q.Aliases, func(a string) bool { return stands(text, a) })
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
