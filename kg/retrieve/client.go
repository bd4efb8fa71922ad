package retrieve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quarry-rl/quarry"
)

// ClientOptions say how a client asks. Zero fields take the values named; Retries below 0 is none.
type ClientOptions struct {
	Shape      Shape         // SearchR1
	Timeout    time.Duration // of one attempt, its answer included: 30 s
	Retries    int           // attempts after the first, on a lost connection, a timeout, 429 and 5xx: 3
	Backoff    time.Duration // before the first retry, doubled with each, of which a random half to whole is waited: 200 ms
	MaxBackoff time.Duration // 10 s; a server's Retry-After of up to 5 minutes is waited for in full
	MaxAnswer  int64         // bytes of an answer: 64 MiB
	HTTP       *http.Client  // one with connections of its own; its own time-out holds too
}

// Client asks a retrieval server in one shape. It is safe for concurrent use.
type Client struct {
	base string
	opt  ClientOptions
}

// StatusError is an answer that is not 200. It is the cause of the *quarry.Error that a Client returns.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // 0 when the server named none
	Detail     string        // what the server said, shortened
}

// Error names the status and what the server said.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", e.Status, e.Detail))
}

// NewClient asks the server at base, such as http://host:8000; routes are added to it.
func NewClient(base string, opt ClientOptions) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%q", base), Msg: "is no address of a server",
			Hint: "write it like http://127.0.0.1:8000", Err: err}
	}
	if opt.Shape == "" {
		opt.Shape = SearchR1
	}
	if _, ok := shapes[opt.Shape]; !ok {
		return nil, &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("shape %q", opt.Shape), Msg: fmt.Sprintf("expected one of %v", Shapes())}
	}
	for _, d := range []struct {
		v  *time.Duration
		to time.Duration
	}{{&opt.Timeout, 30 * time.Second}, {&opt.Backoff, 200 * time.Millisecond}, {&opt.MaxBackoff, 10 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.to
		}
	}
	if opt.Retries == 0 {
		opt.Retries = 3
	}
	if opt.MaxAnswer <= 0 {
		opt.MaxAnswer = 64 << 20
	}
	if opt.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64 // the default of 2 opens a connection for nearly every request of a busy run
		opt.HTTP = &http.Client{Transport: t}
	}
	return &Client{base: strings.TrimRight(base, "/"), opt: opt}, nil
}

// Search returns the best k documents for a query. Errors: unavailable (no answer, 429, 5xx, after all attempts), invalid
// (the server refused it), not_found, corrupt (an answer that is not of the shape), canceled (by ctx).
func (c *Client) Search(ctx context.Context, query string, k int) ([]Document, error) {
	return shapes[c.opt.Shape].search(ctx, c, query, k)
}

// SearchAll returns the best k documents for each query, in the order of queries: in one request where the shape has one
// for lists, else one by one. Errors are those of Search.
func (c *Client) SearchAll(ctx context.Context, queries []string, k int) ([][]Document, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	if all := shapes[c.opt.Shape].searchAll; all != nil {
		return all(ctx, c, queries, k)
	}
	out := make([][]Document, len(queries))
	for i, q := range queries {
		var err error
		if out[i], err = c.Search(ctx, q, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Page returns the text at a URL. Besides Search's errors: invalid for a shape without pages.
func (c *Client) Page(ctx context.Context, url string) (Page, error) {
	page := shapes[c.opt.Shape].page
	if page == nil {
		return Page{}, &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: string(c.opt.Shape), Msg: "this shape has no pages",
			Hint: fmt.Sprintf("use %s or %s", ASearcher, OpenResearcher)}
	}
	return page(ctx, c, url)
}

// Health asks GET /health, which ReCall's servers and quarry's have, once.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.once(ctx, http.MethodGet, "/health", nil)
	return err
}

// post sends a body and reads the answer into v, with all attempts.
func (c *Client) post(ctx context.Context, route string, body, v any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return &quarry.Error{Op: "retrieve", Kind: quarry.KindInternal, Subject: route, Err: err}
	}
	var answer []byte
	for attempt := 0; ; attempt++ {
		if answer, err = c.once(ctx, http.MethodPost, route, data); err == nil {
			break
		}
		wait, again := c.pause(err, attempt)
		if !again {
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return err // the time would be over before the next attempt
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return c.failed(route, ctx.Err())
		case <-timer.C:
		}
	}
	if err := json.Unmarshal(answer, v); err != nil {
		return c.malformed(route, "the answer is not of this shape", err)
	}
	return nil
}

// longestWait is the longest Retry-After that is waited for; with a longer one the server's error is returned.
const longestWait = 5 * time.Minute

// pause is how long to wait after a failed attempt, counted from 0; again is false when there is to be no other.
func (c *Client) pause(err error, attempt int) (wait time.Duration, again bool) {
	if quarry.KindOf(err) != quarry.KindUnavailable || attempt >= c.opt.Retries {
		return 0, false
	}
	wait = min(c.opt.Backoff<<min(attempt, 20), c.opt.MaxBackoff)
	if wait <= 0 {
		wait = c.opt.MaxBackoff
	}
	wait = wait/2 + rand.N(wait/2+1) // many clients that failed together do not come back together
	var status *StatusError
	if errors.As(err, &status) && status.RetryAfter > 0 {
		if status.RetryAfter > longestWait {
			return 0, false
		}
		wait = max(wait, status.RetryAfter)
	}
	return wait, true
}

// once is one attempt.
func (c *Client) once(ctx context.Context, method, route string, body []byte) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(within, method, c.base+route, bytes.NewReader(body))
	if err != nil {
		return nil, &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: c.base + route, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.opt.HTTP.Do(req)
	if err != nil {
		return nil, c.failed(route, errors.Join(ctx.Err(), err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.opt.MaxAnswer+1))
	if resp.StatusCode != http.StatusOK {
		return nil, c.refused(route, resp, data)
	}
	if err != nil {
		return nil, c.failed(route, errors.Join(ctx.Err(), err))
	}
	if int64(len(data)) > c.opt.MaxAnswer {
		return nil, c.malformed(route, fmt.Sprintf("the answer is longer than %d bytes", c.opt.MaxAnswer), nil)
	}
	return data, nil
}

// failed is an attempt without an answer. The caller's cancellation is told from everything else.
func (c *Client) failed(route string, err error) error {
	e := &quarry.Error{Op: "retrieve", Kind: quarry.KindUnavailable, Subject: c.base + route, Msg: "no answer", Err: err,
		Hint: "check the address and that the server runs"}
	if errors.Is(err, context.Canceled) {
		e.Kind, e.Msg, e.Hint = quarry.KindCanceled, "canceled", ""
	}
	return e
}

func (c *Client) malformed(route, msg string, err error) error {
	return &quarry.Error{Op: "retrieve", Kind: quarry.KindCorrupt, Subject: c.base + route, Msg: msg, Err: err,
		Hint: fmt.Sprintf("check that the server speaks the shape %s", c.opt.Shape)}
}

func (c *Client) refused(route string, resp *http.Response, body []byte) error {
	status := &StatusError{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()), Detail: cut(string(body), 300)}
	var f failure
	if json.Unmarshal(body, &f) == nil && f.Detail != "" {
		status.Detail = cut(f.Detail, 300)
	}
	e := &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: c.base + route, Hint: f.Error.Hint, Err: status}
	switch {
	case status.Status == http.StatusTooManyRequests || status.Status >= 500 || status.Status == http.StatusRequestTimeout:
		e.Kind = quarry.KindUnavailable
	case status.Status == http.StatusNotFound:
		e.Kind = quarry.KindNotFound
	}
	return e
}

// retryAfter reads the header: seconds or a date.
func retryAfter(h string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(strings.TrimSpace(h)); err == nil {
		return time.Duration(min(max(s, 0), 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(h); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
