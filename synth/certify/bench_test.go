package certify

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/quarry-rl/quarry/kg/csr"
)

// userTime is the CPU time of this process: others load the machine.
func userTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// graphs are the generated graph and, when QUARRY_BENCH_DATA names a folder with medium-fb15k237/FB15k-237.tar.gz, that one.
func graphs(b *testing.B) map[string]*csr.Graph {
	out := map[string]*csr.Graph{"skewed": skewed(b, 1, 15000, 300000, 200)}
	if g := freebase(b); g != nil {
		out["fb15k237"] = g
	} else {
		b.Log("QUARRY_BENCH_DATA is not set: no FB15k-237")
	}
	return out
}

// BenchmarkCertify chooses conditions and writes certificates for uniform simple walks of 4 hops, refused ones included;
// accepted/s and walks/s are per second of CPU time, drawing the walks and making the index aside.
//
//	plain       one answer, N1, at least 5 entities left by each condition and by those of each place together
//	minimal     N3 too (the default)
//	everything  N2, and the five conditions of independence too
func BenchmarkCertify(b *testing.B) {
	for name, g := range graphs(b) {
		x, err := NewIndex(g, nil, 5, nil)
		if err != nil {
			b.Fatal(err)
		}
		walks := completed(g, 1, 5000, 4, nil)
		for _, c := range []struct {
			name string
			o    Options
			good func(Certificate) bool
		}{
			{"plain", Options{Plain: true}, func(c Certificate) bool { return c.Answers == 1 && c.Necessity.N1 }},
			{"minimal", Options{}, func(c Certificate) bool { return c.Answers == 1 && c.Necessity.N1 && c.Necessity.N3 }},
			{"everything", Options{Apart: true, Induced: true}, func(c Certificate) bool {
				return c.Answers == 1 && c.Necessity.Level() == 3 && c.Independence.Holds()
			}},
		} {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				h := NewChooser(x, c.o)
				chosen, good := 0, 0
				b.ReportAllocs()
				b.ResetTimer()
				from := userTime(b)
				for i := range b.N {
					w := walks[i%len(walks)]
					if k := h.Choose(w); k.Reason == "" {
						chosen++
						cert, err := h.Certify(w, k.Conditions)
						if err != nil {
							b.Fatal(err)
						}
						if c.good(cert) {
							good++
						}
					}
				}
				s := (userTime(b) - from).Seconds()
				b.ReportMetric(float64(good)/s, "accepted/s")
				b.ReportMetric(float64(b.N)/s, "walks/s")
				b.ReportMetric(float64(chosen)/float64(b.N), "chosen/walk")
				b.ReportMetric(float64(good)/float64(b.N), "accepted/walk")
			})
		}
	}
}

// BenchmarkShares prints, for 1,000 walks a graph, the shares that the search, the bounds and the greedy choices turn into
// questions, by each definition of acceptance. The first two are over the same conditions, the others over the best.
func BenchmarkShares(b *testing.B) {
	for name, g := range graphs(b) {
		for _, o := range []Options{{Plain: true}, {}} {
			kind := map[bool]string{true: "plain", false: "minimal"}[o.Plain]
			b.Run(name+"/"+kind, func(b *testing.B) { reportShares(b, g, nil, completed(g, 1, 1000, 4, nil), o) })
		}
	}
	g, may, sets := demo(b)
	walks := completed(g, 1, 1000, 4, may)
	for _, o := range []Options{{Plain: true}, {}} {
		kind := map[bool]string{true: "plain", false: "minimal"}[o.Plain]
		b.Run("demo/"+kind, func(b *testing.B) { reportShares(b, g, nil, walks, o) })
		b.Run("demo-sets/"+kind, func(b *testing.B) { reportShares(b, g, sets, walks, o) })
	}
}

func reportShares(b *testing.B, g *csr.Graph, sets [][]uint32, walks []Walk, o Options) {
	x, err := NewIndex(g, sets, 5, nil)
	if err != nil {
		b.Fatal(err)
	}
	var s shares
	for range b.N {
		s = measure(x, walks, o)
	}
	b.ReportMetric(100*s.ours, "ours%")
	b.ReportMetric(100*s.same, "same-pool%")
	b.ReportMetric(100*s.bound, "bound%")
	b.ReportMetric(100*s.greedy, "greedy-answer%")
	b.ReportMetric(100*s.greedyAll, "greedy-anywhere%")
	b.ReportMetric(s.ours/s.bound, "ours/bound")
	b.ReportMetric(s.ours/s.greedy, "ours/greedy")
	b.ReportMetric(s.greedy/s.bound, "greedy/bound")
}

// BenchmarkAnswerSet counts the answers of the walks' patterns with the general solver, without conditions.
func BenchmarkAnswerSet(b *testing.B) {
	for name, g := range graphs(b) {
		x, err := NewIndex(g, nil, 5, nil)
		if err != nil {
			b.Fatal(err)
		}
		var qs []Query
		for _, w := range completed(g, 1, 500, 4, nil) {
			qs = append(qs, Question(w, nil))
		}
		s := NewSolver(x)
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				q := qs[i%len(qs)]
				if a, err := s.AnswerSet(q, 0); err != nil || !slices.IsSorted(a) {
					b.Fatal(a, err)
				}
			}
		})
	}
}
