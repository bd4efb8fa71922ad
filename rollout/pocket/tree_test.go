package pocket

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	quarry "github.com/quarry-rl/quarry"
	"pgregory.net/rapid"
)

const testFeatures = 6

// choicesGen draws small choices over a tiny alphabet, so that prefixes and shared stems are common.
func choicesGen(t *rapid.T) *Choices {
	n := rapid.IntRange(1, 9).Draw(t, "n")
	var cands []Candidate
	for range n {
		text := rapid.StringMatching(`[abc]{0,4}`).Draw(t, "text")
		fs := rapid.SliceOfN(rapid.Uint16Range(0, testFeatures-1), 0, 5).Draw(t, "features")
		cands = append(cands, Candidate{Text: []byte(text), Features: fs})
	}
	return NewChoices(cands)
}

func weightsGen(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-3, 3), testFeatures, testFeatures).Draw(t, "w")
}

func closed(c Candidate) []int32 {
	ids := make([]int32, 0, len(c.Text)+1)
	for _, b := range c.Text {
		ids = append(ids, int32(b))
	}
	return append(ids, tokenImEnd)
}

func sum(xs []float64) float64 {
	s := 0.0
	for _, x := range xs {
		s += x
	}
	return s
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(a), math.Abs(b)) }

func TestNewChoicesSortsAndKeepsTheFirst(t *testing.T) {
	c := NewChoices([]Candidate{
		{Text: []byte("b"), Features: []uint16{3, 1, 1}},
		{Text: []byte("ab")},
		{Text: []byte("b"), Features: []uint16{9}},
		{Text: []byte("a")},
	})
	var texts []string
	for _, k := range c.Candidates {
		texts = append(texts, string(k.Text))
	}
	if got := strings.Join(texts, ","); got != "a,ab,b" {
		t.Fatalf("texts %s", got)
	}
	if f := c.Candidates[2].Features; len(f) != 3 || f[0] != 1 || f[1] != 1 || f[2] != 3 {
		t.Fatalf("features of b %v: the first given must stay, sorted, with repeats", f)
	}
}

// Golden values worked by hand: scores log 1, log 2, log 5 for "ab", "abc", "x".
func TestLogProbsByHand(t *testing.T) {
	c := NewChoices([]Candidate{
		{Text: []byte("ab"), Features: []uint16{0}}, {Text: []byte("abc"), Features: []uint16{1}}, {Text: []byte("x"), Features: []uint16{2}},
	})
	tree := NewTree(c, []float64{math.Log(1), math.Log(2), math.Log(5)})
	half := func(m float64) float64 { return math.Sqrt(m) } // T=2
	for _, k := range []struct {
		ids  []int32
		temp float64
		want []float64
	}{
		{[]int32{'a', 'b', tokenImEnd}, 1, []float64{math.Log(3. / 8), 0, math.Log(1. / 3)}},
		{[]int32{'a', 'b', 'c', tokenImEnd}, 1, []float64{math.Log(3. / 8), 0, math.Log(2. / 3), 0}},
		{[]int32{'x', tokenImEnd}, 1, []float64{math.Log(5. / 8), 0}},
		{[]int32{'x'}, 2, []float64{math.Log(half(5) / (half(5) + half(3)))}},
		{[]int32{'a', 'b', 'c'}, 2, []float64{math.Log(half(3) / (half(5) + half(3))), 0, math.Log(half(2) / (half(2) + half(1)))}},
		{[]int32{'x', tokenImEnd}, 0, []float64{math.Log(5. / 8), 0}}, // greedy reports T=1
		{nil, 1, nil},
	} {
		got, err := tree.LogProbs(k.ids, k.temp)
		if err != nil || len(got) != len(k.want) {
			t.Fatalf("%v at %v: %v, %v", k.ids, k.temp, got, err)
		}
		for i := range got {
			if !near(got[i], k.want[i], 1e-14) {
				t.Errorf("%v at %v: token %d has %v, want %v", k.ids, k.temp, i, got[i], k.want[i])
			}
		}
	}
}

func TestTelescopesToTheSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := choicesGen(t)
		tree := NewTree(c, weightsGen(t))
		p := tree.Probs()
		if !near(sum(p), 1, 1e-12) {
			t.Fatalf("candidate probabilities sum to %v", sum(p))
		}
		for i, k := range c.Candidates {
			lp, err := tree.LogProbs(closed(k), 1)
			if err != nil {
				t.Fatal(err)
			}
			if !near(sum(lp), math.Log(p[i]), 1e-12) {
				t.Fatalf("%q: tokens give %v, softmax %v", k.Text, sum(lp), math.Log(p[i]))
			}
		}
	})
}

// Every node's children, found by trying all ids, sum to one and carry the entropy.
func TestChildrenSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := choicesGen(t)
		tree := NewTree(c, weightsGen(t))
		temp := rapid.SampledFrom([]float64{0.3, 0.7, 1, 2.5}).Draw(t, "T")
		for _, k := range c.Candidates {
			ids := closed(k)
			node := tree.Root()
			for depth := range ids {
				total, entropy := 0.0, 0.0
				for id := int32(0); id < vocabSize; id++ {
					if _, ok := tree.Advance(node, id); !ok {
						continue
					}
					lp, err := tree.LogProbs(append(ids[:depth:depth], id), temp)
					if err != nil {
						t.Fatal(err)
					}
					p := math.Exp(lp[depth])
					total += p
					entropy -= p * lp[depth]
				}
				if !near(total, 1, 1e-12) || !near(entropy, tree.Entropy(node, temp), 1e-12) {
					t.Fatalf("after %v: sum %v, entropy %v and %v", ids[:depth], total, entropy, tree.Entropy(node, temp))
				}
				node, _ = tree.Advance(node, ids[depth])
			}
			if !node.Done() || tree.Entropy(node, temp) != 0 {
				t.Fatalf("%q does not end after <|im_end|>", k.Text)
			}
		}
	})
}

func TestGradientByFiniteDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := choicesGen(t)
		w := weightsGen(t)
		temp := rapid.SampledFrom([]float64{1, 0.7}).Draw(t, "T")
		ids := closed(rapid.SampledFrom(c.Candidates).Draw(t, "candidate"))
		ids = ids[:rapid.IntRange(0, len(ids)).Draw(t, "len")]
		scale := rapid.SliceOfN(rapid.Float64Range(-2, 2), len(ids), len(ids)).Draw(t, "scale")
		f := func(w []float64) float64 {
			lp, err := NewTree(c, w).LogProbs(ids, temp)
			if err != nil {
				t.Fatal(err)
			}
			s := 0.0
			for i := range lp {
				s += scale[i] * lp[i]
			}
			return s
		}
		g := make([]float64, testFeatures)
		g[0] = 10 // must be added to
		if err := NewTree(c, w).AddGrad(g, ids, scale, temp); err != nil {
			t.Fatal(err)
		}
		g[0] -= 10
		const h = 1e-5
		for j := range w {
			up, down := append([]float64{}, w...), append([]float64{}, w...)
			up[j] += h
			down[j] -= h
			if num := (f(up) - f(down)) / (2 * h); !near(num, g[j], 1e-7) {
				t.Fatalf("feature %d: gradient %v, differences %v", j, g[j], num)
			}
		}
	})
}

func TestSamplingFrequencies(t *testing.T) {
	c := NewChoices([]Candidate{
		{Text: []byte("ab"), Features: []uint16{0}}, {Text: []byte("abc"), Features: []uint16{1}},
		{Text: []byte("ad"), Features: []uint16{2}}, {Text: []byte("x"), Features: []uint16{3}}, {Text: nil, Features: []uint16{4}},
	})
	tree := NewTree(c, []float64{0.5, -0.3, 1, 0.2, -1})
	for _, temp := range []float64{1, 0.7} {
		rng := rand.New(rand.NewPCG(7, 11))
		const n = 40000
		count := map[string]float64{}
		for range n {
			node, text := tree.Root(), []byte{}
			for !node.Done() {
				id, lp, next := tree.Next(node, temp, rng.Float64())
				if want, err := tree.LogProbs(append(toIDs(text), id), temp); err != nil || want[len(text)] != lp {
					t.Fatalf("Next says %v, LogProbs %v, %v", lp, want, err)
				}
				if node = next; id < 256 {
					text = append(text, byte(id))
				}
			}
			count[string(text)]++
		}
		chi := 0.0
		for _, k := range c.Candidates {
			lp, err := tree.LogProbs(closed(k), temp)
			if err != nil {
				t.Fatal(err)
			}
			want := n * math.Exp(sum(lp))
			chi += (count[string(k.Text)] - want) * (count[string(k.Text)] - want) / want
		}
		if chi > 18.47 { // 99.9 % of chi-square with 4 degrees of freedom
			t.Errorf("T=%v: chi-square %v, counts %v", temp, chi, count)
		}
	}
}

func toIDs(text []byte) []int32 {
	var ids []int32
	for _, b := range text {
		ids = append(ids, int32(b))
	}
	return ids
}

// The children are laid out on [0,1) in id order, <|im_end|> last.
func TestNextInvertsInIDOrder(t *testing.T) {
	c := NewChoices([]Candidate{{Text: nil}, {Text: []byte("a")}, {Text: []byte("b")}, {Text: []byte("b!")}})
	tree := NewTree(c, nil)
	for _, k := range []struct {
		u    float64
		want int32
	}{{0, 'a'}, {0.2499, 'a'}, {0.2501, 'b'}, {0.7499, 'b'}, {0.7501, tokenImEnd}, {math.Nextafter(1, 0), tokenImEnd}} {
		if id, _, _ := tree.Next(tree.Root(), 1, k.u); id != k.want {
			t.Errorf("u=%v gives %d, want %d", k.u, id, k.want)
		}
	}
	if id, lp, _ := tree.Next(tree.Root(), 0, 0.9); id != 'b' || !near(lp, math.Log(0.5), 1e-15) {
		t.Errorf("greedy gives %d with %v", id, lp)
	}
	_, _, done := tree.Next(tree.Root(), 1, 0.9)
	if id, _, _ := tree.Next(done, 1, 0.5); !done.Done() || id != -1 {
		t.Errorf("token %d after the end", id)
	}
}

func TestUnscorable(t *testing.T) {
	tree := NewTree(NewChoices([]Candidate{{Text: []byte("ab")}, {Text: []byte("abc")}}), nil)
	for _, k := range []struct {
		ids []int32
		pos string
	}{
		{[]int32{'b'}, "position 0"}, {[]int32{'a', tokenImEnd}, "position 1"}, {[]int32{'a', 'b', 'd'}, "position 2"},
		{[]int32{'a', 'b', tokenImEnd, tokenImEnd}, "position 3"}, {[]int32{'a', 'b', 'c', 'c'}, "position 3"},
		{[]int32{-1}, "position 0"}, {[]int32{'a' + 256}, "position 0"}, {[]int32{1 << 20}, "position 0"}, {[]int32{257}, "position 0"},
	} {
		lp, err := tree.LogProbs(k.ids, 1)
		if quarry.KindOf(err) != quarry.KindUnscorable || !strings.Contains(err.Error(), k.pos) || lp != nil {
			t.Errorf("%v: %v, %v; want unscorable at %s", k.ids, lp, err, k.pos)
		}
		g := []float64{1}
		err = tree.AddGrad(g, k.ids, make([]float64, len(k.ids)), 1)
		if quarry.KindOf(err) != quarry.KindUnscorable || g[0] != 1 {
			t.Errorf("AddGrad %v: %v, %v", k.ids, g, err)
		}
	}
	for _, temp := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := tree.LogProbs([]int32{'a'}, temp); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("temperature %v: %v", temp, err)
		}
	}
	if _, err := NewTree(NewChoices(nil), nil).LogProbs([]int32{'a'}, 1); quarry.KindOf(err) != quarry.KindUnscorable {
		t.Errorf("no candidates: %v", err)
	}
}

// Scores hundreds apart neither underflow nor cost relative precision.
func TestExtremeScores(t *testing.T) {
	c := NewChoices([]Candidate{
		{Text: []byte("a"), Features: []uint16{0}}, {Text: []byte("b1"), Features: []uint16{1}}, {Text: []byte("b2"), Features: []uint16{2}},
	})
	tree := NewTree(c, []float64{900, -900, -901})
	lp, err := tree.LogProbs([]int32{'b', '1', tokenImEnd}, 1)
	if err != nil || !near(lp[0], -1800+math.Log1p(math.Exp(-1)), 1e-12) || !near(lp[1], -math.Log1p(math.Exp(-1)), 1e-12) {
		t.Fatalf("%v %v", lp, err)
	}
	tree = NewTree(c, []float64{20, -20, -21})
	lp, err = tree.LogProbs([]int32{'a'}, 1)
	want := -(math.Exp(-40) + math.Exp(-41))
	if err != nil || math.Abs(lp[0]/want-1) > 1e-9 {
		t.Fatalf("a likely token has %v, want %v: %v", lp[0], want, err)
	}
}

func benchChoices() (*Choices, []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	var cands []Candidate
	for range 150 {
		fs := make([]uint16, 35)
		for i := range fs {
			fs[i] = uint16(rng.IntN(200))
		}
		name := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, 1+rng.IntN(3))
		for range 15 {
			name = append(name, byte('a'+rng.IntN(26)))
		}
		text := append([]byte("<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \""), name...)
		cands = append(cands, Candidate{Text: append(text, "\"}}\n</tool_call>"...), Features: fs})
	}
	w := make([]float64, 200)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	return NewChoices(cands), w
}

func BenchmarkTreeSample(b *testing.B) {
	c, w := benchChoices()
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	tokens := 0
	for b.Loop() {
		tree := NewTree(c, w)
		for n := tree.Root(); !n.Done(); tokens++ {
			_, _, n = tree.Next(n, 1, rng.Float64())
		}
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkTreeGrad(b *testing.B) {
	c, w := benchChoices()
	ids := closed(c.Candidates[40])
	scale := make([]float64, len(ids))
	for i := range scale {
		scale[i] = 1
	}
	g := make([]float64, len(w))
	b.ReportAllocs()
	for b.Loop() {
		if err := NewTree(c, w).AddGrad(g, ids, scale, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(ids))/b.Elapsed().Seconds(), "tokens/s")
}
