package sglang_test

import (
	"bytes"
	"context"
	_ "embed"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/sglang"
)

// good is an answer to a prompt of one id; tests spoil it.
//
//go:embed testdata/generate-response.json
var good string

//go:embed testdata/generate-request.json
var goldenRequest string

func answer(t testing.TB, h http.HandlerFunc) *sglang.Client {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return client(t, srv.URL)
}

func TestAnswersAreChecked(t *testing.T) {
	one := sglang.GenerateRequest{InputIDs: []int32{7}, MaxNewTokens: 5, Temperature: 1}
	for _, k := range []struct {
		name, from, to string
		kind           quarry.Kind
		msg            string
	}{
		{"as it is", "", "", "", ""},
		{"no output_ids", `"output_ids":[120,258],`, "", "", ""},
		{"spans", `"weight_version"`, `"weight_versions":[{"version":"4","start":0,"end":1},{"version":"5","start":1,"end":2}],"weight_version"`, "", ""},
		{"null spans", `"weight_version"`, `"weight_versions":null,"weight_version"`, "", ""},
		{"rounding", "-0.25", "0.00005", "", ""},
		{"span gap", `"weight_version"`, `"weight_versions":[{"version":"4","start":1,"end":2}],"weight_version"`, quarry.KindCorrupt, "span"},
		{"span short", `"weight_version"`, `"weight_versions":[{"version":"4","start":0,"end":1}],"weight_version"`, quarry.KindCorrupt, "end at token 1"},
		{"span long", `"weight_version"`, `"weight_versions":[{"version":"4","start":0,"end":3}],"weight_version"`, quarry.KindCorrupt, "span"},
		{"count", `"completion_tokens":2`, `"completion_tokens":3`, quarry.KindCorrupt, "completion_tokens 3"},
		{"no count", `"completion_tokens":2,`, ``, quarry.KindCorrupt, "completion_tokens missing"},
		{"ids", "[120,258]", "[121,258]", quarry.KindCorrupt, "output token 0"},
		{"ids short", "[120,258]", "[120]", quarry.KindCorrupt, "1 output ids"},
		{"prompt", `"prompt_tokens":1`, `"prompt_tokens":2`, quarry.KindCorrupt, "prompt_tokens is 2"},
		{"no prompt", `"prompt_tokens":1,`, ``, quarry.KindCorrupt, "prompt_tokens is missing"},
		{"null logprob", "-0.25", "null", quarry.KindCorrupt, "output token 1"},
		{"minus infinity", "-0.25", "-3.4e38", quarry.KindCorrupt, "output token 1"},
		{"positive", "-0.25", "0.1", quarry.KindCorrupt, "output token 1"},
		{"negative id", "258,\"e\"", "-258,\"e\"", quarry.KindCorrupt, "negative"},
		{"no logprobs", `"output_token_logprobs"`, `"else"`, quarry.KindCorrupt, "0 output log-probabilities"},
		{"unfinished", `{"type":"stop","matched":258}`, `null`, quarry.KindCorrupt, "finish_reason"},
		{"no meta", `meta_info`, `metadata`, quarry.KindCorrupt, "meta_info"},
		{"no tuple", `[-0.5,120,null]`, `{"a":1}`, quarry.KindUnavailable, "not the JSON expected"},
		{"NaN", "-0.25", "NaN", quarry.KindUnavailable, "not the JSON expected"},
		{"torn", "}}", "", quarry.KindUnavailable, "not the JSON expected"},
	} {
		body := strings.Replace(good, k.from, k.to, 1)
		c := answer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		r, err := c.Generate(t.Context(), one)
		if quarry.KindOf(err) != k.kind || err != nil && (!strings.Contains(err.Error(), k.msg) || r != nil) {
			t.Errorf("%s: kind %q, %v; want %q with %q", k.name, quarry.KindOf(err), err, k.kind, k.msg)
		}
		if err == nil && (len(r.OutputIDs) != 2 || len(r.Spans) == 0) {
			t.Errorf("%s: %+v", k.name, r)
		}
	}
	// An abort out of the waiting queue has no prompt_tokens and no spans.
	c := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"output_ids":[],"meta_info":{"finish_reason":{"type":"abort","message":"Abort in waiting queue"},"completion_tokens":0,"weight_version":"5","output_token_logprobs":[]}}`))
	})
	if r, err := c.Generate(t.Context(), one); err != nil || r.Finish.Message != "Abort in waiting queue" || len(r.Spans) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRequestGolden(t *testing.T) {
	var body bytes.Buffer
	c := answer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = body.ReadFrom(r.Body)
		_, _ = w.Write([]byte(good))
	})
	_, err := c.Generate(t.Context(), sglang.GenerateRequest{RID: "r", InputIDs: []int32{7}, MaxNewTokens: 512, Temperature: 0.7, Seed: seed(-3), StopTokenIDs: []int32{258}})
	if d := cmp.Diff(strings.TrimSpace(goldenRequest), body.String()); err != nil || d != "" {
		t.Fatal(err, d)
	}
}

func TestScoresAreChecked(t *testing.T) {
	const body = `{"meta_info":{"prompt_tokens":3,"input_token_logprobs":[[null,8,null],[-1.5,9,null]]}}`
	for _, k := range []struct {
		from, to string
		kind     quarry.Kind
	}{
		{"", "", ""}, {"-1.5", "null", quarry.KindCorrupt}, {"9", "10", quarry.KindCorrupt}, {",[-1.5,9,null]", "", quarry.KindCorrupt},
		{`"prompt_tokens":3`, `"prompt_tokens":4`, quarry.KindCorrupt}, {"meta_info", "meta", quarry.KindCorrupt},
	} {
		c := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Replace(body, k.from, k.to, 1)))
		})
		lp, err := c.ScoreAtT1(t.Context(), []int32{7, 8, 9}, 2)
		if quarry.KindOf(err) != k.kind || err == nil && !cmp.Equal(lp, []float64{-1.5}) {
			t.Errorf("%q -> %q: %v, %v", k.from, k.to, lp, err)
		}
	}
}

func TestRetries(t *testing.T) {
	one := sglang.GenerateRequest{RID: "mine", InputIDs: []int32{7}, MaxNewTokens: 5, Temperature: 1}
	hijack := func(w http.ResponseWriter, send string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(send))
		_ = conn.Close()
	}
	status := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code); _, _ = w.Write([]byte(body)) }
	}
	for _, k := range []struct {
		name     string
		fail     func(http.ResponseWriter)
		attempts int32 // seen when every attempt fails
		aborts   int32
		kind     quarry.Kind
		msg      string
	}{
		{"reset before headers", func(w http.ResponseWriter) { hijack(w, "") }, 4, 4, quarry.KindUnavailable, "EOF"},
		{"queue full", status(503, `{"object":"error","message":"The request queue is full.","code":503}`), 4, 0, quarry.KindUnavailable, "The request queue is full."},
		{"too many", status(429, ``), 4, 0, quarry.KindUnavailable, "429"},
		{"gateway", status(502, `<html>`), 4, 0, quarry.KindUnavailable, "502"},
		{"dies mid-body", func(w http.ResponseWriter) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"+good[:40])
		}, 1, 1, quarry.KindUnavailable, "cut after 40 bytes"},
		{"dies mid-chunk", func(w http.ResponseWriter) {
			hijack(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"text\":")
		}, 1, 1, quarry.KindUnavailable, "cut after"},
		{"crash", status(500, "Internal Server Error"), 1, 0, quarry.KindUnavailable, "Internal Server Error"},
		{"bad request", status(400, `{"error":{"message":"too long"}}`), 1, 0, quarry.KindInvalid, "too long"},
		{"bad field", status(400, `{"error":"unknown field x"}`), 1, 0, quarry.KindInvalid, "unknown field x"},
		{"key", status(401, `{"error":"Unauthorized"}`), 1, 0, quarry.KindInvalid, "Unauthorized"},
		{"no route", status(404, `{"detail":"Not Found"}`), 1, 0, quarry.KindNotFound, "Not Found"},
	} {
		for _, recovers := range []bool{false, true} {
			var attempts, aborts atomic.Int32
			var rids sync.Map
			c := answer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/abort_request" {
					aborts.Add(1)
					return
				}
				var body bytes.Buffer
				_, _ = body.ReadFrom(r.Body)
				rid, _, _ := strings.Cut(body.String(), `,"input_ids"`)
				rids.Store(rid, true)
				if n := attempts.Add(1); recovers && n == 2 {
					_, _ = w.Write([]byte(good))
					return
				}
				k.fail(w)
			})
			_, err := c.Generate(t.Context(), one)
			distinct := int32(0)
			rids.Range(func(_, _ any) bool { distinct++; return true })
			if distinct != attempts.Load() {
				t.Errorf("%s: %d rids in %d attempts", k.name, distinct, attempts.Load())
			}
			if recovers && k.attempts > 1 {
				if err != nil || attempts.Load() != 2 {
					t.Errorf("%s: %v after %d attempts, want a recovery", k.name, err, attempts.Load())
				}
				continue
			}
			if attempts.Load() != k.attempts || aborts.Load() != k.aborts || quarry.KindOf(err) != k.kind || !strings.Contains(err.Error(), k.msg) || quarry.HintOf(err) == "" && k.kind == quarry.KindUnavailable {
				t.Errorf("%s: %d attempts, %d aborts, kind %s, %v", k.name, attempts.Load(), aborts.Load(), quarry.KindOf(err), err)
			}
		}
	}
	// Nobody listens.
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	if _, err := client(t, srv.URL).Generate(t.Context(), one); quarry.KindOf(err) != quarry.KindUnavailable || quarry.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if err := client(t, "http://bad url").Health(t.Context()); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("%v", err)
	}
}

func TestDeadlineAndKey(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(401)
			return
		}
		if r.URL.Path == "/generate" {
			_, _ = new(bytes.Buffer).ReadFrom(r.Body)
			<-r.Context().Done()
		}
	}))
	defer srv.Close()
	c := sglang.New(srv.URL, sglang.Options{APIKey: "k", Retries: -1})
	defer c.Close()
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Generate(ctx, sglang.GenerateRequest{InputIDs: []int32{1}, MaxNewTokens: 1})
	if quarry.KindOf(err) != quarry.KindUnavailable || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v", err)
	}
}

// A failed update must not leave the engine paused, whichever step failed.
func TestUpdateAlwaysContinues(t *testing.T) {
	for _, k := range []struct {
		failing string
		kind    quarry.Kind
	}{{"/pause_generation", quarry.KindUnavailable}, {"/update_weights_from_disk", quarry.KindUnavailable}, {"/continue_generation", quarry.KindUnavailable}, {"", quarry.KindConflict}} {
		var mu sync.Mutex
		var calls []string
		c := answer(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			calls = append(calls, r.URL.Path)
			mu.Unlock()
			if r.URL.Path == k.failing {
				w.WriteHeader(500)
				return
			}
			_, _ = w.Write([]byte(`{"success":true,"weight_version":"other"}`))
		})
		err := c.UpdateWeights(t.Context(), "w.json", "9")
		mu.Lock()
		joined := strings.Join(calls, " ")
		mu.Unlock()
		if quarry.KindOf(err) != k.kind || !strings.Contains(joined, "/continue_generation") {
			t.Errorf("%q failing: %s, %v after %s", k.failing, quarry.KindOf(err), err, joined)
		}
	}
}

// FuzzGenerateBody feeds the client arbitrary answers: it returns a checked result or a typed error.
func FuzzGenerateBody(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, "-0.25", "null", 1)))
	f.Add([]byte(`{"output_ids":[],"meta_info":{"finish_reason":{"type":"abort"},"completion_tokens":0,"output_token_logprobs":[[1]]}}`))
	f.Add([]byte(`[]`))
	f.Add([]byte{})
	var body atomic.Pointer[[]byte]
	c := answer(f, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(*body.Load()) })
	f.Fuzz(func(t *testing.T, data []byte) {
		body.Store(&data)
		r, err := c.Generate(context.WithoutCancel(t.Context()), sglang.GenerateRequest{InputIDs: []int32{7}, MaxNewTokens: 5, Temperature: 1})
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindUnavailable {
				t.Fatalf("kind %s: %v", k, err)
			}
			return
		}
		end := 0
		for _, s := range r.Spans {
			end = s.End
		}
		if len(r.Logprobs) != len(r.OutputIDs) || end != len(r.OutputIDs) {
			t.Fatalf("%+v", r)
		}
	})
}
