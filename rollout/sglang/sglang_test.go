package sglang_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/sglang"
)

var set = pocket.FeatureSet{Name: "toy/1", Names: []string{"a", "b", "c"}}

// branching offers 120 candidates that part at every one of their first seven bytes, so that many tokens have entropy.
type branching struct{}

func (branching) Enumerate(ids []int32, _ []string) (*pocket.Choices, error) {
	var cands []pocket.Candidate
	for i := range 120 {
		text := fmt.Appendf(nil, "%07b %d %s", i, len(ids), strings.Repeat(".", 40))
		cands = append(cands, pocket.Candidate{Text: text, Features: []uint16{uint16(i % 3), uint16(i / 40)}})
	}
	return pocket.NewChoices(cands), nil
}

func encode(text string) []int32 {
	var ids []int32
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids
}

func prompt(n int) []int32 {
	return append(append(encode(strings.Repeat("x", n)), 257), encode("assistant\n")...)
}

// weights writes a file of a version whose numbers differ from every other version's.
func weights(t testing.TB, version int) (path string, w []float64) {
	t.Helper()
	ws := pocket.NewWeights(set)
	ws.Version = version
	copy(ws.W, []float64{0.3 * float64(version), -0.2 * float64(version), 0.5})
	path = filepath.Join(t.TempDir(), "weights.json")
	if _, err := ws.Save(path, set); err != nil {
		t.Fatal(err)
	}
	return path, ws.W
}

func engine(t testing.TB, o pocket.Options) (*sglang.Client, string) {
	t.Helper()
	o.Enumerator, o.FeatureSet = branching{}, set
	s, err := pocket.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	url, closeServer, err := s.Listen(context.WithoutCancel(t.Context()), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, url)
	t.Cleanup(func() {
		if err := closeServer(); err != nil {
			t.Error(err)
		}
	})
	return c, url
}

func client(t testing.TB, url string) *sglang.Client {
	c := sglang.New(url, sglang.Options{MaxConns: 8, Backoff: time.Millisecond})
	t.Cleanup(c.Close)
	return c
}

func seed(n int64) *int64 { return &n }

func TestGenerateAndScoreAgree(t *testing.T) {
	path, w := weights(t, 1)
	c, _ := engine(t, pocket.Options{WeightsPath: path, CacheContexts: 8})
	ids := prompt(100)
	for i := range int64(20) {
		req := sglang.GenerateRequest{InputIDs: ids, MaxNewTokens: 200, Temperature: 1, Seed: seed(i)}
		r, err := c.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if r.Finish.Type != "stop" || r.OutputIDs[len(r.OutputIDs)-1] != 258 || r.PromptTokens != len(ids) || r.WeightVersion != "1" {
			t.Fatalf("%+v", r)
		}
		if d := cmp.Diff([]sglang.VersionSpan{{Version: "1", Start: 0, End: len(r.OutputIDs)}}, r.Spans); d != "" {
			t.Fatal(d)
		}
		again, err := c.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r.Logprobs, again.Logprobs); d != "" || !cmp.Equal(r.OutputIDs, again.OutputIDs) {
			t.Fatalf("one seed, two answers: %s", d)
		}
		scored, err := c.ScoreAtT1(t.Context(), append(append([]int32{}, ids...), r.OutputIDs...), len(ids))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r.Logprobs, scored); d != "" {
			t.Fatal(d)
		}
		// Another temperature gives the tree's numbers at that temperature.
		req.Temperature = 0.7
		warm, err := c.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if want := rescore(t, ids, w, warm.OutputIDs, 0.7); cmp.Diff(want, warm.Logprobs) != "" {
			t.Fatal(cmp.Diff(want, warm.Logprobs))
		}
	}
	if got, err := c.ScoreAtT1(t.Context(), ids, len(ids)); err != nil || len(got) != 0 {
		t.Errorf("scoring nothing: %v, %v", got, err)
	}
}

func rescore(t *testing.T, ids []int32, w []float64, out []int32, temperature float64) []float64 {
	t.Helper()
	choices, err := branching{}.Enumerate(ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	lp, err := pocket.NewTree(choices, w).LogProbs(out, temperature)
	if err != nil {
		t.Fatal(err)
	}
	return lp
}

// slow makes the engine rest so many seconds after each token; called again it lets each response go on by one token.
func slow(t *testing.T, url string, seconds int) {
	t.Helper()
	resp, err := http.Post(url+"/slow_down", "application/json", strings.NewReader(fmt.Sprintf(`{"forward_sleep_time":%d}`, seconds)))
	if err != nil || resp.StatusCode != http.StatusOK || resp.Body.Close() != nil {
		t.Fatal(resp, err)
	}
}

// stepTo lets the one running response write n tokens, then rest.
func stepTo(t *testing.T, c *sglang.Client, url string, prompt, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		waitLoad(t, c, func(l sglang.Load) bool { return l.Tokens == prompt+i })
		if i < n {
			slow(t, url, 3600)
		}
	}
}

func waitLoad(t *testing.T, c *sglang.Client, ready func(sglang.Load) bool) {
	t.Helper()
	for {
		l, err := c.Loads(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ready(l) {
			return
		}
	}
}

type generated struct {
	r   *sglang.GenerateResult
	err error
}

func generateAsync(ctx context.Context, c *sglang.Client, req sglang.GenerateRequest) <-chan generated {
	ch := make(chan generated, 1)
	go func() {
		r, err := c.Generate(ctx, req)
		ch <- generated{r, err}
	}()
	return ch
}

func TestUpdateMidResponse(t *testing.T) {
	path1, w1 := weights(t, 1)
	path2, w2 := weights(t, 2)
	c, url := engine(t, pocket.Options{WeightsPath: path1})
	ids := prompt(10)
	for _, temperature := range []float64{1, 0.7} {
		if err := c.UpdateWeights(t.Context(), path1, "one"); err != nil {
			t.Fatal(err)
		}
		slow(t, url, 3600)
		call := generateAsync(t.Context(), c, sglang.GenerateRequest{InputIDs: ids, MaxNewTokens: 200, Temperature: temperature})
		stepTo(t, c, url, len(ids), 3)
		if err := c.UpdateWeights(t.Context(), path2, "two"); err != nil {
			t.Fatal(err)
		}
		slow(t, url, 0)
		g := <-call
		if g.err != nil {
			t.Fatal(g.err)
		}
		n := len(g.r.OutputIDs)
		if len(g.r.Spans) != 2 || g.r.Spans[0].Version != "one" || g.r.Spans[1].Version != "two" || g.r.Spans[0].End != 3 || g.r.Spans[1].End != n || g.r.WeightVersion != "two" {
			t.Fatalf("%+v", g.r)
		}
		for i, w := range [][]float64{w1, w2} {
			want := rescore(t, ids, w, g.r.OutputIDs, temperature)
			for j := g.r.Spans[i].Start; j < g.r.Spans[i].End; j++ {
				if math.Abs(g.r.Logprobs[j]-want[j]) > 1e-9 {
					t.Errorf("T=%v: token %d under %s has %v, rescored %v", temperature, j, g.r.Spans[i].Version, g.r.Logprobs[j], want[j])
				}
			}
		}
	}
	// Refused weights leave the old ones and do not leave the engine paused.
	if err := c.UpdateWeights(t.Context(), "nowhere", "three"); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
	info, err := c.ModelInfo(t.Context())
	if err != nil || info.WeightVersion != "two" || info.ModelPath != path2 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := c.Generate(t.Context(), sglang.GenerateRequest{InputIDs: ids, MaxNewTokens: 1, Temperature: 1}); err != nil {
		t.Error(err)
	}
}

func TestPauseHoldsAndAbortReturnsPartial(t *testing.T) {
	c, url := engine(t, pocket.Options{})
	ids := prompt(10)
	req := sglang.GenerateRequest{InputIDs: ids, MaxNewTokens: 200, Temperature: 1}
	for _, mode := range []sglang.PauseMode{sglang.PauseRetract, sglang.PauseInPlace} {
		slow(t, url, 3600)
		call := generateAsync(t.Context(), c, req)
		stepTo(t, c, url, len(ids), 3)
		if err := c.Pause(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		slow(t, url, 0) // nothing but the pause holds it now
		held := generateAsync(t.Context(), c, req)
		waitLoad(t, c, func(l sglang.Load) bool { return l.Running+l.Waiting == 2 })
		if l, err := c.Loads(t.Context()); err != nil || l.Tokens != len(ids)+3 {
			t.Fatalf("%s: %d tokens during the pause, %v", mode, l.Tokens-len(ids), err)
		}
		if err := c.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, ch := range []<-chan generated{call, held} {
			if g := <-ch; g.err != nil || g.r.Finish.Type != "stop" {
				t.Fatalf("%s: %+v", mode, g)
			}
		}
	}
	for name, stop := range map[string]func(rid string) error{
		"abort":       func(rid string) error { return c.Abort(t.Context(), rid) },
		"abort all":   func(string) error { return c.AbortAll(t.Context()) },
		"pause abort": func(string) error { return c.Pause(t.Context(), sglang.PauseAbort) },
	} {
		req.RID = sglang.NewRID()
		slow(t, url, 3600)
		call := generateAsync(t.Context(), c, req)
		stepTo(t, c, url, len(ids), 3)
		if err := stop(req.RID); err != nil {
			t.Fatal(err)
		}
		if g := <-call; g.err != nil || g.r.Finish.Type != "abort" || len(g.r.OutputIDs) != 3 || len(g.r.Logprobs) != len(g.r.OutputIDs) {
			t.Fatalf("%s: %+v", name, g)
		}
		if err := c.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Abort(t.Context(), ""); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
}

func TestCancelAbortsOnTheServer(t *testing.T) {
	c, url := engine(t, pocket.Options{})
	slow(t, url, 3600)
	ctx, cancel := context.WithCancel(t.Context())
	call := generateAsync(ctx, c, sglang.GenerateRequest{InputIDs: prompt(4), MaxNewTokens: 9, Temperature: 1})
	stepTo(t, c, url, len(prompt(4)), 1)
	cancel()
	if g := <-call; quarry.KindOf(g.err) != quarry.KindCanceled {
		t.Fatalf("%+v", g)
	}
	waitLoad(t, c, func(l sglang.Load) bool { return l.Running == 0 })
}

func TestRefusals(t *testing.T) {
	c, _ := engine(t, pocket.Options{})
	ids := prompt(4)
	gen := func(ids []int32, n int, temperature float64) error {
		_, err := c.Generate(t.Context(), sglang.GenerateRequest{InputIDs: ids, MaxNewTokens: n, Temperature: temperature})
		return err
	}
	score := func(ids []int32, from int) error { _, err := c.ScoreAtT1(t.Context(), ids, from); return err }
	for name, k := range map[string]struct {
		err  error
		kind quarry.Kind
	}{
		"no ids":           {gen(nil, 1, 1), quarry.KindInvalid},
		"no tokens":        {gen(ids, 0, 1), quarry.KindInvalid},
		"temperature":      {gen(ids, 1, math.NaN()), quarry.KindInvalid},
		"negative id":      {gen([]int32{-1}, 1, 1), quarry.KindInvalid},
		"large id":         {gen([]int32{70000}, 1, 1), quarry.KindInvalid},
		"no turn":          {gen([]int32{65}, 1, 1), quarry.KindInvalid},
		"unscorable":       {score(append(prompt(4), 'z'), len(ids)), quarry.KindUnscorable},
		"score from start": {score(ids, 0), quarry.KindInvalid},
		"score elsewhere":  {score(ids, 3), quarry.KindInvalid},
	} {
		if quarry.KindOf(k.err) != k.kind {
			t.Errorf("%s: kind %q, %v", name, quarry.KindOf(k.err), k.err)
		}
	}
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNewRIDHasOneLength(t *testing.T) {
	a, b := sglang.NewRID(), sglang.NewRID()
	if len(a) != 32 || len(b) != 32 || a == b {
		t.Errorf("%s %s", a, b)
	}
}

// BenchmarkGenerateHTTP is one client call over loopback: a context of 5,000 ids, an answer of about 60.
func BenchmarkGenerateHTTP(b *testing.B) {
	path, _ := weights(b, 1)
	for _, cached := range []int{1024, 0} {
		b.Run(fmt.Sprintf("cache=%d", cached), func(b *testing.B) {
			c, _ := engine(b, pocket.Options{WeightsPath: path, CacheContexts: cached})
			ids := prompt(5000)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Generate(b.Context(), sglang.GenerateRequest{InputIDs: ids, MaxNewTokens: 200, Temperature: 1}); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
