package teacher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"time"

	"github.com/quarry-rl/quarry"
)

// KeyFrom reads the key from an environment variable; "" reads none. Errors: not_found when the variable is empty.
func KeyFrom(variable string, lookup func(name string) (string, bool)) (string, error) {
	if variable == "" {
		return "", nil
	}
	key, _ := lookup(variable)
	if key == "" {
		return "", &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: "environment variable " + variable, Msg: "is empty or not set",
			Hint: "export " + variable + "=... , or name another variable"}
	}
	return key, nil
}

// answer is what the server gave, as it is kept in the cache.
type answer struct {
	Text       string `json:"text"`
	Refusal    string `json:"refusal,omitempty"`
	Finish     string `json:"finish"`
	Prompt     int    `json:"prompt_tokens"`
	Completion int    `json:"completion_tokens"`
}

// Complete asks, with retries, and returns what the model said. Errors are *quarry.Error; KindOf says what went wrong:
// rate_limit, unavailable, auth, quota, refused (also by a filter), too_long (an answer that MaxTokens cut is an error
// only with a schema), bad_answer, bad_request. Without a fault they are invalid (settings), canceled, or the cache's. With
// too_long, refused and bad_answer the reply holds what was paid, if an answer came.
func (c *Client) Complete(ctx context.Context, r Request) (Reply, error) {
	c.once.Do(c.start)
	if c.bad != nil {
		return Reply{}, c.bad
	}
	schema, err := c.check(&r)
	if err != nil {
		return Reply{}, err
	}
	key := c.key(&r)
	release, err := c.alone(ctx, key)
	if err != nil {
		return Reply{}, err
	}
	defer release()
	if a, ok, err := c.Cache.get(key); err != nil {
		return Reply{}, err
	} else if ok {
		c.count(func(u *Usage) { u.Replayed++ })
		return c.reply(&r, schema, a, true)
	}
	a, err := c.attempts(ctx, &r)
	if err != nil {
		return Reply{}, err
	}
	c.count(func(u *Usage) {
		u.Calls++
		u.PromptTokens += int64(a.Prompt)
		u.CompletionTokens += int64(a.Completion)
		if a.Prompt == 0 && a.Completion == 0 {
			u.Unmetered++
		}
	})
	if err := c.Cache.put(key, a); err != nil {
		return Reply{}, err
	}
	return c.reply(&r, schema, a, false)
}

func (c *Client) check(r *Request) (*shape, error) {
	bad := func(subject, msg, hint string) error {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
	}
	switch {
	case r.User == "":
		return nil, bad("request", "asks nothing", "set User")
	case math.IsNaN(r.Temperature) || r.Temperature > 2:
		return nil, bad("temperature", "expected 0 to 2, or below 0 for the server's own", "")
	case r.MaxTokens < 0:
		return nil, bad("max tokens", "expected 0 or more", "")
	case r.Schema == nil:
		return nil, nil
	}
	return newShape(r.Schema)
}

// key names the request and the model, not the address: a server that moved has the same answers.
func (c *Client) key(r *Request) string {
	data, err := json.Marshal(struct { // strings and finite numbers always marshal
		Model, System, User, Schema string
		Temperature                 float64
		MaxTokens, Seed             int
	}{c.Model, r.System, r.User, string(r.Schema), max(-1, r.Temperature), r.MaxTokens, r.Seed})
	if err != nil { // strings and finite numbers always marshal
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// alone waits until no equal request is under way, if there is a cache that would have its answer.
func (c *Client) alone(ctx context.Context, key string) (release func(), err error) {
	if c.Cache == nil {
		return func() {}, nil
	}
	for {
		c.mu.Lock()
		other := c.running[key]
		if other == nil {
			mine := make(chan struct{})
			c.running[key] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.running, key)
				c.mu.Unlock()
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, c.canceled(ctx)
		}
	}
}

// attempts asks until there is an answer or no hope.
func (c *Client) attempts(ctx context.Context, r *Request) (answer, error) {
	for n := 0; ; {
		p, err := c.gate.enter(ctx)
		if err != nil {
			return answer{}, c.canceled(ctx)
		}
		if p.denied != nil {
			f := *p.denied
			return answer{}, c.fault(&f)
		}
		c.count(func(u *Usage) { u.Attempts++ })
		a, f := c.ask(ctx, r)
		if ctx.Err() != nil && f != nil {
			c.gate.giveBack(p)
			return answer{}, c.canceled(ctx)
		}
		c.gate.leave(p, f)
		switch {
		case f == nil:
			return a, nil
		case f.Kind == dialect:
			continue // each of the two forms is learned once
		case !f.mends() || n >= c.Retries:
			return answer{}, c.fault(f)
		}
		wait := min(c.Backoff<<min(n, 20), time.Minute)
		n++
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1)) // many that failed together do not come back together
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer{}, c.canceled(ctx)
		}
	}
}

// reply judges an answer, fresh or replayed.
func (c *Client) reply(r *Request, schema *shape, a answer, replayed bool) (Reply, error) {
	out := Reply{Text: a.Text, PromptTokens: a.Prompt, CompletionTokens: a.Completion, FinishReason: a.Finish, Replayed: replayed}
	switch {
	case a.Refusal != "":
		return out, c.fault(&Fault{Kind: Refused, Detail: a.Refusal})
	case a.Finish == "content_filter":
		return out, c.fault(&Fault{Kind: Refused, Detail: "stopped by the server's content filter"})
	case schema == nil:
		return out, nil
	}
	text, err := onlyJSON(a.Text)
	if err == nil {
		err = schema.fits(text)
	}
	switch {
	case err == nil:
		out.Text = text
		return out, nil
	case a.Finish == "length":
		return out, c.fault(&Fault{Kind: TooLong, Detail: "the answer was cut off before its JSON ended"})
	}
	return out, c.fault(&Fault{Kind: BadAnswer, Detail: err.Error()})
}
