package certify

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// CountLimit is where counting answers for a certificate stops: more than 6 bits gained are not told apart.
const CountLimit = 64

// Necessity says which levels of path necessity a question passes. N0 to N3 look at all statements, carried by a text or
// not.
type Necessity struct {
	N0 bool // no statement joins anchor and answer
	N1 bool // the answer is joined to no vertex of the path but the last before it (the MindDR report's sense)
	N2 bool // no statement joins two vertices of the path that do not follow each other
	N3 bool // minimal: without any one atom there are more answers, and no atom of the answer nor pair of them leaves fewer than leaf
	N4 bool // text: no document outside the last hop's names the answer together with an earlier vertex; set by TextNecessity
}

// Level is the highest level passed with all below it, -1 for none.
func (n Necessity) Level() int {
	for i, ok := range []bool{n.N0, n.N1, n.N2, n.N3, n.N4} {
		if !ok {
			return i - 1
		}
	}
	return 4
}

// Certificate is what is known of a question by the graph alone. Counts stop at CountLimit.
type Certificate struct {
	Necessity    Necessity
	Answers      int   // of the question
	PathAnswers  int   // of the walk alone
	Joint        int   // entities that the conditions on the answer leave alone; 0 when there are none
	Without      []int // answers left without each condition
	Free         bool  // without the first step there is another answer, and so without any
	Leaf         int   // the fewest entities that an atom of the answer, or a pair of them, leaves
	Independence Independence
	Rival        uint32 // an entity that fails one atom only, csr.NoDoc when none does; Solver.Rivals names the lowest
	Margin       int    // atoms the answer satisfies less those the best rival does; 0 when there are several answers, 2 for two or more
}

// Path is the necessity levels N0 to N2 of a walk.
func (x *Index) Path(w Walk) Necessity {
	n := Necessity{N0: true, N1: true, N2: true}
	last := len(w.Hops)
	for j := 2; j <= last; j++ {
		for i := range j - 1 {
			if (n.N2 || j == last) && x.Joined(w.At(i), w.At(j)) {
				n.N2 = false
				n.N1 = n.N1 && j != last
				n.N0 = n.N0 && (j != last || i != 0)
			}
		}
	}
	return n
}

// Certify counts out a question: a walk under conditions that its vertices satisfy, 64 at most.
func (h *Chooser) Certify(w Walk, conds []Condition) (Certificate, error) {
	if err := h.x.check(w, conds); err != nil {
		return Certificate{}, err
	}
	c := &h.c
	c.start(w)
	for _, k := range conds {
		c.add(k, h.x.candidates(k))
	}
	cert := Certificate{Necessity: h.x.Path(w), Rival: csr.NoDoc, Margin: 2}
	all := uint64(1)<<len(conds) - 1
	needed := true
	for i := range conds {
		c.under(all &^ (1 << i))
		found := c.answers(CountLimit)
		cert.Without = append(cert.Without, len(found))
		cert.rival(found, w.Answer())
	}
	if c.under(0); len(conds) == 1 {
		cert.PathAnswers = cert.Without[0]
	} else {
		cert.PathAnswers = len(c.answers(CountLimit))
	}
	c.under(all)
	cert.Answers = len(c.answers(CountLimit))
	for _, n := range cert.Without {
		needed = needed && n > cert.Answers
	}
	if c.chosen[c.n] != 0 {
		cert.Joint = c.common(c.n, CountLimit)
	}
	if cert.Free = c.loose(); cert.Free {
		cert.rival(c.chain[c.n:c.n+1], w.Answer())
	}
	if cert.Margin == 2 {
		cert.rival(c.anyOther(), w.Answer())
	}
	if cert.Answers != 1 {
		cert.Margin = 0
	}
	cert.Leaf = h.thinnest(w)
	cert.Necessity.N3 = cert.Answers == 1 && needed && cert.Free && cert.Leaf >= h.x.leaf
	cert.Independence = h.branches(w, conds, &cert)
	return cert, nil
}

// rival keeps the lowest entity that is not the answer.
func (c *Certificate) rival(found []uint32, answer uint32) {
	for _, v := range found {
		if v != answer {
			c.Rival, c.Margin = min(c.Rival, v), 1
		}
	}
}

// check says what is wrong with a walk or its conditions.
func (x *Index) check(w Walk, conds []Condition) error {
	if err := w.Check(x.G); err != nil {
		return err
	}
	if len(conds) > 64 {
		return &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%d conditions", len(conds)), Msg: "64 at most are certified",
			Hint: "a question that a reader can follow has three or so"}
	}
	for i, k := range conds {
		if k.Place < 1 || k.Place > len(w.Hops) || k.Set >= len(x.sets) || k.Set < 0 && (int(k.To) >= x.G.Entities() || int(k.Edge) >= x.G.Edges()) ||
			!has(x.candidates(k), w.At(k.Place)) {
			return &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("condition %d", i), Msg: "the walk's entity at its place does not satisfy it",
				Hint: "take conditions from the statements of the walk's own entities"}
		}
	}
	return nil
}

// anyOther lists an entity that fails the last step at most.
func (c *chains) anyOther() []uint32 {
	if c.out = c.out[:0]; c.chosen[c.n] == 0 {
		for v := range min(uint32(c.x.G.Entities()), 2) {
			c.out = append(c.out, v)
		}
		return c.out
	}
	for _, v := range c.bases[c.n] {
		if c.fits(c.n, v) && v != c.walk.Answer() {
			return append(c.out, v)
		}
	}
	return c.out
}

// thinnest is the fewest entities that an atom of the answer leaves, or two of them; counted up to CountLimit.
func (h *Chooser) thinnest(w Walk) int {
	c := &h.c
	ends := h.x.ends(w)
	fewest := min(len(ends), CountLimit)
	for i, k := range c.conds {
		if k.Place != c.n {
			continue
		}
		fewest = min(fewest, both(c.cands[i], ends, CountLimit))
		for j := range i {
			if c.conds[j].Place == c.n {
				c.under(1<<i | 1<<j)
				fewest = min(fewest, c.common(c.n, CountLimit))
			}
		}
	}
	return fewest
}

// branches takes the walk, with what the conditions on its inner vertices name, as one branch and each condition on the
// answer as another.
func (h *Chooser) branches(w Walk, conds []Condition, cert *Certificate) Independence {
	bits := func(without int) float64 { return math.Log2(float64(without) / float64(cert.Answers)) }
	// without the walk and all that hangs on it, the conditions on the answer are left; without those, everything
	rest := cert.Joint
	if rest == 0 {
		rest = min(h.x.G.Entities(), CountLimit)
	}
	path := Branch{Bits: bits(rest)}
	for i, hop := range w.Hops {
		path.Vertices = append(path.Vertices, w.At(i))
		path.Docs = append(path.Docs, h.x.G.Docs[hop.Edge])
	}
	out := []Branch{path}
	for i, k := range conds {
		b := Branch{Bits: bits(cert.Without[i])}
		if k.Place != len(w.Hops) {
			b = out[0]
		}
		if k.Set < 0 {
			b.Vertices, b.Docs = append(b.Vertices, k.To), append(b.Docs, h.x.G.Docs[k.Edge])
		}
		if k.Place != len(w.Hops) {
			out[0] = b
		} else {
			out = append(out, b)
		}
	}
	return h.x.Independent(out)
}
