// Package sglang is a wire client of SGLang's native HTTP API and of its control plane: generation and scoring on token
// ids, aborts, pauses and weight updates. The embedded engine of rollout/pocket answers the same protocol.
// docs/formats/sglang-wire.md lists what is sent and what is checked.
package sglang

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quarry-rl/quarry"
)

const (
	maxResponse  = 256 << 20
	abortTimeout = time.Second      // of the abort sent when a caller gives up
	resumeLimit  = 30 * time.Second // of the continue that ends a weight update
)

// Options configure a Client. The zero value is usable.
type Options struct {
	MaxConns int           // idle connections kept, the expected concurrency; 0 means 64
	Retries  int           // further attempts after a failed one; 0 means 3, negative none
	Backoff  time.Duration // before the first retry, doubling, with jitter; 0 means 100ms
	APIKey   string        // bearer token, "" for none
}

// Client talks to one server. It is safe for concurrent use. Calls have no time limit of their own: a paused server
// holds requests silently for as long as it likes, so the context decides.
type Client struct {
	base string
	opts Options
	http *http.Client
}

// New makes a client of the server at baseURL, such as "http://127.0.0.1:30000".
func New(baseURL string, opts Options) *Client {
	if opts.MaxConns <= 0 {
		opts.MaxConns = 64
	}
	if opts.Retries == 0 {
		opts.Retries = 3
	}
	if opts.Backoff <= 0 {
		opts.Backoff = 100 * time.Millisecond
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &Client{base: strings.TrimRight(baseURL, "/"), opts: opts, http: &http.Client{Transport: &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: dialer.DialContext,
		// No cap on open connections: an abort must get through while every generation holds one.
		MaxIdleConns:        opts.MaxConns,
		MaxIdleConnsPerHost: opts.MaxConns,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}}}
}

// Close drops idle connections; the client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// NewRID makes a request id: 32 hex digits. The length never varies because the server aborts by prefix.
func NewRID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// call sends one request, with retries, and returns the body of a 200. body makes the request body of an attempt
// (nil for GET); orphaned, when not nil, is called after an attempt whose answer was lost, before the next one.
func (c *Client) call(ctx context.Context, method, path string, body func(attempt int) []byte, orphaned func()) ([]byte, error) {
	for attempt := 0; ; attempt++ {
		var b []byte
		if body != nil {
			b = body(attempt)
		}
		data, then, err := c.once(ctx, method, path, b)
		if err == nil {
			return data, nil
		}
		if then.orphan && orphaned != nil {
			orphaned()
		}
		if !then.retry || attempt >= c.opts.Retries {
			return nil, err
		}
		delay := time.Duration(float64(c.opts.Backoff<<min(attempt, 8)) * (0.5 + mrand.Float64()))
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, c.lost(ctx, path, ctx.Err())
		}
	}
}

// aftermath is what a failed attempt allows.
type aftermath struct {
	retry  bool // the server has not begun to answer, or refuses for now
	orphan bool // the answer was lost on the way: the server may still be at work
}

// once makes one attempt.
func (c *Client) once(ctx context.Context, method, path string, body []byte) (data []byte, then aftermath, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, then, &quarry.Error{Op: "engine " + path, Kind: quarry.KindInvalid, Subject: c.base, Err: err,
			Hint: "an engine URL looks like http://127.0.0.1:30000"}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.opts.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.APIKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, aftermath{retry: ctx.Err() == nil, orphan: true}, c.lost(ctx, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err = readAll(resp)
	if err != nil {
		return nil, aftermath{orphan: true}, c.lost(ctx, path, fmt.Errorf("the answer was cut after %d bytes: %w", len(data), err))
	}
	if resp.StatusCode == http.StatusOK {
		return data, then, nil
	}
	err = c.statusError(path, resp.StatusCode, data)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		then.retry = true
	}
	return nil, then, err
}

func readAll(resp *http.Response) ([]byte, error) {
	if resp.ContentLength > maxResponse {
		return nil, fmt.Errorf("%d bytes are more than %d", resp.ContentLength, maxResponse)
	}
	if resp.ContentLength > 0 {
		data := make([]byte, resp.ContentLength)
		n, err := io.ReadFull(resp.Body, data)
		return data[:n], err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(data) > maxResponse {
		err = fmt.Errorf("more than %d bytes", maxResponse)
	}
	return data, err
}

// lost is an attempt without an answer.
func (c *Client) lost(ctx context.Context, path string, err error) error {
	e := &quarry.Error{Op: "engine " + path, Kind: quarry.KindUnavailable, Subject: c.base, Err: err,
		Hint: "check that the engine runs and can be reached at " + c.base}
	if errors.Is(ctx.Err(), context.Canceled) {
		e.Kind, e.Hint = quarry.KindCanceled, ""
	}
	return e
}

// statusError turns an error status and any of SGLang's error bodies into an error.
func (c *Client) statusError(path string, status int, body []byte) error {
	text := errorText(body)
	e := &quarry.Error{Op: "engine " + path, Subject: c.base, Kind: quarry.KindInvalid, Err: &refusal{status, text}}
	switch {
	case status == http.StatusBadRequest && strings.Contains(text, "unscorable"):
		e.Kind = quarry.KindUnscorable
		e.Hint = "the tokens lie outside the policy's support for this context"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Hint = "set the engine's API key"
	case status == http.StatusNotFound:
		e.Kind = quarry.KindNotFound
		e.Hint = "the server has no such route: is this an SGLang worker, not a router?"
	case status == http.StatusRequestEntityTooLarge:
		e.Hint = "the request is larger than the engine, or a proxy before it, takes"
	case status == http.StatusTooManyRequests || status >= 500:
		e.Kind = quarry.KindUnavailable
		e.Hint = "the engine is overloaded or failing: see its log"
	case status < 400:
		e.Kind = quarry.KindUnavailable
		e.Hint = "something between here and the engine answers in its place: check the URL"
	}
	return e
}

// refusal is what a server says instead of an answer.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("HTTP %d: %s", r.status, r.text) }

// Refused says whether a server refused a request for what that request holds (400, 413, 422): the same one never
// succeeds, and another may.
func Refused(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	switch r.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// TooLong says whether a server refused a request because its context does not hold the prompt and what was to follow.
func TooLong(err error) bool {
	var r *refusal
	if !Refused(err) || !errors.As(err, &r) {
		return false
	}
	return r.status == http.StatusRequestEntityTooLarge || strings.Contains(r.text, "longer than the model's context length") ||
		strings.Contains(r.text, "exceeds the model's maximum context length")
}

// errorText finds the message in {"message"}, {"error":{"message"}}, {"error":"..."} and {"detail"}.
func errorText(body []byte) string {
	var b struct {
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &b) == nil {
		var text string
		var nested struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(b.Error, &text) != nil && json.Unmarshal(b.Error, &nested) == nil {
			text = nested.Message
		}
		for _, s := range []string{b.Message, text, b.Detail} {
			if s != "" {
				return s
			}
		}
	}
	return fmt.Sprintf("%.200q", body)
}

// decode reads a JSON answer; what is not JSON was cut short or came from something else.
func (c *Client) decode(path string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return &quarry.Error{Op: "engine " + path, Kind: quarry.KindUnavailable, Subject: c.base, Err: err,
			Msg: fmt.Sprintf("the answer of %d bytes is not the JSON expected", len(data)), Hint: "the engine or a proxy before it is failing: see its log"}
	}
	return nil
}
