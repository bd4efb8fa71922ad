package certify

import (
	"fmt"

	"github.com/quarry-rl/quarry"
)

// HopLoad is what one hop makes an agent look at.
type HopLoad struct {
	Doc         uint32 // the evidence document
	Distractors int    // documents in the top k of the hop's best query whose entity type fits, other than the evidence
	Bindings    int    // answers of the pattern up to this hop, before conditions
}

// Pressure is the acquisition pressure of a walk, (candidates + hops) / budget of the Apodex 1.1 paper: candidates are the
// distractors and, for each hop but the last, its bindings up to k; hops are the changes of evidence document and the
// first. budget is in tool calls.
func Pressure(loads []HopLoad, k, budget int) (float64, error) {
	if budget < 1 || k < 1 || len(loads) == 0 {
		return 0, &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("acquisition pressure of %d hops, k %d, budget %d", len(loads), k, budget),
			Msg: "at least one hop, k of 1 and a budget of 1 tool call are expected", Hint: "give the tool calls an episode may make"}
	}
	candidates, hops := 0, 1
	for i, l := range loads {
		candidates += l.Distractors
		if i < len(loads)-1 {
			candidates += min(l.Bindings, k)
		}
		if i > 0 && l.Doc != loads[i-1].Doc {
			hops++
		}
	}
	return float64(candidates+hops) / float64(budget), nil
}

// Bindings is how many entities the walk's pattern reaches at each place from 1 to L, counted up to limit.
func (s *Solver) Bindings(w Walk, limit int) ([]int, error) {
	q := Question(w, nil)
	var out []int
	for i := range w.Hops {
		n, err := s.Count(Query{Vars: i + 1, Answer: i, Atoms: q.Atoms[:i+1]}, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
