package pocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	quarry "github.com/quarry-rl/quarry"
)

// toyEnumerator offers three long continuations whose texts depend on the context's length, and one per guess.
type toyEnumerator struct{}

func (toyEnumerator) Enumerate(ids []int32, guesses []string) (*Choices, error) {
	if ids[0] == 'X' {
		return nil, errors.New("the system message is unreadable")
	}
	if ids[0] == 'E' {
		return NewChoices(nil), nil
	}
	tail := strings.Repeat("-", 60)
	cands := []Candidate{
		{Text: fmt.Appendf(nil, "go %d%s1", len(ids), tail), Features: []uint16{0}},
		{Text: fmt.Appendf(nil, "go %d%s", len(ids), tail), Features: []uint16{1, 1}},
		{Text: fmt.Appendf(nil, "stay%s", tail), Features: []uint16{2}},
	}
	for _, g := range guesses {
		cands = append(cands, Candidate{Text: []byte(g), Features: []uint16{3}})
	}
	return NewChoices(cands), nil
}

// turn is a context whose assistant turn begins at its end.
func turn(user string) []int32 {
	ids := append([]int32{}, toIDs([]byte(user))...)
	return append(append(ids, tokenImStart), toIDs([]byte("assistant\n"))...)
}

func saveWeights(t *testing.T, version int, guesses []string, w ...float64) string {
	t.Helper()
	ws := NewWeights(testSet)
	ws.Version, ws.Guesses = version, guesses
	copy(ws.W, w)
	path := filepath.Join(t.TempDir(), "w.json")
	if _, err := ws.Save(path, testSet); err != nil {
		t.Fatal(err)
	}
	return path
}

func startServer(t *testing.T, o Options) string {
	t.Helper()
	o.Enumerator, o.FeatureSet = toyEnumerator{}, testSet
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	url, closeServer, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeServer(); err != nil {
			t.Error(err)
		}
	})
	return url
}

// send posts a body (or gets, when it is empty) and returns status and answer.
func send(ctx context.Context, url, body string) (int, string, error) {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func mustSend(t *testing.T, url, body string) (int, string) {
	t.Helper()
	status, b, err := send(t.Context(), url, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, b
}

func idsJSON(ids []int32) string { return string(appendIDs(nil, ids)) }

type reply struct {
	Text      string  `json:"text"`
	OutputIDs []int32 `json:"output_ids"`
	Prompt    []int32 `json:"prompt_token_ids"`
	Meta      struct {
		ID     string `json:"id"`
		Finish struct {
			Type    string `json:"type"`
			Matched int32  `json:"matched"`
			Length  int    `json:"length"`
		} `json:"finish_reason"`
		PromptTokens int     `json:"prompt_tokens"`
		Completion   int     `json:"completion_tokens"`
		Cached       int     `json:"cached_tokens"`
		Version      string  `json:"weight_version"`
		Input        [][]any `json:"input_token_logprobs"`
		Output       [][]any `json:"output_token_logprobs"`
		Spans        []struct {
			Version    string
			Start, End int
		} `json:"weight_versions"`
	} `json:"meta_info"`
}

func generate(t *testing.T, url, body string) reply {
	t.Helper()
	status, b := mustSend(t, url+"/generate", body)
	if status != 200 {
		t.Fatalf("status %d: %s", status, b)
	}
	var r reply
	if err := json.Unmarshal([]byte(b), &r); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return r
}

// waitLoads polls until the engine is as busy as wanted.
func waitLoads(t *testing.T, url string, ready func(running, waiting, tokens int) bool) {
	t.Helper()
	for t.Context().Err() == nil {
		_, b := mustSend(t, url+"/v1/loads?include=core", "")
		var l struct {
			Loads []struct {
				Running int `json:"num_running_reqs"`
				Waiting int `json:"num_waiting_reqs"`
				Tokens  int `json:"num_used_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(b), &l); err != nil || len(l.Loads) != 1 {
			t.Fatalf("%v in %s", err, b)
		}
		if ready(l.Loads[0].Running, l.Loads[0].Waiting, l.Loads[0].Tokens) {
			return
		}
	}
}

// slow makes responses rest so many seconds after each token; called again it lets each go on by one token.
func slow(t *testing.T, url string, seconds int) {
	t.Helper()
	if status, b := mustSend(t, url+"/slow_down", fmt.Sprintf(`{"forward_sleep_time":%d}`, seconds)); status != 200 || b != "" {
		t.Fatalf("%d %s", status, b)
	}
}

// stepTo lets the one running response write n tokens, then rest.
func stepTo(t *testing.T, url string, prompt, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		waitLoads(t, url, func(running, _, tokens int) bool { return running == 1 && tokens == prompt+i })
		if i < n {
			slow(t, url, 3600)
		}
	}
}

type outcome struct {
	status int
	body   string
	err    error
}

func sendAsync(t *testing.T, url, body string) <-chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		status, b, err := send(t.Context(), url, body)
		ch <- outcome{status, b, err}
	}()
	return ch
}

func (o outcome) reply(t *testing.T) reply {
	t.Helper()
	var r reply
	if o.err != nil || o.status != 200 {
		t.Fatalf("%d %s %v", o.status, o.body, o.err)
	}
	if err := json.Unmarshal([]byte(o.body), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAbortMatchesByPrefixOfALiveRID(t *testing.T) {
	url := startServer(t, Options{})
	slow(t, url, 3600)
	body := func(rid string) string {
		return fmt.Sprintf(`{"rid":%q,"input_ids":%s,"return_logprob":true}`, rid, idsJSON(turn("q")))
	}
	var calls []<-chan outcome
	for _, rid := range []string{"job-1", "job-10", "other"} {
		calls = append(calls, sendAsync(t, url+"/generate", body(rid)))
	}
	want := 3 * (len(turn("q")) + 1)
	waitLoads(t, url, func(running, _, tokens int) bool { return running == 3 && tokens == want })
	if status, b := mustSend(t, url+"/generate", body("other")); status != 400 || !strings.Contains(b, "Duplicate request ID detected") {
		t.Errorf("same rid twice: %d %s", status, b)
	}
	for _, noop := range []string{`{"rid":"job"}`, `{"rid":""}`, `{}`} { // no live rid is exactly this
		if status, b := mustSend(t, url+"/abort_request", noop); status != 200 || b != "" {
			t.Fatalf("%d %q", status, b)
		}
	}
	waitLoads(t, url, func(running, _, _ int) bool { return running == 3 })
	mustSend(t, url+"/abort_request", `{"rid":"job-1"}`)
	for _, c := range calls[:2] {
		if r := (<-c).reply(t); r.Meta.Finish.Type != "abort" || len(r.OutputIDs) != 1 || len(r.Meta.Output) != 1 || r.Meta.Completion != 1 {
			t.Errorf("%+v", r)
		}
	}
	waitLoads(t, url, func(running, _, _ int) bool { return running == 1 })
	mustSend(t, url+"/abort_request", `{"abort_all":true}`)
	if r := (<-calls[2]).reply(t); r.Meta.Finish.Type != "abort" {
		t.Errorf("%+v", r)
	}
}

func TestPauseModes(t *testing.T) {
	for _, mode := range []string{"retract", "in_place", "abort"} {
		t.Run(mode, func(t *testing.T) {
			url := startServer(t, Options{})
			body := `{"input_ids":` + idsJSON(turn("q")) + `,"sampling_params":{"max_new_tokens":200}}`
			slow(t, url, 3600)
			running := sendAsync(t, url+"/generate", body)
			stepTo(t, url, len(turn("q")), 4)
			if status, b := mustSend(t, url+"/flush_cache", "{}"); status != 400 {
				t.Errorf("flush while running: %d %s", status, b)
			}
			if status, b := mustSend(t, url+"/pause_generation", fmt.Sprintf(`{"mode":%q}`, mode)); status != 200 || !strings.Contains(b, `"ok"`) {
				t.Fatalf("%d %s", status, b)
			}
			slow(t, url, 0) // nothing but the pause holds them now
			held := sendAsync(t, url+"/generate", body)
			switch mode {
			case "abort":
				if r := (<-running).reply(t); r.Meta.Finish.Type != "abort" || len(r.OutputIDs) != 4 {
					t.Errorf("%+v", r)
				}
				waitLoads(t, url, func(n, waiting, _ int) bool { return n == 0 && waiting == 1 })
			case "retract":
				waitLoads(t, url, func(n, waiting, _ int) bool { return n == 0 && waiting == 2 })
			case "in_place":
				waitLoads(t, url, func(n, waiting, _ int) bool { return n == 1 && waiting == 1 })
			}
			select { // nothing answers while paused
			case r := <-held:
				t.Errorf("answered during the pause: %+v", r)
			case r := <-running:
				t.Errorf("answered during the pause: %+v", r)
			default:
			}
			mustSend(t, url+"/continue_generation", "{}")
			if mode != "abort" {
				if r := (<-running).reply(t); r.Meta.Finish.Type != "stop" {
					t.Errorf("%+v", r)
				}
			}
			if r := (<-held).reply(t); r.Meta.Finish.Type != "stop" {
				t.Errorf("%+v", r)
			}
			if status, _ := mustSend(t, url+"/flush_cache", ""); status != 200 {
				t.Errorf("flush while idle: %d", status)
			}
		})
	}
	url := startServer(t, Options{})
	if status, b := mustSend(t, url+"/slow_down", `{"forward_sleep_time":-1}`); status != 400 {
		t.Errorf("%d %s", status, b)
	}
	if status, b := mustSend(t, url+"/pause_generation", `{"mode":"later"}`); status != 400 || !strings.Contains(b, "later") {
		t.Errorf("%d %s", status, b)
	}
}

// Weights with other guesses: the turn follows them while its prefix allows, and otherwise ends under the old ones.
func TestUpdateWithOtherGuesses(t *testing.T) {
	old := saveWeights(t, 1, []string{strings.Repeat("z", 80)}, -90, -90, -90, 0) // the guess is certain
	url := startServer(t, Options{WeightsPath: old, CacheContexts: 2})
	body := `{"input_ids":` + idsJSON(turn("q")) + `,"return_logprob":true,"sampling_params":{"max_new_tokens":200}}`
	for i, k := range []struct {
		guesses []string
		spans   int
	}{{[]string{strings.Repeat("z", 80), "more"}, 2}, {[]string{"none of it"}, 1}} {
		mustSend(t, url+"/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q}`, old))
		slow(t, url, 3600)
		call := sendAsync(t, url+"/generate", body)
		stepTo(t, url, len(turn("q")), 3)
		mustSend(t, url+"/pause_generation", `{"mode":"retract"}`)
		path := saveWeights(t, 2+i, k.guesses, -90, -90, -90, 0)
		if status, b := mustSend(t, url+"/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q}`, path)); status != 200 || !strings.Contains(b, `"num_paused_requests":1`) {
			t.Fatalf("%d %s", status, b)
		}
		mustSend(t, url+"/continue_generation", "{}")
		slow(t, url, 0)
		r := (<-call).reply(t)
		if len(r.Meta.Spans) != k.spans || k.spans == 2 && r.Meta.Spans[0].End != 3 || r.Meta.Finish.Type != "stop" || len(r.OutputIDs) != 81 {
			t.Errorf("update %d: %+v", i, r.Meta)
		}
		if _, b := mustSend(t, url+"/model_info", ""); !strings.Contains(b, fmt.Sprintf(`"weight_version":"%d"`, 2+i)) || !strings.Contains(b, path) {
			t.Errorf("model info %s", b)
		}
	}
	if status, b := mustSend(t, url+"/update_weights_from_disk", `{"model_path":"nowhere.json"}`); status != 400 || !strings.Contains(b, `"success":false`) {
		t.Errorf("%d %s", status, b)
	}
	if status, b := mustSend(t, url+"/update_weights_from_disk", `{"model_path":"nowhere.json","weight_version":7}`); status != 400 || !strings.Contains(b, "Bad Request") {
		t.Errorf("%d %s", status, b)
	}
	if status, b := mustSend(t, url+"/server_info", ""); status != 200 || !strings.Contains(b, `"feature_set":"toy/1"`) {
		t.Errorf("%d %s", status, b)
	}
}

// Many requests, pauses and updates at once: no race, no lost request, every answer whole.
func TestConcurrentTraffic(t *testing.T) {
	paths := []string{saveWeights(t, 1, nil, 1, 0, 0), saveWeights(t, 2, nil, 0, 1, 0)}
	url := startServer(t, Options{WeightsPath: paths[0], CacheContexts: 3})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				ids := turn(strings.Repeat("q", 1+(i+j)%5))
				status, b, err := send(t.Context(), url+"/generate", fmt.Sprintf(`{"input_ids":%s,"return_logprob":true,"sampling_params":{"sampling_seed":%d}}`, idsJSON(ids), j))
				var r reply
				if err != nil || status != 200 || json.Unmarshal([]byte(b), &r) != nil || r.Meta.Finish.Type != "stop" ||
					r.Meta.Spans[len(r.Meta.Spans)-1].End != len(r.OutputIDs) {
					t.Errorf("%d %s %v", status, b, err)
				}
			}
		})
	}
	for i := range 20 {
		mustSend(t, url+"/pause_generation", `{"mode":"retract"}`)
		mustSend(t, url+"/update_weights_from_disk", fmt.Sprintf(`{"model_path":%q}`, paths[i%2]))
		mustSend(t, url+"/continue_generation", `{}`)
	}
	wg.Wait()
	waitLoads(t, url, func(n, waiting, tokens int) bool { return n == 0 && waiting == 0 && tokens == 0 })
}

func TestListenRefusesOtherMachines(t *testing.T) {
	s, err := NewServer(Options{Enumerator: toyEnumerator{}, FeatureSet: testSet})
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"0.0.0.0:0", "example.org:80", "nonsense", "[::]:0"} {
		if _, _, err := s.Listen(t.Context(), addr); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := NewServer(Options{FeatureSet: testSet, WeightsPath: "nowhere"}); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("missing weights: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	url, closeServer, err := s.Listen(ctx, ":0")
	if err != nil {
		t.Fatal(err)
	}
	if status, b := mustSend(t, url+"/health", ""); status != 200 || b != "" {
		t.Errorf("health %d %q", status, b)
	}
	cancel()
	if err := closeServer(); err != nil {
		t.Error(err)
	}
	if _, _, err := send(t.Context(), url+"/health", ""); err == nil {
		t.Error("still serving")
	}
}
