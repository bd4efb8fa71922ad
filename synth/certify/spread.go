package certify

// Dispersion is one less the sum over documents of the square of their share of the needed statements (REDSearcher's
// second axis of difficulty): 0 when one document carries all, 1 - 1/n for n that carry as much each, 0 for none.
func Dispersion(docs []uint32) float64 {
	if len(docs) == 0 {
		return 0
	}
	count := map[uint32]int{}
	for _, d := range docs {
		count[d]++
	}
	sum := 0
	for _, n := range count { // whole numbers: the order of a map makes no difference
		sum += n * n
	}
	return 1 - float64(sum)/float64(len(docs)*len(docs))
}

// Topology is the shape of a question's pattern.
type Topology string

// The shapes. A chain is a path; a star is two or more paths that meet at the answer alone, which is not the end of any;
// a tree has other forks; the rest have a cycle.
const (
	Chain Topology = "chain"
	Star  Topology = "star"
	Tree  Topology = "tree"
	Cycle Topology = "cycle"
)

// Shape classes a query: its atoms are links between terms, and an entity that several atoms name is one term. width is the treewidth as far as it is told apart: 1 for a forest, else 2 when the
// pattern is series-parallel, else 3 for three or more.
func Shape(q Query) (shape Topology, width int) {
	type pair struct{ a, b Term }
	next := map[Term]map[Term]bool{}
	link := func(a, b Term) {
		if next[a] == nil {
			next[a] = map[Term]bool{}
		}
		next[a][b] = true
	}
	seen := map[pair]bool{}
	cycle := false
	for _, a := range q.Atoms {
		// the same two terms joined twice, or a term joined to itself, close a cycle
		if a.From == a.To || seen[pair{a.From, a.To}] || seen[pair{a.To, a.From}] {
			cycle = true
		}
		seen[pair{a.From, a.To}] = true
		if a.From != a.To {
			link(a.From, a.To)
			link(a.To, a.From)
		}
	}
	answer := Var(q.Answer)
	forks, atAnswer := 0, len(next[answer])
	for t, ns := range next {
		if len(ns) > 2 && t != answer {
			forks++
		}
	}
	width, acyclic := reduceWidth(next)
	switch {
	case cycle || !acyclic:
		return Cycle, max(width, 2)
	case forks > 0:
		return Tree, 1
	case atAnswer >= 2:
		return Star, 1
	}
	return Chain, 1
}

// reduceWidth takes away vertices of degree 1, then those of degree 2 with their neighbours joined: a forest is gone after
// the first, a graph of treewidth 2 after the second (Arnborg and Proskurowski 1986).
func reduceWidth(next map[Term]map[Term]bool) (width int, acyclic bool) {
	strip := func(degree int) {
		for again := true; again; {
			again = false
			for t, ns := range next {
				if len(ns) > degree {
					continue
				}
				var ends []Term
				for u := range ns {
					ends = append(ends, u)
					delete(next[u], t)
				}
				if len(ends) == 2 {
					next[ends[0]][ends[1]], next[ends[1]][ends[0]] = true, true
				}
				delete(next, t)
				again = true
			}
		}
	}
	if strip(1); len(next) == 0 {
		return 1, true
	}
	if strip(2); len(next) == 0 {
		return 2, false
	}
	return 3, false
}
