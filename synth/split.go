package synth

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
)

// splits divides the documents before walking. Documents between which hops can cross stay together as far as a
// group's size allows, so that walks may cross them and the parts share few names.
func (s *Space) splits() []quarry.Split {
	g, shares := s.g, s.o.SplitShares
	groups := documentGroups(s, max(len(g.Docs)/groupShare, 1))
	sort.SliceStable(groups, func(i, j int) bool { return docHash(g, s.o.Seed, groups[i][0]) < docHash(g, s.o.Seed, groups[j][0]) })
	order := slices.DeleteFunc([]quarry.Split{quarry.SplitTrain, quarry.SplitHeldout, quarry.SplitTier}, func(part quarry.Split) bool { return shares[part] <= 0 })
	// What counts is how many walks a part will carry, not how many documents: pairs of hops that follow each other.
	weight := make([]float64, len(g.Docs))
	total := 0.0
	for e := range s.hops {
		for i := range s.hops[e] {
			n := float64(len(s.hops[s.hops[e][i].to]))
			weight[s.hops[e][i].doc] += n
			total += n
		}
	}
	have := map[quarry.Split]float64{}
	out := make([]quarry.Split, len(g.Docs))
	for _, grp := range groups {
		best, lack := order[0], math.Inf(-1)
		for _, part := range order {
			if l := 1 - have[part]/max(shares[part]*total, 1e-9); l > lack {
				best, lack = part, l
			}
		}
		for _, d := range grp {
			have[best] += weight[d]
			out[d] = best
		}
	}
	return out
}

// groupShare bounds a group of documents that stay together: one part in groupShare of all.
const groupShare = 40

func docHash(g *kg.Graph, seed uint64, d int) uint64 {
	h := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, g.Docs[d].ID))
	return binary.BigEndian.Uint64(h[:])
}

// documentGroups joins documents between which hops can cross, the most linked pairs first, while a group stays
// within limit.
func documentGroups(s *Space, limit int) [][]int {
	links := map[[2]int]int{}
	for e := range s.hops {
		for i := range s.hops[e] {
			first := &s.hops[e][i]
			if s.g.Hub(first.to, s.o.HubDocs) || s.g.Entities[first.to].Literal() {
				continue
			}
			for _, next := range s.hops[first.to] {
				if next.doc != first.doc && next.to != e {
					links[[2]int{min(first.doc, next.doc), max(first.doc, next.doc)}]++
				}
			}
		}
	}
	pairs := make([][2]int, 0, len(links))
	for p := range links {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(links[b], links[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	parent := make([]int, len(s.g.Docs))
	size := make([]int, len(s.g.Docs))
	for i := range parent {
		parent[i], size[i] = i, 1
	}
	find := func(x int) int {
		for parent[x] != x {
			parent[x] = parent[parent[x]]
			x = parent[x]
		}
		return x
	}
	for _, p := range pairs {
		a, b := find(p[0]), find(p[1])
		if a != b && size[a]+size[b] <= limit {
			a, b = min(a, b), max(a, b)
			parent[b] = a
			size[a] += size[b]
		}
	}
	byRoot := map[int][]int{}
	var roots []int
	for d := range s.g.Docs {
		r := find(d)
		if byRoot[r] == nil {
			roots = append(roots, r)
		}
		byRoot[r] = append(byRoot[r], d)
	}
	out := make([][]int, 0, len(roots))
	for _, r := range roots {
		out = append(out, byRoot[r])
	}
	return out
}
