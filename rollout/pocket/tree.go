package pocket

import (
	"fmt"
	"math"

	quarry "github.com/quarry-rl/quarry"
)

// greedyBelow is the temperature under which SGLang picks the likeliest token and reports its log-probability at T=1.
const greedyBelow = 1e-6

// tiny is where masses relative to the best candidate start to lose digits to denormals.
const tiny = 1e-280

// Tree is a policy over the choices of one context: the prefix trie of the candidates, each closed by <|im_end|>,
// with exact next-token probabilities. With M(n) the summed exp(score) below node n,
//
//	log p_T(child) = log M(child)/T - log sum over siblings of M^(1/T)
//
// so that at T=1 the product over the tokens of a candidate is its softmax probability; at another T it is a softmax
// over tokens, not over candidates. The trie is never built: a node is a range of the sorted candidates that share a
// prefix. A Tree is safe for concurrent use.
type Tree struct {
	cands []Candidate
	score []float64
	mass  []float64 // exp(score - best)
	best  float64
}

// NewTree scores every candidate with the weights w, indexed by feature id; a feature beyond len(w) weighs 0.
func NewTree(c *Choices, w []float64) *Tree {
	n := len(c.Candidates)
	buf := make([]float64, 2*n)
	t := &Tree{cands: c.Candidates, score: buf[:n:n], mass: buf[n:], best: math.Inf(-1)}
	for i := range t.cands {
		s := 0.0
		for _, f := range t.cands[i].Features {
			if int(f) < len(w) {
				s += w[f]
			}
		}
		t.score[i] = s
		t.best = max(t.best, s)
	}
	for i, s := range t.score {
		t.mass[i] = math.Exp(s - t.best)
	}
	return t
}

// Probs returns the probability of each candidate at T=1, in the order of Choices.
func (t *Tree) Probs() []float64 {
	out := make([]float64, len(t.mass))
	sum := 0.0
	for _, m := range t.mass {
		sum += m
	}
	for i, m := range t.mass {
		out[i] = m / sum
	}
	return out
}

// Node is a position in the tree: the candidates that begin with the tokens read so far. It depends on the Choices
// alone, so a node of one tree is the same node of every tree over those choices.
type Node struct {
	lo, hi, depth int
	done          bool
}

// Done says whether <|im_end|> has been read: nothing follows.
func (n Node) Done() bool { return n.done }

// Root is the start of the turn.
func (t *Tree) Root() Node { return Node{hi: len(t.cands)} }

// ends says whether a candidate ends at n; sorting puts it first in the range.
func (t *Tree) ends(n Node) bool { return len(t.cands[n.lo].Text) == n.depth }

// dead says whether n has no children.
func (t *Tree) dead(n Node) bool { return n.done || n.lo >= n.hi }

// forced says whether n has exactly one child. The range is sorted, so its ends tell.
func (t *Tree) forced(n Node) bool {
	if n.hi-n.lo == 1 {
		return true
	}
	return !t.ends(n) && t.cands[n.lo].Text[n.depth] == t.cands[n.hi-1].Text[n.depth]
}

// Advance follows the child id of n; false when no candidate continues so.
func (t *Tree) Advance(n Node, id int32) (Node, bool) {
	if t.dead(n) || id < 0 || id > 255 && id != tokenImEnd {
		return n, false
	}
	ends := t.ends(n)
	if id == tokenImEnd {
		return Node{lo: n.lo, hi: n.lo + 1, depth: n.depth + 1, done: true}, ends
	}
	lo := n.lo
	if ends {
		lo++
	}
	b := byte(id)
	lo = t.search(lo, n.hi, n.depth, b, false)
	hi := t.search(lo, n.hi, n.depth, b, true)
	return Node{lo: lo, hi: hi, depth: n.depth + 1}, lo < hi
}

// search returns the first index in [lo,hi) whose byte at depth is >= b, or > b when after is set.
func (t *Tree) search(lo, hi, depth int, b byte, after bool) int {
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c := t.cands[mid].Text[depth]; c < b || after && c == b {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// child is one edge out of a node.
type child struct {
	id      int32
	node    Node
	logMass float64 // log M(child) - best
	logp    float64 // at the temperature asked for
}

// children appends the edges of n in id order and fills in their log-probabilities at temperature temp.
// n must have children.
func (t *Tree) children(n Node, temp float64, buf []child) []child {
	lo := n.lo
	if t.ends(n) {
		lo++
	}
	for lo < n.hi {
		b, hi := t.cands[lo].Text[n.depth], lo+1
		for hi < n.hi && t.cands[hi].Text[n.depth] == b {
			hi++
		}
		buf = append(buf, child{id: int32(b), node: Node{lo: lo, hi: hi, depth: n.depth + 1}, logMass: t.logMass(lo, hi)})
		lo = hi
	}
	if t.ends(n) {
		buf = append(buf, child{
			id: tokenImEnd, node: Node{lo: n.lo, hi: n.lo + 1, depth: n.depth + 1, done: true},
			logMass: t.logMass(n.lo, n.lo+1),
		})
	}
	logSoftmax(buf, temp)
	return buf
}

// logMass is log of the summed exp(score - best) over [lo,hi). The range is summed itself, never as a difference of
// prefix sums, and from its own maximum when its masses are too small, so no digit is lost.
func (t *Tree) logMass(lo, hi int) float64 {
	if hi-lo == 1 {
		return t.score[lo] - t.best
	}
	sum := 0.0
	for _, m := range t.mass[lo:hi] {
		sum += m
	}
	if sum > tiny {
		return math.Log(sum)
	}
	top := t.score[lo]
	for _, s := range t.score[lo:hi] {
		top = max(top, s)
	}
	sum = 0
	for _, s := range t.score[lo:hi] {
		sum += math.Exp(s - top)
	}
	return top - t.best + math.Log(sum)
}

// logSoftmax sets logp of every child. Written around log1p so that a probability next to 1 keeps its relative precision.
func logSoftmax(kids []child, temp float64) {
	top := 0
	for i := range kids {
		if kids[i].logMass > kids[top].logMass {
			top = i
		}
	}
	rest := 0.0
	for i := range kids {
		if i != top {
			rest += math.Exp((kids[i].logMass - kids[top].logMass) / temp)
		}
	}
	z := math.Log1p(rest)
	for i := range kids {
		kids[i].logp = (kids[i].logMass-kids[top].logMass)/temp - z
	}
}

// effective maps a greedy temperature to the T=1 its log-probabilities are reported at.
func effective(temperature float64) float64 {
	if temperature < greedyBelow {
		return 1
	}
	return temperature
}

// Next draws the token after n: the inverse of the distribution function at u in [0,1) over the children in id order.
// Below temperature 1e-6 it is the likeliest child (the lowest id of equals), with its log-probability at T=1, as
// SGLang does. At a node without children it returns id -1.
func (t *Tree) Next(n Node, temperature, u float64) (id int32, logp float64, next Node) {
	if t.dead(n) {
		return -1, 0, n
	}
	if t.forced(n) {
		if t.ends(n) {
			return tokenImEnd, 0, Node{lo: n.lo, hi: n.hi, depth: n.depth + 1, done: true}
		}
		return int32(t.cands[n.lo].Text[n.depth]), 0, Node{lo: n.lo, hi: n.hi, depth: n.depth + 1}
	}
	var arr [16]child
	kids := t.children(n, effective(temperature), arr[:0])
	pick := 0
	if temperature < greedyBelow {
		for i := range kids {
			if kids[i].logMass > kids[pick].logMass {
				pick = i
			}
		}
	} else {
		sum := 0.0
		for i := range kids {
			p := math.Exp(kids[i].logp)
			if p > 0 {
				pick = i // also where rounding leaves u at the very end
			}
			if sum += p; u < sum {
				break
			}
		}
	}
	k := &kids[pick]
	return k.id, k.logp, k.node
}

// Entropy of the next token after n at a temperature, in nats; 0 where only one token can follow.
func (t *Tree) Entropy(n Node, temperature float64) float64 {
	if t.dead(n) || t.forced(n) {
		return 0
	}
	var arr [16]child
	h := 0.0
	for _, k := range t.children(n, effective(temperature), arr[:0]) {
		if p := math.Exp(k.logp); p > 0 {
			h -= p * k.logp
		}
	}
	return h
}

// LogProbs returns the log-probability of each id of a continuation, or of a proper prefix of one, at a temperature;
// below 1e-6 at T=1. A sequence outside the candidates gives a *quarry.Error of KindUnscorable that names the
// position within ids and the token; a negative or undefined temperature one of KindInvalid.
func (t *Tree) LogProbs(ids []int32, temperature float64) ([]float64, error) {
	if err := checkTemperature(temperature); err != nil {
		return nil, err
	}
	temp := effective(temperature)
	out := make([]float64, len(ids))
	n := t.Root()
	var arr [16]child
	for i, id := range ids {
		next, ok := t.Advance(n, id)
		if !ok {
			return nil, t.unscorable(n, i, id)
		}
		if !t.forced(n) {
			for _, k := range t.children(n, temp, arr[:0]) {
				if k.id == id {
					out[i] = k.logp
				}
			}
		}
		n = next
	}
	return out, nil
}

// AddGrad adds sum over t of scale[t] * d log p_T(ids[t]) / dW to g, indexed by feature id: at a node
// (g(child) - sum over siblings of p_T g)/T with g(n) the expected features below n at T=1. Forced tokens and zero
// scales cost nothing. Errors are those of LogProbs, and g is then unchanged.
func (t *Tree) AddGrad(g []float64, ids []int32, scale []float64, temperature float64) error {
	if err := checkTemperature(temperature); err != nil {
		return err
	}
	if len(scale) != len(ids) {
		return &quarry.Error{Op: "gradient", Kind: quarry.KindInternal,
			Msg: fmt.Sprintf("%d scales for %d tokens: one scale per token is needed", len(scale), len(ids))}
	}
	temp := effective(temperature)
	coef := make([]float64, len(t.cands)) // of each candidate's features, so that features are walked once
	n := t.Root()
	var arr [16]child
	for i, id := range ids {
		next, ok := t.Advance(n, id)
		if !ok {
			return t.unscorable(n, i, id)
		}
		if scale[i] != 0 && !t.forced(n) {
			for _, k := range t.children(n, temp, arr[:0]) {
				c := -math.Exp(k.logp)
				if k.id == id {
					c = -math.Expm1(k.logp) // 1-p without cancellation
				}
				c *= scale[i] / temp
				for j := k.node.lo; j < k.node.hi; j++ {
					coef[j] += c * math.Exp(t.score[j]-t.best-k.logMass)
				}
			}
		}
		n = next
	}
	for i, c := range coef {
		if c == 0 {
			continue
		}
		for _, f := range t.cands[i].Features {
			if int(f) < len(g) {
				g[f] += c
			}
		}
	}
	return nil
}

func checkTemperature(temperature float64) error {
	if temperature >= 0 && !math.IsInf(temperature, 1) {
		return nil
	}
	return &quarry.Error{Op: "score", Kind: quarry.KindInvalid, Subject: "temperature",
		Msg: fmt.Sprintf("%v is not a temperature: expected a finite number >= 0", temperature)}
}

func (t *Tree) unscorable(n Node, pos int, id int32) error {
	msg := fmt.Sprintf("unscorable: token %d at position %d continues none of the %d candidates left", id, pos, n.hi-n.lo)
	if n.done {
		msg = fmt.Sprintf("unscorable: token %d at position %d stands after <|im_end|>", id, pos)
	}
	return &quarry.Error{Op: "score", Kind: quarry.KindUnscorable, Subject: fmt.Sprintf("position %d", pos), Msg: msg,
		Hint: "the continuation must be one the policy's enumerator offers for exactly this context"}
}
