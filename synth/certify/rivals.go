package certify

// Rivals is how far the next best entity is from being an answer.
type Rivals struct {
	Margin int    // atoms the answer satisfies less those the best rival does; most+1 when there is none within most
	Best   uint32 // the lowest entity with that margin, valid when Margin <= most
	Fails  []int  // the atoms it fails, members after atoms; the first such set in order
}

// Rivals looks for the entities that come closest to the answer of a query with one answer: those that satisfy all atoms
// but one, then but two, up to most (1 to 3 are sensible: every set of that many atoms is left out in turn). A margin of
// 0 means that the query has another answer.
func (s *Solver) Rivals(q Query, answer uint32, most int) (Rivals, error) {
	if err := q.check(s.x); err != nil {
		return Rivals{}, err
	}
	for margin := 0; margin <= min(most, q.Len()); margin++ {
		best := Rivals{Margin: margin}
		found := false
		subsets(q.Len(), margin, func(left []int) {
			less := q
			for i := len(left) - 1; i >= 0; i-- {
				less = less.Without(left[i])
			}
			for _, v := range s.solve(less, 2) {
				if v != answer && (!found || v < best.Best) {
					found, best.Best, best.Fails = true, v, append([]int(nil), left...)
				}
			}
		})
		if found {
			return best, nil
		}
	}
	return Rivals{Margin: most + 1}, nil
}

// Full lists the candidates that satisfy every atom of a query although they are not the answer: what solvers of a
// question answered instead of it is checked like that (ASearcher). Any one refuses the question.
func (s *Solver) Full(q Query, answer uint32, candidates []uint32) ([]uint32, error) {
	all, err := s.AnswerSet(q, 0)
	if err != nil {
		return nil, err
	}
	var out []uint32
	for _, v := range candidates {
		if v != answer && has(all, v) {
			out = append(out, v)
		}
	}
	return out, nil
}

// subsets calls f with every ascending choice of k of n, in order.
func subsets(n, k int, f func([]int)) {
	pick := make([]int, 0, k)
	var rec func(from int)
	rec = func(from int) {
		if len(pick) == k {
			f(pick)
			return
		}
		for i := from; i < n; i++ {
			pick = append(pick, i)
			rec(i + 1)
			pick = pick[:len(pick)-1]
		}
	}
	rec(0)
}
