package store

import (
	"math"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Stats are the counts that a user sees of a graph.
type Stats struct {
	Counts
	WithText  int            `json:"edges_with_evidence"`
	ByType    map[string]int `json:"entities_by_type"`
	Shared    int            `json:"entities_in_two_or_more_documents"`
	MaxDegree int            `json:"max_degree"`
}

// Stats counts the graph: one pass over all edges.
func (g *Graph) Stats() Stats {
	s := Stats{Counts: g.manifest.Counts, ByType: map[string]int{}}
	for _, d := range g.Docs {
		if d != csr.NoDoc {
			s.WithText++
		}
	}
	types := make([]int, g.Types())
	for v := range uint32(g.Entities()) {
		if t := g.TypeNo(v); int(t) < len(types) {
			types[t]++
		}
		s.MaxDegree = max(s.MaxDegree, g.Degree(v))
		if g.Documents() > 1 && g.shared(v) {
			s.Shared++
		}
	}
	for t, n := range types {
		if n > 0 {
			s.ByType[g.TypeName(uint32(t))] = n
		}
	}
	return s
}

// shared says whether two documents mention v: what its record says and the documents of its edges settle most cases.
func (g *Graph) shared(v uint32) bool {
	first := uint32(csr.NoDoc)
	if docs := row(g.mentionOff, g.mention, v); len(docs) > 1 {
		return true
	} else if len(docs) == 1 {
		first = docs[0]
	}
	for p := g.Off[v]; p < g.Off[v+1]; p++ {
		switch d := g.Docs[g.EdgeAt(v, p)]; {
		case d == csr.NoDoc || d == first:
		case first == csr.NoDoc:
			first = d
		default:
			return true
		}
	}
	return first != csr.NoDoc && len(g.DocsOf(v)) > 1
}

// Health says how fit a graph is for walks, by the measures of GraphGen's check of a graph (InternScience/GraphGen,
// which asks for isolated < 0.15, largest > 0.90, mean degree 2 to 5, power law R2 > 0.75).
type Health struct {
	Isolated   float64 `json:"isolated_share"`          // of entities without an edge
	Largest    float64 `json:"largest_component_share"` // of entities in the largest component
	Components int     `json:"components"`
	Mean       float64 `json:"mean_degree"`
	Median     int     `json:"median_degree"` // quantiles are the lowest degree that this share of entities does not exceed
	P90        int     `json:"p90_degree"`
	P99        int     `json:"p99_degree"`
	Max        int     `json:"max_degree"`
	PowerLawR2 float64 `json:"power_law_r2"` // of the line through log(entities) over log(degree), degrees above 0
}

// Health measures the graph: components by union-find over all edges, 4 bytes an entity.
func (g *Graph) Health() Health {
	n := g.Entities()
	if n == 0 {
		return Health{}
	}
	var h Health
	degrees := make([]int, 1) // number of entities by degree
	parent := make([]uint32, n)
	for v := range uint32(n) {
		parent[v] = v
		d := g.Degree(v)
		if d >= len(degrees) {
			degrees = append(degrees, make([]int, d+1-len(degrees))...)
		}
		degrees[d]++
	}
	root := func(v uint32) uint32 {
		for parent[v] != v {
			parent[v] = parent[parent[v]]
			v = parent[v]
		}
		return v
	}
	for v := range uint32(n) {
		for p := g.Off[v]; p < g.Off[v]+g.Out[v+1]-g.Out[v]; p++ {
			if a, b := root(v), root(g.Targets[p]); a != b {
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	size := make([]uint32, n)
	for v := range uint32(n) {
		size[root(v)]++
	}
	for _, s := range size {
		if s > 0 {
			h.Components++
		}
	}
	quantile := func(q float64) int {
		need, seen := int(math.Ceil(q*float64(n))), 0
		for d, k := range degrees {
			if seen += k; seen >= need {
				return d
			}
		}
		return len(degrees) - 1
	}
	h.Isolated, h.Largest = float64(degrees[0])/float64(n), float64(slices.Max(size))/float64(n)
	h.Mean = float64(len(g.Targets)) / float64(n)
	h.Median, h.P90, h.P99, h.Max = quantile(0.5), quantile(0.9), quantile(0.99), len(degrees)-1
	h.PowerLawR2 = logLogR2(degrees)
	return h
}

// logLogR2 is the coefficient of determination of the least-squares line through (log degree, log count).
func logLogR2(counts []int) float64 {
	var n, sx, sy, sxx, sxy, syy float64
	for d, k := range counts {
		if d == 0 || k == 0 {
			continue
		}
		x, y := math.Log(float64(d)), math.Log(float64(k))
		n++
		sx, sy, sxx, sxy, syy = sx+x, sy+y, sxx+x*x, sxy+x*y, syy+y*y
	}
	vx, vy, cov := n*sxx-sx*sx, n*syy-sy*sy, n*sxy-sx*sy
	if vx <= 0 || vy <= 0 { // fewer than two degrees, or all equally often
		return 0
	}
	return cov * cov / (vx * vy)
}
