// Package teacher asks a chat model behind any OpenAI-compatible endpoint: text, or JSON of a given schema. It retries
// what may mend itself, slows down when the server says so, stops when it fails for good, counts what was spent, and
// keeps every paid answer in a file, so that a job that was killed goes on without paying twice.
package teacher

import (
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/quarry-rl/quarry"
)

const op = "teacher"

// Request is one question to the model. Equal requests to one model have one answer in the cache.
type Request struct {
	System      string          // instructions, "" for none
	User        string          // not empty
	Schema      json.RawMessage // JSON schema of the answer (docs/stages/extract.md has the keywords), nil for free text
	Temperature float64         // 0 is greedy and sent as 0; below 0 leaves it to the server
	MaxTokens   int             // of the answer; 0 leaves it to the server
	Seed        int             // 0 is a seed like any other; another one is another request
}

// Reply is an answer. With a schema Text is one JSON value that fits it.
type Reply struct {
	Text             string
	PromptTokens     int
	CompletionTokens int
	FinishReason     string // as the server names it: stop, length, ...
	Replayed         bool   // from the cache or from an equal request under way: not paid for by this call
}

// Price is what a million tokens cost, in any one currency.
type Price struct{ In, Out float64 }

// Cost of a number of tokens.
func (p Price) Cost(prompt, completion int64) float64 {
	return (float64(prompt)*p.In + float64(completion)*p.Out) / 1e6
}

// Usage is what a client has spent. Every answer that came is counted, also one that could not be used; what a server
// charges for an attempt that gave no answer cannot be known.
type Usage struct {
	Calls            int64   `json:"calls"`     // answers of the server
	Attempts         int64   `json:"attempts"`  // requests sent, those that failed included
	Replayed         int64   `json:"replayed"`  // answers that were already there
	Unmetered        int64   `json:"unmetered"` // answers for which the server named no tokens
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Cost             float64 `json:"cost"`
}

// Client asks one model at one endpoint. Set the fields before the first call; a zero field takes the value named.
// It is safe for concurrent use.
type Client struct {
	BaseURL       string        // with the version, such as http://127.0.0.1:8000/v1
	Model         string        // as the server calls it
	Key           string        // sent as bearer token, "" sends none; KeyFrom reads it from the environment
	Timeout       time.Duration // of one attempt, its answer included: 2 min
	MaxConcurrent int           // attempts at once at most: 8
	Retries       int           // attempts after the first: 5; below 0 is none
	Backoff       time.Duration // before the first retry, doubled with each up to 1 min: 500 ms
	Price         Price
	Cache         *Cache // nil keeps nothing
	HTTP          Doer   // an http.Client with connections of its own

	once    sync.Once
	bad     error
	gate    *gate
	wire    wire
	mu      sync.Mutex
	usage   Usage
	running map[string]chan struct{} // requests under way, by key
}

// Usage is what was spent so far.
func (c *Client) Usage() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.usage
	u.Cost = c.Price.Cost(u.PromptTokens, u.CompletionTokens)
	return u
}

func (c *Client) count(f func(*Usage)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.usage)
}

func (c *Client) start() {
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Minute
	}
	if c.MaxConcurrent <= 0 {
		c.MaxConcurrent = 8
	}
	if c.Retries == 0 {
		c.Retries = 5
	}
	if c.Backoff <= 0 {
		c.Backoff = 500 * time.Millisecond
	}
	c.gate = newGate(c.MaxConcurrent)
	c.running = map[string]chan struct{}{}
	c.bad = c.wire.open(c)
	for _, p := range []float64{c.Price.In, c.Price.Out} {
		if c.bad == nil && (p < 0 || math.IsNaN(p) || math.IsInf(p, 0)) {
			c.bad = &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: "price", Msg: "expected a number from 0 up", Hint: "give the price of a million tokens"}
		}
	}
}
