package retrieve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

func record(h http.Handler, route, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, route, strings.NewReader(body)))
	return w
}

// TestEveryShape asks our server in each shape; what the shape carries comes back.
func TestEveryShape(t *testing.T) {
	s := newShelf(t, someDocs())
	base := serve(t, Handler(s, ServerOptions{}))
	for _, shape := range Shapes() {
		c, err := NewClient(base+"/", ClientOptions{Shape: shape, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		want := func(query string, k int) []Document {
			out := []Document{}
			for _, h := range s.Search(query, k, nil) {
				d := s.docs[h.Passage]
				d.Score = float64(h.Score)
				switch shape {
				case ASearcher:
					d.Score = 0
				case ReCall:
					d.URL = ""
				case R1Searcher:
					d.Score, d.URL, d.ID = 0, "", map[string]string{"Skeleton": "0", "北京大学": "1"}[d.Title]
				case OpenResearcher:
					d.Score, d.ID = 0, ""
				}
				out = append(out, d)
			}
			return out
		}
		near := cmp.Comparer(func(a, b float64) bool { return float32(a) == float32(b) })
		queries := []string{"winter sport", "北京大学", "nothing"}
		all, err := c.SearchAll(t.Context(), queries, 2)
		if err != nil {
			t.Fatalf("%s: %v", shape, err)
		}
		for i, q := range queries {
			if d := cmp.Diff(want(q, 2), all[i], near); d != "" {
				t.Errorf("%s %q (-want +got):\n%s", shape, q, d)
			}
			one, err := c.Search(t.Context(), q, 2)
			if d := cmp.Diff(want(q, 2), one, near); d != "" || err != nil {
				t.Errorf("%s %q: %v\n%s", shape, q, err, d)
			}
		}
		if none, err := c.SearchAll(t.Context(), nil, 2); len(none) != 0 || err != nil {
			t.Errorf("%s: %v %v for no queries", shape, none, err)
		}
		page, err := c.Page(t.Context(), "https://wiki/Skeleton")
		if shape == ASearcher || shape == OpenResearcher {
			if err != nil || page != s.pages["https://wiki/Skeleton"] {
				t.Errorf("%s: %+v %v", shape, page, err)
			}
			if _, err := c.Page(t.Context(), "https://none"); quarry.KindOf(err) != quarry.KindNotFound {
				t.Errorf("%s: %v for a page that is not there", shape, err)
			}
		} else if quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s has no pages: %v", shape, err)
		}
		if err := c.Health(t.Context()); err != nil {
			t.Errorf("%s: %v", shape, err)
		}
		if _, err := c.Search(t.Context(), "winter", 5000); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "5000") {
			t.Errorf("%s: k of 5000: %v", shape, err)
		}
	}
}

// TestForeignAnswers are answers as other servers give them, and broken ones.
func TestForeignAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		shape  Shape
		answer string
		want   []Document
		kind   quarry.Kind
	}{
		"dense Search-R1":   {SearchR1, `{"result":[[{"document":{"id":17,"contents":"\"T\"\na\nb"},"score":0.5}]]}`, []Document{{ID: "17", Title: "T", Text: "a\nb", Score: 0.5}}, ""},
		"no title":          {SearchR1, `{"result":[[{"document":{"contents":"just text"},"score":1}]]}`, []Document{{Text: "just text", Score: 1}}, ""},
		"bare":              {ASearcher, `{"result":[[{"id":"7","contents":"\"T\"\nx","url":"u"}]]}`, []Document{{ID: "7", Title: "T", Text: "x", URL: "u"}}, ""},
		"plain line":        {R1Searcher, `{"queries":["q"],"answers":[["12\tTitle text", "no number"]]}`, []Document{{ID: "12", Text: "Title text"}, {Text: "no number"}}, ""},
		"too few":           {SearchR1, `{"result":[]}`, nil, quarry.KindCorrupt},
		"not JSON":          {SearchR1, `<html>`, nil, quarry.KindCorrupt},
		"too few answers":   {R1Searcher, `{"answers":[]}`, nil, quarry.KindCorrupt},
		"scores missing":    {ReCall, `[[{"id":"1","contents":"c"}],[]]`, nil, quarry.KindCorrupt},
		"no list":           {ReCall, `{"detail":"x"}`, nil, quarry.KindCorrupt},
		"no results":        {OpenResearcher, `{}`, nil, quarry.KindCorrupt},
		"longer than asked": {OpenResearcher, `{"results":[]}` + strings.Repeat(" ", 2000), nil, quarry.KindCorrupt},
	} {
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, tc.answer) }))
		c, err := NewClient(base, ClientOptions{Shape: tc.shape, MaxAnswer: 1000})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Search(t.Context(), "q", 3)
		if quarry.KindOf(err) != tc.kind {
			t.Errorf("%s: %v, want %q", name, err, tc.kind)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// script answers attempt by attempt without a network, so that time can be synctest's.
type script struct {
	steps []func(*http.Request) (*http.Response, error)
	at    []time.Duration // since start
	start time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.start))
	step := s.steps[min(len(s.at), len(s.steps))-1]
	return step(r)
}

func status(code int, after string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		if after != "" {
			h.Set("Retry-After", after)
		}
		body := `{"detail":"try later"}`
		if code == 200 {
			body = `{"result":[[]]}`
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func lost(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestRetries(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for name, tc := range map[string]struct {
		steps    []func(*http.Request) (*http.Response, error)
		deadline time.Duration
		opt      ClientOptions
		kind     quarry.Kind
		status   int
		attempts int
		min, max time.Duration // from the first to the last attempt
	}{
		"second time":          {steps: []func(*http.Request) (*http.Response, error){status(503, ""), status(200, "")}, attempts: 2, min: 100 * ms, max: 200 * ms},
		"lost":                 {steps: []func(*http.Request) (*http.Response, error){lost, lost, status(200, "")}, attempts: 3, min: 300 * ms, max: 600 * ms},
		"all fail":             {steps: []func(*http.Request) (*http.Response, error){status(500, "")}, kind: quarry.KindUnavailable, status: 500, attempts: 4, min: 700 * ms, max: 1400 * ms},
		"none asked for":       {steps: []func(*http.Request) (*http.Response, error){status(500, "")}, opt: ClientOptions{Retries: -1}, kind: quarry.KindUnavailable, status: 500, attempts: 1},
		"seconds":              {steps: []func(*http.Request) (*http.Response, error){status(429, "7"), status(200, "")}, attempts: 2, min: 7 * s, max: 7 * s},
		"longer than back-off": {steps: []func(*http.Request) (*http.Response, error){status(429, "60"), status(200, "")}, attempts: 2, min: 60 * s, max: 60 * s},
		"date":                 {steps: []func(*http.Request) (*http.Response, error){status(429, "Sat, 01 Jan 2000 00:00:09 GMT"), status(200, "")}, attempts: 2, min: 9 * s, max: 9 * s},
		"an hour":              {steps: []func(*http.Request) (*http.Response, error){status(429, "3600")}, kind: quarry.KindUnavailable, status: 429, attempts: 1},
		"past the deadline":    {steps: []func(*http.Request) (*http.Response, error){status(429, "7")}, deadline: 5 * s, kind: quarry.KindUnavailable, status: 429, attempts: 1},
		"no answer":            {steps: []func(*http.Request) (*http.Response, error){hang, status(200, "")}, opt: ClientOptions{Timeout: 2 * s}, attempts: 2, min: 2100 * ms, max: 2200 * ms},
		"deadline of caller":   {steps: []func(*http.Request) (*http.Response, error){hang}, deadline: 3 * s, kind: quarry.KindUnavailable, attempts: 1},
		"refused":              {steps: []func(*http.Request) (*http.Response, error){status(400, "")}, kind: quarry.KindInvalid, status: 400, attempts: 1},
		"bounded":              {steps: []func(*http.Request) (*http.Response, error){lost}, opt: ClientOptions{Retries: 9, MaxBackoff: s}, kind: quarry.KindUnavailable, attempts: 10, min: 3700 * ms, max: 7400 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if tc.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.deadline)
				defer cancel()
			}
			tr := &script{steps: tc.steps, start: time.Now()}
			tc.opt.HTTP = &http.Client{Transport: tr}
			c, err := NewClient("http://search", tc.opt)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Search(ctx, "q", 3)
			if quarry.KindOf(err) != tc.kind || len(tr.at) != tc.attempts {
				t.Errorf("%s: %d attempts, %v; want %d, %q", name, len(tr.at), err, tc.attempts, tc.kind)
			}
			var se *StatusError
			if errors.As(err, &se) != (tc.status != 0) || se != nil && (se.Status != tc.status || se.Detail != "try later") {
				t.Errorf("%s: %v, want status %d", name, err, tc.status)
			}
			if took := tr.at[len(tr.at)-1]; took < tc.min || took > tc.max+ms {
				t.Errorf("%s: last attempt after %v, want %v to %v", name, took, tc.min, tc.max)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tr := &script{steps: []func(*http.Request) (*http.Response, error){status(429, "30")}, start: time.Now()}
		c, err := NewClient("http://search", ClientOptions{HTTP: &http.Client{Transport: tr}})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		_, err = c.Search(ctx, "q", 3)
		if quarry.KindOf(err) != quarry.KindCanceled || time.Since(tr.start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(tr.start))
		}
	})
}

func TestNewClientRefuses(t *testing.T) {
	for base, opt := range map[string]ClientOptions{"localhost:8000": {}, "ftp://x": {}, "": {}, "http://x": {Shape: "bm25"}} {
		if _, err := NewClient(base, opt); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%q %v: %v", base, opt.Shape, err)
		}
	}
}
