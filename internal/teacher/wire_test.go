package teacher

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarry-rl/quarry"
)

// server answers request n, counted from 1, with what script says.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	heads  []http.Header
}

func serve(t *testing.T, script func(n int, body map[string]any, w http.ResponseWriter)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var body map[string]any
		if err != nil || r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost || json.Unmarshal(data, &body) != nil {
			http.Error(w, "not a chat request: "+string(data), http.StatusNotFound)
			return
		}
		s.mu.Lock()
		s.bodies, s.heads = append(s.bodies, body), append(s.heads, r.Header.Clone())
		n := len(s.bodies)
		s.mu.Unlock()
		script(n, body, w)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) client() *Client {
	return &Client{BaseURL: s.URL + "/v1", Model: "m", Key: "secret", Backoff: time.Millisecond, Retries: 3}
}

func say(w io.Writer, text string) { sayWhy(w, text, "stop") }

func sayWhy(w io.Writer, text, finish string) {
	q, _ := json.Marshal(text)
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":%q}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, q, finish)
}

func fail(w http.ResponseWriter, status int, code, msg string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"t","code":%q}}`, msg, code)
}

const pointSchema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`

func TestWire(t *testing.T) {
	s := serve(t, func(_ int, _ map[string]any, w http.ResponseWriter) { say(w, "hello") })
	c := s.client()
	got, err := c.Complete(context.Background(), Request{System: "sys", User: "usr", MaxTokens: 9, Seed: 5})
	if err != nil || got != (Reply{Text: "hello", PromptTokens: 11, CompletionTokens: 7, FinishReason: "stop"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	b := s.bodies[0]
	if temp, sent := b["temperature"]; !sent || temp != 0.0 || b["seed"] != 5.0 || b["max_tokens"] != 9.0 || b["model"] != "m" || b["response_format"] != nil {
		t.Errorf("body %v", b)
	}
	if m := fmt.Sprint(b["messages"]); m != "[map[content:sys role:system] map[content:usr role:user]]" {
		t.Errorf("messages %s", m)
	}
	if s.heads[0].Get("Authorization") != "Bearer secret" {
		t.Errorf("head %v", s.heads[0])
	}
	c.Price = Price{In: 2, Out: 10}
	if u := c.Usage(); u != (Usage{Calls: 1, Attempts: 1, PromptTokens: 11, CompletionTokens: 7, Cost: (11*2 + 7*10) / 1e6}) {
		t.Errorf("usage %+v", u)
	}
	if _, err := c.Complete(context.Background(), Request{User: "u", Temperature: -1, Schema: json.RawMessage(pointSchema)}); KindOf(err) != BadAnswer {
		t.Errorf("free text for a schema: %v", err)
	}
	b = s.bodies[1]
	if _, sent := b["temperature"]; sent || !strings.Contains(fmt.Sprint(b["response_format"]), "json_schema") {
		t.Errorf("body %v", b)
	}
}

func TestFaults(t *testing.T) {
	schema := json.RawMessage(pointSchema)
	for _, c := range []struct {
		name     string
		schema   json.RawMessage
		script   func(n int, body map[string]any, w http.ResponseWriter)
		want     FaultKind
		kind     quarry.Kind
		requests int
		text     string
	}{
		{"recovers from 500", nil, func(n int, _ map[string]any, w http.ResponseWriter) {
			if n < 3 {
				fail(w, 500, "", "oops")
				return
			}
			say(w, "ok")
		}, "", "", 3, "ok"},
		{"recovers from broken JSON", nil, func(n int, _ map[string]any, w http.ResponseWriter) {
			if n == 1 {
				fmt.Fprint(w, `{"choices":[{"message":{"content":"half`)
				return
			}
			say(w, "ok")
		}, "", "", 2, "ok"},
		{"recovers from a body that breaks off", nil, func(n int, _ map[string]any, w http.ResponseWriter) {
			if n == 1 {
				w.Header().Set("Content-Length", "500")
				fmt.Fprint(w, `{"choices":`)
				return
			}
			say(w, "ok")
		}, "", "", 2, "ok"},
		{"recovers from a lost connection", nil, func(n int, _ map[string]any, w http.ResponseWriter) {
			if n == 1 {
				panic(http.ErrAbortHandler)
			}
			say(w, "ok")
		}, "", "", 2, "ok"},
		{"HTML of a proxy", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, BadAnswer, quarry.KindCorrupt, 4, ""},
		{"no choices", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fmt.Fprint(w, `{"choices":[]}`) }, BadAnswer, quarry.KindCorrupt, 4, ""},
		{"never well", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { w.WriteHeader(502) }, Unavailable, quarry.KindUnavailable, 4, ""},
		{"limited for good", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fail(w, 429, "rate", "slow down") }, RateLimit, quarry.KindUnavailable, 4, ""},
		{"no key", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fail(w, 401, "invalid_api_key", "no") }, Auth, quarry.KindInvalid, 1, ""},
		{"no money", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fail(w, 429, "insufficient_quota", "pay") }, Quota, quarry.KindExhausted, 1, ""},
		{"prompt too long", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fail(w, 400, "context_length_exceeded", "long") }, TooLong, quarry.KindInvalid, 1, ""},
		{"prompt too long, vLLM", nil, func(_ int, _ map[string]any, w http.ResponseWriter) {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}`)
		}, TooLong, quarry.KindInvalid, 1, ""},
		{"filtered prompt", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fail(w, 400, "content_filter", "no") }, Refused, quarry.KindInvalid, 1, ""},
		{"filtered answer", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { sayWhy(w, "a", "content_filter") }, Refused, quarry.KindInvalid, 1, ""},
		{"refusal", nil, func(_ int, _ map[string]any, w http.ResponseWriter) {
			fmt.Fprint(w, `{"choices":[{"message":{"refusal":"I cannot"},"finish_reason":"stop"}]}`)
		}, Refused, quarry.KindInvalid, 1, ""},
		{"unknown model", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { fail(w, 404, "model_not_found", "no m") }, BadRequest, quarry.KindInvalid, 1, ""},
		{"cut free text", nil, func(_ int, _ map[string]any, w http.ResponseWriter) { sayWhy(w, "a b", "length") }, "", "", 1, "a b"},
		{"cut JSON", schema, func(_ int, _ map[string]any, w http.ResponseWriter) { sayWhy(w, `{"x":`, "length") }, TooLong, quarry.KindInvalid, 1, ""},
		{"JSON", schema, func(_ int, _ map[string]any, w http.ResponseWriter) { say(w, `{"x":1}`) }, "", "", 1, `{"x":1}`},
		{"JSON and words", schema, func(_ int, _ map[string]any, w http.ResponseWriter) { say(w, `{"x":1} as asked`) }, BadAnswer, quarry.KindCorrupt, 1, ""},
		{"other JSON", schema, func(_ int, _ map[string]any, w http.ResponseWriter) { say(w, `{"x":"1"}`) }, BadAnswer, quarry.KindCorrupt, 1, ""},
		{"a server without json_schema", schema, func(_ int, b map[string]any, w http.ResponseWriter) {
			if b["response_format"] != nil {
				fail(w, 400, "", "response_format of type json_schema is not supported")
				return
			}
			if !strings.Contains(fmt.Sprint(b["messages"]), "additionalProperties") {
				fail(w, 400, "", "the schema is not in the prompt")
				return
			}
			say(w, "<think>hm {</think>\n```json\n{\"x\": 2}\n```")
		}, "", "", 2, `{"x": 2}`},
		{"a server that wants max_completion_tokens", nil, func(_ int, b map[string]any, w http.ResponseWriter) {
			if b["max_tokens"] != nil {
				fail(w, 400, "unsupported_parameter", "use 'max_completion_tokens' instead")
				return
			}
			say(w, fmt.Sprint(b["max_completion_tokens"]))
		}, "", "", 2, "50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.script)
			got, err := s.client().Complete(context.Background(), Request{User: "u", Schema: c.schema, MaxTokens: 50})
			if KindOf(err) != c.want || quarry.KindOf(err) != c.kind || (err == nil && got.Text != c.text) {
				t.Errorf("%+v, %v (%s, %s)", got, err, KindOf(err), quarry.KindOf(err))
			}
			if err != nil && (quarry.HintOf(err) == "" || strings.Contains(err.Error(), "secret")) {
				t.Errorf("error %q, hint %q", err, quarry.HintOf(err))
			}
			if len(s.bodies) != c.requests {
				t.Errorf("%d requests, want %d", len(s.bodies), c.requests)
			}
		})
	}
}

func TestSlowServer(t *testing.T) {
	s := serve(t, func(_ int, _ map[string]any, w http.ResponseWriter) { say(w, "ok") })
	hold := make(chan struct{})
	var n atomic.Int32
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
			return
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	defer slow.Close()
	defer close(hold)
	c := s.client()
	c.BaseURL, c.Timeout = slow.URL+"/v1", time.Second
	got, err := c.Complete(context.Background(), Request{User: "u"})
	if err != nil || got.Text != "ok" || c.Usage().Attempts < 2 {
		t.Fatalf("%+v, %v, %+v", got, err, c.Usage())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Complete(ctx, Request{User: "u"}); quarry.KindOf(err) != quarry.KindCanceled {
		t.Errorf("canceled: %v", err)
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		client *Client
		r      Request
		says   string
	}{
		{&Client{BaseURL: "host:80", Model: "m"}, Request{User: "u"}, "is no address"},
		{&Client{BaseURL: "http://h/v1"}, Request{User: "u"}, "model"},
		{&Client{BaseURL: "http://h/v1", Model: "m", Price: Price{In: -1}}, Request{User: "u"}, "price"},
		{&Client{BaseURL: "http://h/v1", Model: "m"}, Request{}, "asks nothing"},
		{&Client{BaseURL: "http://h/v1", Model: "m"}, Request{User: "u", Temperature: 3}, "temperature"},
		{&Client{BaseURL: "http://h/v1", Model: "m"}, Request{User: "u", MaxTokens: -3}, "max tokens"},
		{&Client{BaseURL: "http://h/v1", Model: "m"}, Request{User: "u", Schema: json.RawMessage(`{"pattern":"x"}`)}, "pattern"},
	} {
		_, err := c.client.Complete(context.Background(), c.r)
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
	t.Setenv("QUARRY_TEST_KEY", "k")
	if k, err := KeyFrom("QUARRY_TEST_KEY", os.LookupEnv); k != "k" || err != nil {
		t.Error(k, err)
	}
	if _, err := KeyFrom("QUARRY_TEST_NO_KEY", os.LookupEnv); quarry.KindOf(err) != quarry.KindNotFound {
		t.Error(err)
	}
}
