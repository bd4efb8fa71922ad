package teacher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quarry-rl/quarry"
)

// FaultKind says what went wrong between us and the model.
type FaultKind string

// The kinds of faults. Those that may mend themselves were retried before they are returned.
const (
	RateLimit   FaultKind = "rate_limit"  // 429
	Unavailable FaultKind = "unavailable" // no answer, 5xx, a time-out, the breaker
	Auth        FaultKind = "auth"        // 401, 403
	Quota       FaultKind = "quota"       // the account is spent: 402, or 429 that says so
	Refused     FaultKind = "refused"     // the model or its filter declined
	TooLong     FaultKind = "too_long"    // prompt or answer above the model's limit
	BadAnswer   FaultKind = "bad_answer"  // not of the wire's shape, or not of the schema
	BadRequest  FaultKind = "bad_request" // the server or the client does not take the request
)

// Fault is the cause of every *quarry.Error of a Client that is about one request.
type Fault struct {
	Kind       FaultKind
	Status     int           // of HTTP, 0 without an answer
	RetryAfter time.Duration // as the server asked, 0 when it did not
	Detail     string        // what the server said, shortened
}

// Error names kind, status and what the server said.
func (f *Fault) Error() string {
	s := string(f.Kind)
	if f.Status != 0 {
		s += fmt.Sprintf(", status %d", f.Status)
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// KindOf is the kind of the fault in err's chain, "" when there is none: a cancellation, a full disk.
func KindOf(err error) FaultKind {
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}

var outcomes = map[FaultKind]struct {
	kind      quarry.Kind
	msg, hint string
}{
	RateLimit:   {quarry.KindUnavailable, "the server keeps limiting the rate", "lower the concurrency, or run the same command again later"},
	Unavailable: {quarry.KindUnavailable, "no answer", "check the address and that the server runs, then run the same command again"},
	Auth:        {quarry.KindInvalid, "the server does not take the key", "check the environment variable that holds the key, and its rights for this model"},
	Quota:       {quarry.KindExhausted, "the account is spent", "top it up, then run the same command again"},
	Refused:     {quarry.KindInvalid, "the model declined to answer", "leave this item out, or ask another model"},
	TooLong:     {quarry.KindInvalid, "longer than the model takes or may answer", "ask for less at once, or raise the limit of tokens"},
	BadAnswer:   {quarry.KindCorrupt, "the answer is not what was asked for", "check that the server speaks the chat completions API and that the model can write JSON"},
	BadRequest:  {quarry.KindInvalid, "the request was not taken", "check the model's name and the settings"},
}

func (c *Client) fault(f *Fault) error {
	o := outcomes[f.Kind]
	f.Detail = cut(f.Detail, 300)
	return &quarry.Error{Op: op, Kind: o.kind, Subject: c.subject(), Msg: o.msg, Hint: o.hint, Err: f}
}

func (c *Client) canceled(ctx context.Context) error {
	return &quarry.Error{Op: op, Kind: quarry.KindCanceled, Subject: c.subject(), Msg: "stopped", Err: context.Cause(ctx)}
}

func (c *Client) subject() string { return c.Model + " at " + c.BaseURL }

// mends says whether another attempt may fare better.
func (f *Fault) mends() bool {
	return f.Kind == RateLimit || f.Kind == Unavailable || f.Kind == BadAnswer
}

// classify reads a status that is no success. Servers agree on statuses only roughly, so what they say counts too.
func classify(status int, code, detail string) FaultKind {
	said := strings.ToLower(code + " " + detail)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(said, p) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Auth
	case status == http.StatusPaymentRequired || status == http.StatusTooManyRequests && has("insufficient_quota", "exceeded your current quota"):
		return Quota
	case status == http.StatusTooManyRequests:
		return RateLimit
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly:
		return Unavailable
	case status == http.StatusRequestEntityTooLarge, has("context_length", "context length", "maximum context", "context window", "too many tokens", "prompt is too long", "longer than the model"):
		return TooLong
	case has("content_filter", "content management policy", "content policy", "safety system"):
		return Refused
	}
	return BadRequest
}

func cut(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
