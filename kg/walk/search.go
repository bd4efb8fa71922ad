package walk

import (
	"math"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

type role uint8

const (
	inside role = iota
	constant
	answer
)

// plan is the shape that a search lays into the graph, vertex by vertex from vertex 0 on.
type plan struct {
	hops   int
	closes bool             // the last hop leads back to vertex 0
	parent [MaxHops + 1]int // hop i starts at vertex parent[i] and, but for a closing one, leads to vertex i
	roles  [MaxHops + 1]role
}

func (p *plan) vertices() int {
	if p.closes {
		return p.hops
	}
	return p.hops + 1
}

// search is a depth-first search with drawn order: each hop is drawn among those that the rules allow and that were not
// taken back, in proportion to their weights; when none is left the hop before is taken back.
type search struct {
	g       *csr.Graph
	r       *Rules
	beta    float64
	top     float64  // largest relation weight
	useDocs bool     // whether documents decide anything
	marks   []uint64 // of each entity: walk number in this search << 16 | which pattern vertices it is adjacent to
	walk    uint64

	// of the search in hand
	plan    *plan
	rng     rng
	vertex  [MaxHops + 1]uint32
	hop     [MaxHops + 1]Hop
	half    [MaxHops + 1]uint32
	current [MaxHops + 1]uint32 // document that led to a vertex
	marked  uint64              // vertices whose neighbours carry their mark
	tried   []uint32            // half-edges taken back, of hop i from[i] on
	from    [MaxHops + 2]int
	refused refusals

	candidates []uint32
	weights    []float64
}

type refusals struct{ end, shortcut, relations, documents bool }

func (r refusals) reason() Reason {
	switch {
	case r.documents:
		return Documents
	case r.relations:
		return Relations
	case r.shortcut:
		return Shortcut
	case r.end:
		return End
	}
	return DeadEnd
}

func newSearch(g *csr.Graph, r *Rules) *search {
	s := &search{g: g, r: r, beta: r.Beta, top: 1}
	if s.beta == 0 {
		s.beta = 1
	}
	if len(r.Weights) > 0 {
		s.top = slices.Max(r.Weights)
	}
	s.useDocs = s.beta != 1 || r.MinDocs > 0 || !r.Undocumented
	return s
}

// find draws a start and lays the plan from there. The pattern is in vertex and hop.
func (s *search) find(p *plan) Reason {
	s.plan, s.refused, s.marked, s.tried = p, refusals{}, 0, s.tried[:0]
	s.walk++
	if !s.start() {
		return Start
	}
	s.current[0] = csr.NoDoc
	for i, backtracks := 1, 0; ; {
		if half, ok := s.draw(i); ok {
			s.put(i, half)
			if i == p.hops {
				return Complete
			}
			i++
			s.from[i] = len(s.tried)
			continue
		}
		if i == 1 {
			return s.refused.reason()
		}
		if backtracks == s.r.Backtracks {
			if backtracks == 0 {
				return s.refused.reason()
			}
			return Budget
		}
		backtracks++
		s.tried = s.tried[:s.from[i]]
		i--
		s.unmark(i)
		s.tried = append(s.tried, s.half[i])
	}
}

func (s *search) start() bool {
	n := uint32(s.g.Entities())
	if s.r.Starts != nil {
		n = uint32(len(s.r.Starts))
	}
	s.vertex[0] = None
	if n == 0 {
		return false
	}
	v := s.rng.below(n)
	if s.r.Starts != nil {
		v = s.r.Starts[v]
	}
	s.vertex[0] = v
	return s.allowed(s.plan.roles[0], v)
}

func (s *search) allowed(as role, v uint32) bool {
	may := s.r.Inside
	switch as {
	case constant:
		may = s.r.Anchor
	case answer:
		may = s.r.Answer
	default:
		if s.r.MaxDegree > 0 && s.g.Degree(v) > s.r.MaxDegree {
			return false
		}
	}
	return may == nil || may(v)
}

func (s *search) put(i int, half uint32) {
	v := s.vertex[s.plan.parent[i]]
	h := hopAt(s.g, v, half)
	if s.r.DocOf != nil {
		h.Doc = s.r.DocOf(h.Edge)
	}
	s.hop[i], s.half[i] = h, half
	if i == s.plan.vertices() {
		return // back at vertex 0
	}
	s.vertex[i], s.current[i] = h.Target, h.Doc
	if h.Doc == csr.NoDoc {
		s.current[i] = s.currentAt(i)
	}
}

// currentAt is the document that hop i would leave. A further branch from vertex 0 leaves that of the branch before.
func (s *search) currentAt(i int) uint32 {
	if from := s.plan.parent[i]; from != 0 {
		return s.current[from]
	}
	return s.current[i-1]
}

// mostTries bounds the draws before a row is read in full; rows up to fewest are read at once.
const (
	mostTries = 64
	fewest    = 8
)

// draw takes one half-edge for hop i, or none when the rules leave none. Long rows are drawn from by rejection first;
// after too many refusals, and for short rows, all allowed half-edges are weighed. Both give each its exact share, so it
// does not matter to the distribution which of them answers.
func (s *search) draw(i int) (uint32, bool) {
	v := s.vertex[s.plan.parent[i]]
	lo, hi := s.g.Off[v], s.g.Off[v+1]
	s.prepare(i)
	doc, cross := s.currentAt(i), s.beta
	if doc == csr.NoDoc {
		cross = 1
	}
	must := math.IsInf(cross, 1) // statements that cross come before all others
	if must {
		cross = 1
	}
	if hi-lo > fewest && s.top > 0 {
		bound := s.top * max(cross, 1)
		for range min((hi-lo)/2, mostTries) {
			p := lo + s.rng.below(hi-lo)
			w, crosses := s.weigh(i, v, p, doc)
			if crosses {
				w *= cross
			} else if must {
				continue
			}
			if w == bound || w > 0 && s.rng.float()*bound < w {
				return p, true
			}
		}
	}
	s.candidates, s.weights = s.candidates[:0], s.weights[:0]
	sum, only := 0.0, false
	for p := lo; p < hi; p++ {
		w, crosses := s.weigh(i, v, p, doc)
		if w == 0 || only && !crosses {
			continue
		}
		if crosses {
			w *= cross
			if must && !only {
				s.candidates, s.weights, sum, only = s.candidates[:0], s.weights[:0], 0, true
			}
		}
		s.candidates, s.weights = append(s.candidates, p), append(s.weights, w)
		sum += w
	}
	if len(s.candidates) == 0 {
		return 0, false
	}
	u := s.rng.float() * sum
	for j, w := range s.weights {
		if u -= w; u < 0 {
			return s.candidates[j], true
		}
	}
	return s.candidates[len(s.candidates)-1], true // u was rounded up to the sum
}

// weigh is the weight of half-edge p of v as hop i without the bias, 0 when the rules refuse it, and whether it leaves doc.
func (s *search) weigh(i int, v, p, doc uint32) (w float64, crosses bool) {
	target, w := s.g.Targets[p], 1.0
	closing := i == s.plan.vertices()
	if closing {
		if target != s.vertex[0] {
			return 0, false
		}
	} else if slices.Contains(s.vertex[:i], target) {
		return 0, false
	}
	relation := s.g.Steps[p].Relation()
	if s.r.Weights != nil {
		if w = s.r.Weights[relation]; w == 0 {
			return 0, false
		}
	}
	if slices.Contains(s.tried[s.from[i]:], p) {
		return 0, false
	}
	d := uint32(csr.NoDoc)
	if s.useDocs {
		e := s.g.EdgeAt(v, p)
		if s.r.DocOf != nil {
			d = s.r.DocOf(e)
		} else {
			d = s.g.Docs[e]
		}
		if d == csr.NoDoc && !s.r.Undocumented {
			return 0, false
		}
	}
	if !closing {
		if as := s.plan.roles[i]; !s.allowed(as, target) {
			s.refused.end = s.refused.end || as != inside
			return 0, false
		}
		if !s.joined(i, target) {
			return 0, false
		}
	}
	if !s.relationFits(i, relation) {
		s.refused.relations = true
		return 0, false
	}
	if !s.docFits(i, d) {
		s.refused.documents = true
		return 0, false
	}
	return w, d != doc && d != csr.NoDoc && doc != csr.NoDoc
}

// relationFits says whether the caps hold, and the minimum can still be reached, with a relation as hop i.
func (s *search) relationFits(i, relation int) bool {
	if s.r.MaxRelation == 0 && s.r.MinRelations == 0 {
		return true
	}
	uses, distinct := 0, 1
	for j := 1; j < i; j++ {
		r := s.hop[j].Step.Relation()
		if r == relation {
			uses++
			continue
		}
		fresh := 1
		for k := 1; k < j; k++ {
			if s.hop[k].Step.Relation() == r {
				fresh = 0
				break
			}
		}
		distinct += fresh
	}
	if s.r.MaxRelation > 0 && uses >= s.r.MaxRelation {
		return false
	}
	return distinct+s.plan.hops-i >= s.r.MinRelations
}

// docFits says whether the minimum of documents can still be reached with document d at hop i.
func (s *search) docFits(i int, d uint32) bool {
	left := s.plan.hops - i
	if left >= s.r.MinDocs {
		return true
	}
	p := Path{Hops: s.hop[1:i]}
	distinct := p.Documents()
	if d != csr.NoDoc && !slices.ContainsFunc(p.Hops, func(h Hop) bool { return h.Doc == d }) {
		distinct++
	}
	return distinct+left >= s.r.MinDocs
}
