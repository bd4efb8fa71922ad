package pipeline

import (
	"crypto/sha256"
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/near"
)

// selection is what depends on the questions before: caps and duplicates. It knows every question that came to the policy,
// kept there or not: a twin of a question that models refused would be refused too, and need not be asked about.
type selection struct {
	o       Options
	set     *near.Set
	texts   map[[sha256.Size]byte]int // walks by text
	answers map[string]int
	anchors map[string]int
}

func newSelection(o Options) (*selection, error) {
	opt := near.Default()
	opt.Seed, opt.Skip = o.Seed, o.Skip
	set, err := near.NewSet(opt)
	return &selection{o: o, set: set, texts: map[[sha256.Size]byte]int{}, answers: map[string]int{}, anchors: map[string]int{}}, err
}

// add takes a question in, or says why not. Questions must come in the order of their walks.
func (s *selection) add(n int, q *quarry.Question) (rejection, error) {
	no := func(r Reason, format string, args ...any) (rejection, error) {
		return rejection{StageUnique, r, fmt.Sprintf(format, args...)}, nil
	}
	answer, anchor := quarry.Normalize(q.Answer), q.Path[0].From()
	text := sha256.Sum256([]byte(quarry.Normalize(q.Text)))
	switch first, same := s.texts[text]; {
	case s.o.PerAnswer > 0 && s.answers[answer] >= s.o.PerAnswer:
		return no(AnswerCap, "%d questions have the answer %q", s.answers[answer], q.Answer)
	case s.o.PerAnchor > 0 && s.anchors[anchor] >= s.o.PerAnchor:
		return no(AnchorCap, "%d questions begin at %s", s.anchors[anchor], anchor)
	case same:
		return no(SameText, "walk %d has the text", first)
	}
	it := near.ItemOf(q)
	it.ID = fmt.Sprintf("%012d", n) // the lower number is the one that is kept
	if err := s.set.Add(it); err != nil {
		return rejection{}, err
	}
	if v, _ := s.set.Verdict(it.ID); !v.Kept() {
		var twin int
		fmt.Sscanf(v.Twin, "%d", &twin)
		if v.Rule == near.RuleText {
			return no(NearText, "walk %d, similarity %.3f", twin, v.Similarity)
		}
		return no(ofTwin[v.Rule], "walk %d", twin)
	}
	s.texts[text] = n
	s.answers[answer]++
	s.anchors[anchor]++
	return rejection{}, nil
}
