package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/decontam"
)

// sorted puts benchmarks in an order of their own, so that a candidate's reason does not depend on that of a command line.
func sorted(bs []*decontam.Benchmark) []*decontam.Benchmark {
	out := slices.Clone(bs)
	slices.SortFunc(out, func(a, b *decontam.Benchmark) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Digest(), b.Digest()))
	})
	return out
}

func benchmarksOf(bs []*decontam.Benchmark) string {
	var names []string
	for _, b := range sorted(bs) {
		names = append(names, b.Name+" "+b.Digest()[:16])
	}
	return strings.Join(names, ", ")
}

// grounds are the rules of a benchmark, the surest first: one is the reason, however many hold.
var grounds = []decontam.Rule{decontam.RuleGram, decontam.RuleNear, decontam.RuleAnswer, decontam.RulePages}

// contaminated says whether a question comes from a benchmark. It looks at one candidate alone, unlike the search for
// duplicates, so it runs side by side and before it: what comes from a benchmark is no twin of anything and uses up no cap.
func (s *Space) contaminated(p *proof, q *quarry.Question) rejection {
	if len(s.o.Benchmarks) == 0 {
		return rejection{}
	}
	it := decontam.ItemOf(q, nil)
	for _, c := range s.clues(p) {
		it.Entities = append(it.Entities, c.Name)
	}
	seen := map[uint32]bool{}
	for _, d := range p.docs {
		if s.texts != nil && !seen[d] {
			seen[d] = true
			it.Pages = append(it.Pages, cmp.Or(s.g.Title(d), s.g.DocumentID(d)))
		}
	}
	var best decontam.Match
	rank := len(grounds)
	for _, b := range s.o.Benchmarks {
		for _, m := range b.Check(it) {
			if at := slices.Index(grounds, m.Rule); at < rank {
				best, rank = m, at
			}
		}
	}
	if rank == len(grounds) {
		return rejection{}
	}
	detail := fmt.Sprintf("%s question %d", best.Benchmark, best.Question)
	if best.Rule == decontam.RuleNear {
		detail += fmt.Sprintf(", similarity %.3f", best.Similarity)
	}
	return rejection{StageDecontam, Reason(best.Rule), detail}
}
