package certify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// Index is what all solvers and choosers of one graph share. It is read-only once made and safe for concurrent use.
// Beside the graph it takes about 8 B a distinct neighbour and 10 B a distinct step of each entity, 4 B of each pair of
// entity and step again, 16 B a condition kept, and the sets twice.
type Index struct {
	G    *csr.Graph
	leaf int

	groupOff []uint32 // n+1: the distinct steps of row v
	groups   []group  // and one more, for the end of the last
	starts   [][]uint32
	nearOff  []uint32 // n+1
	near     []uint32 // distinct neighbours of each entity, ascending
	topOff   []uint32 // n+1
	may      func(edge uint32) bool
	tops     []top
	sets     [][]uint32
	inOff    []uint32 // n+1
	in       []uint32 // numbers of the sets an entity is in, ascending
}

// group is the half-edges of one entity by one step.
type group struct {
	at   uint32 // the first; the next group's is the end
	step csr.Step
}

// top is one of the conditions an entity's row offers first: a half-edge, or a set, and how many satisfy it.
type top struct {
	half   uint32 // half-edge, or the set's number
	lo, hi uint32 // half-edges whose targets satisfy it
	set    bool
}

// kept is how many conditions of one entity are kept ready; no more fit into a mask.
const kept = 32

// sameStep is how many of an entity's conditions may have the same step: the tenth film of an actor says little that
// the first three do not.
const sameStep = 3

// NewIndex prepares a graph. sets are entity sets that conditions may name (a class, the people born in a decade), each
// ascending without repeats; the set's place is its number. leaf is how many entities a condition must leave, at least.
// may says which statements can be conditions, nil for all: answers are counted over all of them either way.
func NewIndex(g *csr.Graph, sets [][]uint32, leaf int, may func(edge uint32) bool) (*Index, error) {
	if leaf < 1 {
		return nil, &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("leaf %d", leaf), Msg: "a condition leaves at least one entity",
			Hint: "5 is the usual number"}
	}
	n := g.Entities()
	x := &Index{G: g, leaf: leaf, may: may, sets: sets, groupOff: make([]uint32, n+1), nearOff: make([]uint32, n+1), topOff: make([]uint32, n+1),
		inOff: make([]uint32, n+1), starts: make([][]uint32, 2*g.Rels)}
	var row []uint32
	for v := range uint32(n) {
		lo, hi := g.Off[v], g.Off[v+1]
		for p := lo; p < hi; p++ {
			if p == lo || g.Steps[p] != g.Steps[p-1] {
				x.groups = append(x.groups, group{p, g.Steps[p]})
				i := stepNumber(g.Steps[p])
				x.starts[i] = append(x.starts[i], v)
			}
		}
		x.groupOff[v+1] = uint32(len(x.groups))
		row = append(row[:0], g.Targets[lo:hi]...)
		slices.Sort(row)
		x.near = append(x.near, slices.Compact(row)...)
		x.nearOff[v+1] = uint32(len(x.near))
	}
	x.groups = append(x.groups, group{at: g.Off[n]})
	if err := x.addMembers(); err != nil {
		return nil, err
	}
	x.addTops()
	return x, nil
}

func (x *Index) addMembers() error {
	n := x.G.Entities()
	for i, set := range x.sets {
		for j, v := range set {
			if int(v) >= n || j > 0 && set[j-1] >= v {
				return &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("entity set %d, item %d", i, j),
					Msg: fmt.Sprintf("entity %d; a set's entities ascend, without repeats, below %d", v, n), Hint: "sort and compact the set"}
			}
			x.inOff[v+1]++
		}
	}
	for v := range n {
		x.inOff[v+1] += x.inOff[v]
	}
	x.in = make([]uint32, x.inOff[n])
	next := slices.Clone(x.inOff[:n])
	for i, set := range x.sets {
		for _, v := range set {
			x.in[next[v]] = uint32(i)
			next[v]++
		}
	}
	return nil
}

// mayBe says whether half-edge p of v can be a condition on v.
func (x *Index) mayBe(v, p uint32) bool { return x.may == nil || x.may(x.G.EdgeAt(v, p)) }

// addTops keeps for each entity the conditions that say most about it: those that the fewest entities satisfy, leaf or
// more, ties by half-edge, sets after half-edges.
func (x *Index) addTops() {
	var row []top
	steps := make([]uint8, 2*x.G.Rels)
	for v := range uint32(x.G.Entities()) {
		row = row[:0]
		for p := x.G.Off[v]; p < x.G.Off[v+1]; p++ {
			lo, hi := x.group(x.G.Targets[p], x.G.Steps[p].Reverse())
			if x.G.Targets[p] != v && int(hi-lo) >= x.leaf && x.mayBe(v, p) {
				row = append(row, top{half: p, lo: lo, hi: hi})
			}
		}
		for _, s := range x.SetsOf(v) {
			if n := len(x.sets[s]); n >= x.leaf {
				row = append(row, top{half: s, hi: uint32(n), set: true})
			}
		}
		slices.SortStableFunc(row, func(a, b top) int { return cmp.Compare(a.hi-a.lo, b.hi-b.lo) })
		from := len(x.tops)
		for _, t := range row {
			if len(x.tops) == from+kept {
				break
			}
			if !t.set {
				if n := &steps[stepNumber(x.G.Steps[t.half])]; *n == sameStep {
					continue
				} else {
					*n++
				}
			}
			x.tops = append(x.tops, t)
		}
		for _, t := range x.tops[from:] {
			if !t.set {
				steps[stepNumber(x.G.Steps[t.half])] = 0
			}
		}
		x.topOff[v+1] = uint32(len(x.tops))
	}
}

func stepNumber(s csr.Step) int {
	if s.Inverse() {
		return 2*s.Relation() + 1
	}
	return 2 * s.Relation()
}

// Starts are the entities a step can leave from, ascending; part of the index, not to be changed.
func (x *Index) Starts(s csr.Step) []uint32 {
	if s.Relation() >= x.G.Rels {
		return nil
	}
	return x.starts[stepNumber(s)]
}

// Set is entity set i, ascending; part of the index, not to be changed.
func (x *Index) Set(i int) []uint32 { return x.sets[i] }

// SetsOf are the numbers of the sets v is in, ascending.
func (x *Index) SetsOf(v uint32) []uint32 { return x.in[x.inOff[v]:x.inOff[v+1]] }

// Joined says whether any statement joins v and w, carried by a text or not.
func (x *Index) Joined(v, w uint32) bool {
	a, b := x.near[x.nearOff[v]:x.nearOff[v+1]], w
	if o := x.near[x.nearOff[w]:x.nearOff[w+1]]; len(o) < len(a) {
		a, b = o, v
	}
	return has(a, b)
}

// group is csr.Graph.By over the distinct steps of a row: a hub has thousands of half-edges, but few steps.
func (x *Index) group(v uint32, s csr.Step) (lo, hi uint32) {
	i, end := x.groupOff[v], x.groupOff[v+1]
	for j := end; i < j; {
		if mid := i + (j-i)/2; x.groups[mid].step < s {
			i = mid + 1
		} else {
			j = mid
		}
	}
	if i == end || x.groups[i].step != s {
		return 0, 0
	}
	return x.groups[i].at, x.groups[i+1].at
}

func (x *Index) neighbours(v uint32, s csr.Step) []uint32 {
	lo, hi := x.group(v, s)
	return x.G.Targets[lo:hi]
}

func (x *Index) leads(v uint32, s csr.Step, to uint32) bool { return has(x.neighbours(v, s), to) }

// has is membership in an ascending slice.
func has(s []uint32, v uint32) bool {
	lo, hi := 0, len(s)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); s[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(s) && s[lo] == v
}
