package teacher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quarry-rl/quarry"
)

// Doer sends requests; *http.Client is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

const mostAnswer = 16 << 20 // bytes of an answer

// wire is what was learned of the server's dialect. Both are off until the server refuses the first form.
type wire struct {
	http      Doer
	plain     atomic.Bool // no response_format json_schema: the schema goes into the instructions
	newTokens atomic.Bool // max_completion_tokens in place of max_tokens
}

func (w *wire) open(c *Client) error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%q", c.BaseURL), Msg: "is no address of an endpoint",
			Hint: "write it with the version, like http://127.0.0.1:8000/v1"}
	}
	if c.Model == "" {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: "model", Msg: "is empty", Hint: "name the model as the server calls it"}
	}
	if w.http = c.HTTP; w.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = c.MaxConcurrent
		w.http = &http.Client{Transport: t}
	}
	return nil
}

// attempt is one request: it sends an exact temperature of 0, which the library leaves out, and keeps the headers of a
// failure, which the library drops.
type attempt struct {
	http       Doer
	greedy     bool
	retryAfter time.Duration
	status     int
}

// Do sends the request.
func (a *attempt) Do(req *http.Request) (*http.Response, error) {
	if a.greedy {
		body, err := io.ReadAll(req.Body)
		if err != nil || len(body) == 0 || body[0] != '{' {
			return nil, fmt.Errorf("a request that is no JSON object: %w", err)
		}
		body = append([]byte(`{"temperature":0,`), body[1:]...)
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	a.status = resp.StatusCode
	a.retryAfter = retryAfter(resp.Header, time.Now())
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, mostAnswer), resp.Body}
	return resp, nil
}

// retryAfter reads the header: seconds or a date, or the milliseconds some servers name.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// ask makes one attempt. The reply's text is as the model wrote it. When the fault is dialect, the same request in
// another form may be taken.
func (c *Client) ask(ctx context.Context, r *Request) (answer, *Fault) {
	within, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	a := &attempt{http: c.wire.http, greedy: r.Temperature == 0}
	cfg := openai.DefaultConfig(c.Key)
	cfg.BaseURL, cfg.HTTPClient = c.BaseURL, a
	resp, err := openai.NewClientWithConfig(cfg).CreateChatCompletion(within, c.message(r))
	switch {
	case err != nil:
		return answer{}, c.failed(r, a, err)
	case len(resp.Choices) == 0:
		return answer{}, &Fault{Kind: BadAnswer, Status: a.status, Detail: "an answer without choices"}
	}
	ch := resp.Choices[0]
	return answer{Text: ch.Message.Content, Refusal: ch.Message.Refusal, Finish: string(ch.FinishReason),
		Prompt: max(0, resp.Usage.PromptTokens), Completion: max(0, resp.Usage.CompletionTokens)}, nil
}

func (c *Client) message(r *Request) openai.ChatCompletionRequest {
	seed := r.Seed
	m := openai.ChatCompletionRequest{Model: c.Model, Seed: &seed}
	if c.wire.newTokens.Load() {
		m.MaxCompletionTokens = r.MaxTokens
	} else {
		//lint:ignore SA1019 servers that do not know the newer name ignore it in silence, and the answer has no bound
		m.MaxTokens = r.MaxTokens
	}
	if r.Temperature > 0 {
		m.Temperature = float32(r.Temperature)
	}
	system := r.System
	if r.Schema != nil {
		if c.wire.plain.Load() {
			system = strings.TrimSpace(system + "\n\nAnswer with one JSON value and nothing else. It must fit this JSON schema:\n" + string(r.Schema))
		} else {
			m.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
				JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: r.Schema, Strict: true}}
		}
	}
	if system != "" {
		m.Messages = append(m.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: system})
	}
	m.Messages = append(m.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: r.User})
	return m
}

// failed classifies an attempt without an answer.
func (c *Client) failed(r *Request, a *attempt, err error) *Fault {
	f := &Fault{Status: a.status, RetryAfter: a.retryAfter, Detail: err.Error()}
	var code string
	var api *openai.APIError
	var raw *openai.RequestError
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated):
		f.Kind = BadRequest
		code = "max_completion_tokens"
	case errors.Is(err, openai.ErrReasoningModelLimitationsOther), errors.Is(err, openai.ErrReasoningSamplingUnsupported):
		f.Kind, f.Detail = BadRequest, "this model takes no temperature: set one below 0, which sends none"
	case errors.As(err, &api):
		f.Detail, code = api.Message, fmt.Sprint(api.Code, " ", api.Type)
		f.Kind = classify(a.status, code, api.Message)
	case errors.As(err, &raw):
		f.Detail = string(raw.Body)
		f.Kind = classify(a.status, "", f.Detail)
	case a.status == http.StatusOK && (errors.As(err, &syntax) || errors.As(err, &typ) || errors.Is(err, io.EOF)):
		f.Kind = BadAnswer
	case a.status >= 400: // whose body broke off
		f.Kind = classify(a.status, "", "")
	default:
		f.Kind = Unavailable
	}
	if f.Kind == BadRequest {
		c.learn(r, f, strings.ToLower(code+" "+f.Detail))
	}
	return f
}

// dialect marks a fault after which the same request goes out in another form, at once and without counting as a retry.
const dialect FaultKind = "dialect"

func (c *Client) learn(r *Request, f *Fault, said string) {
	about := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	switch {
	case r.MaxTokens > 0 && about("max_completion_tokens") && !c.wire.newTokens.Load():
		c.wire.newTokens.Store(true)
	case r.Schema != nil && about("response_format", "json_schema", "structured output", "guided") && !c.wire.plain.Load():
		c.wire.plain.Store(true)
	default:
		return
	}
	f.Kind = dialect
}
