package retrieve

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarry-rl/quarry"
)

func inject(t testing.TB, h http.Handler, f Faults) http.Handler {
	t.Helper()
	out, err := Inject(h, f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFaultShares draws for many requests, in two orders and at once, and finds the same faults in the asked shares.
func TestFaultShares(t *testing.T) {
	f := Faults{Seed: 7, Busy: 0.1, Error: 0.2, Empty: 0.15, Truncated: 0.05}
	const n = 4000
	var runs [2][n]string
	for run := range runs {
		var mu sync.Mutex
		faults := map[string]Fault{}
		h := inject(t, Handler(newShelf(t, someDocs()), ServerOptions{Journal: func(e Entry) { mu.Lock(); defer mu.Unlock(); faults[e.Queries[0]] = e.Fault }}), f)
		var group sync.WaitGroup
		for w := range 4 {
			group.Go(func() {
				for i := w; i < n; i += 4 {
					j := i
					if run == 1 {
						j = n - 1 - i
					}
					w := record(h, "/retrieve", fmt.Sprintf(`{"queries":["number %d"]}`, j))
					runs[run][j] = fmt.Sprint(w.Code)
				}
			})
		}
		group.Wait()
		for i := range n {
			runs[run][i] += string(faults[fmt.Sprintf("number %d", i)])
		}
	}
	if runs[0] != runs[1] {
		t.Error("the order of requests changes their faults")
	}
	got := map[string]float64{}
	for _, r := range runs[0] {
		got[r]++
	}
	for what, share := range map[string]float64{"429": .1, "500": .2, "200empty": .15, "200truncated": .05, "200": .5} {
		if sd := math.Sqrt(share * (1 - share) * n); math.Abs(got[what]-share*n) > 4*sd {
			t.Errorf("%s: %v of %d, want %v", what, got[what], n, share*n)
		}
	}
}

// TestRetryDrawsAnew: the same request meets a fault again only by chance, and with the same seed the same chance.
func TestRetryDrawsAnew(t *testing.T) {
	var twice [2][]int
	for i := range twice {
		h := inject(t, Handler(newShelf(t, someDocs()), ServerOptions{}), Faults{Seed: 3, Error: 0.5})
		for range 40 {
			twice[i] = append(twice[i], record(h, "/retrieve", `{"queries":["number 3"]}`).Code)
		}
	}
	if fmt.Sprint(twice[0]) != fmt.Sprint(twice[1]) {
		t.Errorf("the same seed gives %v and %v", twice[0], twice[1])
	}
	good := 0
	for _, c := range twice[0] {
		if c == 200 {
			good++
		}
	}
	if good < 8 || good > 32 {
		t.Errorf("%d of 40 attempts are good at a rate of 0.5", good)
	}
}

func TestFaultBodies(t *testing.T) {
	shelf := Handler(newShelf(t, someDocs()), ServerOptions{})
	empty, truncated := inject(t, shelf, Faults{Empty: 1}), inject(t, shelf, Faults{Truncated: 1})
	for _, tc := range []struct {
		h                 http.Handler
		route, body, want string
		code              int
	}{
		{empty, "/retrieve", `{"queries":["winter","a"],"return_scores":true}`, `{"result":[[],[]]}`, 200},
		{empty, "/access", `{"urls":["https://wiki/Racer"]}`, `{"result":[null]}`, 200},
		{empty, "/search", `{"query":"winter","return_score":true}`, `[[],[]]`, 200},
		{empty, "/search", `{"query":"winter","topn":3}`, `{"results":[]}`, 200},
		{empty, "/queries", `{"queries":["winter"]}`, `{"queries":["winter"],"answers":[[]]}`, 200},
		{truncated, "/get_content", `{"url":"https://wiki/index.php?title=PKU"}`, `{"title":"北京大学","content":"北京大学是"}`, 200},
		{truncated, "/search", `{"query":"winter"}`, `[{"id":"d0#0","contents":"\"Skeleton\"\nSkeleton is a winter sport. Ra"}]`, 200},
		{inject(t, shelf, Faults{Busy: 1, MaxBody: 3}), "/search", `{"query":"winter"}`, "longer than 3 bytes", 413},
	} {
		if w := record(tc.h, tc.route, tc.body); w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s: %d %s, want %s", tc.body, w.Code, w.Body, tc.want)
		}
	}
	w := record(inject(t, shelf, Faults{Busy: 1, RetryAfter: 1500 * time.Millisecond}), "/search", `{"query":"winter"}`)
	if w.Code != 429 || w.Header().Get("Retry-After") != "2" {
		t.Errorf("%d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}

func TestFaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := inject(t, Handler(newShelf(t, someDocs()), ServerOptions{}), Faults{Timeout: 1, Delay: 20 * time.Second})
		start := time.Now()
		if w := record(h, "/search", `{"query":"winter"}`); w.Code != 504 || time.Since(start) != 20*time.Second {
			t.Errorf("%d after %v", w.Code, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/search", strings.NewReader(`{}`)))
		if w.Body.Len() != 0 || time.Since(start) != time.Second {
			t.Errorf("%q after %v, though the caller gave up", w.Body, time.Since(start))
		}
	})
}

// TestClientThroughFaults: a client with retries gets every answer of a server that fails half the time.
func TestClientThroughFaults(t *testing.T) {
	s := newShelf(t, someDocs())
	base := serve(t, inject(t, Handler(s, ServerOptions{}), Faults{Seed: 5, Busy: 0.25, Error: 0.25}))
	c, err := NewClient(base, ClientOptions{Retries: 30, Backoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		docs, err := c.Search(t.Context(), fmt.Sprintf("number %d", i), 1)
		if err != nil || len(docs) != 1 || docs[0].Title != fmt.Sprintf("Number %d", i) {
			t.Errorf("number %d: %v %v", i, docs, err)
		}
	}
}

func TestInjectRefuses(t *testing.T) {
	for _, f := range []Faults{{Error: -0.1}, {Error: 0.6, Busy: 0.6}, {Empty: math.NaN()}} {
		if _, err := Inject(http.NotFoundHandler(), f); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
