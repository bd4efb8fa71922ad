package retrieve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/bm25"
)

// Corpus is what a server answers from. Its methods are called by many requests at once.
type Corpus interface {
	// Search appends the best k passages to dst, best first.
	Search(query string, k int, dst []bm25.Hit) []bm25.Hit
	// Passage is a passage by its number, as Search gave it.
	Passage(n uint32) Document
	// Page is the whole text at a URL; ok is false when there is none.
	Page(url string) (p Page, ok bool)
}

// ServerOptions bound what a request may ask. Zero fields take the values named.
type ServerOptions struct {
	MaxBody  int64 // bytes of a request body: 8 MiB
	MaxBatch int   // queries or URLs of a request: 1024
	MaxQuery int   // bytes of a query: 16 KiB
	MaxK     int   // passages per query: 1000
	Summary  int   // bytes of a summary in OpenResearcher's results, cut at a rune: 180

	// Journal, when set, gets every request to a route after it was answered, on the request's goroutine.
	Journal func(Entry)
}

// Entry is one request in the journal.
type Entry struct {
	At      time.Time
	Elapsed time.Duration
	Route   string // "/retrieve"
	Shape   Shape  // "" when the request was refused before it was known
	Queries []string
	K       int
	Hits    [][]bm25.Hit // by query
	URLs    []string     // of /access and /get_content
	Status  int
	Err     error // why Status is not 200
	Fault   Fault // injected by Inject, else ""
}

func (o ServerOptions) filled() ServerOptions {
	set := func(v *int, to int) {
		if *v <= 0 {
			*v = to
		}
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	set(&o.MaxBatch, 1024)
	set(&o.MaxQuery, 16<<10)
	set(&o.MaxK, 1000)
	set(&o.Summary, 180)
	return o
}

// server answers every shape; what differs between requests is in call.
type server struct {
	corpus Corpus
	opt    ServerOptions
	calls  sync.Pool // *call
}

// Handler serves a corpus in every shape: POST /retrieve, /access, /search, /batch_search, /queries, /get_content and
// GET /health. The two shapes of /search are told apart by their keys. It holds no lock.
func Handler(corpus Corpus, opt ServerOptions) http.Handler {
	s := &server{corpus: corpus, opt: opt.filled()}
	s.calls.New = func() any { return new(call) }
	mux := http.NewServeMux()
	for route, answer := range map[string]func(*call) (any, error){
		"POST /retrieve": s.retrieve, "POST /access": s.access, "POST /search": s.search, "POST /batch_search": s.batch,
		"POST /queries": s.queries, "POST /get_content": s.content, "GET /health": s.health,
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, answer) })
	}
	return mux
}

// call is one request being answered, used again for later ones.
type call struct {
	Entry
	body  bytes.Buffer
	out   bytes.Buffer
	fault Fault
	hits  []bm25.Hit
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, answer func(*call) (any, error)) {
	c := s.calls.Get().(*call)
	c.Entry = Entry{At: time.Now(), Route: r.URL.Path, Status: http.StatusOK}
	c.fault, c.Fault = faultOf(r.Context()), faultOf(r.Context())
	c.body.Reset()
	c.out.Reset()
	c.hits = c.hits[:0]
	_, err := c.body.ReadFrom(http.MaxBytesReader(w, r.Body, s.opt.MaxBody))
	if err != nil {
		err = bodyError(err)
	}
	var v any
	if err == nil {
		v, err = answer(c)
	}
	if err != nil {
		c.Err = err
		c.Status, v = statusOf(err), failureOf(err)
	}
	enc := json.NewEncoder(&c.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && c.Err == nil { // only a Corpus with scores that are no numbers
		c.Err = &quarry.Error{Op: "retrieve", Kind: quarry.KindInternal, Subject: c.Route, Msg: "the answer cannot be written as JSON", Err: err}
		c.Status = http.StatusInternalServerError
		c.out.Reset()
		enc.Encode(failureOf(c.Err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(c.Status)
	w.Write(c.out.Bytes())
	if s.opt.Journal != nil {
		c.Elapsed = time.Since(c.At)
		s.opt.Journal(c.Entry)
		c.hits = nil // the journal may keep them
	}
	if c.body.Cap()+c.out.Cap() < 1<<20 {
		s.calls.Put(c)
	}
}

func bodyError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &tooLarge{invalid("body", fmt.Sprintf("is longer than %d bytes", large.Limit), "send fewer queries at once")}
	}
	return &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: "body", Msg: "could not be read to its end", Err: err}
}

// tooLarge marks the errors that answer 413.
type tooLarge struct{ error }

func (e *tooLarge) Unwrap() error { return e.error }

func invalid(subject, msg, hint string) error {
	return &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
}

func statusOf(err error) int {
	var large *tooLarge
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case quarry.KindOf(err) == quarry.KindNotFound:
		return http.StatusNotFound
	case quarry.KindOf(err) == quarry.KindInvalid:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func failureOf(err error) failure {
	f := failure{Detail: err.Error(), Error: failureError{Kind: string(quarry.KindOf(err)), Hint: quarry.HintOf(err)}}
	var e *quarry.Error
	if errors.As(err, &e) {
		f.Error.Subject = e.Subject
	}
	return f
}

// decode reads the body into v. Keys that no shape has are ignored, as the public servers do.
func (c *call) decode(v any) error {
	dec := json.NewDecoder(bytes.NewReader(c.body.Bytes()))
	if err := dec.Decode(v); err != nil {
		subject := "body"
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			subject = wrong.Field
		}
		return &quarry.Error{Op: "retrieve", Kind: quarry.KindInvalid, Subject: subject, Msg: "is not the JSON that " + c.Route + " takes",
			Hint: expected[c.Route], Err: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return invalid("body", "goes on after the JSON object", expected[c.Route])
	}
	return nil
}

// expected is an example of each body, for hints.
var expected = map[string]string{
	"/retrieve":     `send {"queries":["who"],"topk":3,"return_scores":true}`,
	"/access":       `send {"urls":["https://..."]}`,
	"/search":       `send {"query":"who","top_n":10,"return_score":false} (ReCall) or {"query":"who","topn":10} (OpenResearcher)`,
	"/batch_search": `send {"query":["who"],"top_n":10,"return_score":false}`,
	"/queries":      `send {"queries":["who"],"k":3}`,
	"/get_content":  `send {"url":"https://..."}`,
}

// find searches for every query: hits by query. k nil or 0 takes def. A query without words finds nothing.
func (s *server) find(c *call, key string, queries []string, kName string, k *int, def int) error {
	if queries == nil {
		return invalid(key, "is missing", expected[c.Route])
	}
	c.Queries, c.K = queries, def
	if k != nil && *k != 0 {
		c.K = *k
	}
	if c.K < 0 || c.K > s.opt.MaxK {
		return invalid(kName, fmt.Sprintf("is %d, expected 1 to %d", c.K, s.opt.MaxK), "ask for fewer passages")
	}
	if len(queries) > s.opt.MaxBatch {
		return invalid(key, fmt.Sprintf("has %d queries, at most %d are answered at once", len(queries), s.opt.MaxBatch), "send them in parts")
	}
	for i, q := range queries {
		if len(q) > s.opt.MaxQuery {
			return invalid(fmt.Sprintf("%s[%d]", key, i), fmt.Sprintf("has %d bytes, at most %d are searched for", len(q), s.opt.MaxQuery), "shorten the query")
		}
	}
	c.Hits = make([][]bm25.Hit, len(queries))
	if c.fault == FaultEmpty {
		return nil
	}
	for i, q := range queries {
		from := len(c.hits)
		c.hits = s.corpus.Search(q, c.K, c.hits)
		c.Hits[i] = c.hits[from:len(c.hits):len(c.hits)]
	}
	return nil
}

// passage is a passage as it is sent: a truncation fault leaves the first half of its text.
func (s *server) passage(c *call, n uint32) Document {
	d := s.corpus.Passage(n)
	if c.fault == FaultTruncated {
		d.Text = cut(d.Text, len(d.Text)/2)
	}
	return d
}

func (s *server) page(c *call, url string) (Page, bool) {
	c.URLs = append(c.URLs, url)
	if c.fault == FaultEmpty {
		return Page{}, false
	}
	p, ok := s.corpus.Page(url)
	if !ok { // MediaWiki has two spellings; ASearcher's server knows both
		if other := strings.Replace(url, "index.php/", "index.php?title=", 1); other != url {
			p, ok = s.corpus.Page(other)
		}
	}
	if c.fault == FaultTruncated {
		p.Text = cut(p.Text, len(p.Text)/2)
	}
	return p, ok
}

// cut is the first n bytes of s or a little less, so that no rune is broken.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
