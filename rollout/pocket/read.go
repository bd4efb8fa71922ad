package pocket

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
)

// Reader is the policy's reading side: it turns a context into candidates. It knows general English and nothing else.
type Reader struct {
	lex      *english.Lexicon
	f        *blocks
	mu       sync.Mutex
	passages map[string]*passage // by title and text: a pure function, kept because passages recur
}

// NewReader makes a Reader; it is safe for concurrent use.
func NewReader() *Reader { return newReader(english.Load()) }

func newReader(lex *english.Lexicon) *Reader {
	return &Reader{lex: lex, f: newBlocks(lex), passages: map[string]*passage{}}
}

const maxPassages = 20000

func (r *Reader) passage(title, text string) *passage {
	key := title + "\n" + text
	r.mu.Lock()
	p := r.passages[key]
	r.mu.Unlock()
	if p != nil {
		return p
	}
	p = readPassage(title, text)
	r.mu.Lock()
	if len(r.passages) >= maxPassages {
		clear(r.passages)
	}
	r.passages[key] = p
	r.mu.Unlock()
	return p
}

// search is one past call with what came back.
type search struct {
	query    string
	mention  string // normalised name in the query
	step     int    // step of the plan whose words it added, -1 none
	passages []*passage
}

// conversation is a context as the policy reads it.
type conversation struct {
	question string
	plan     english.Plan
	tools    bool // a tool is offered and calls are left
	searches []search
	unread   []english.Name // names of a question whose wording is not known
	hinted   []english.Name // names that stand in hints
	conds    []condition
}

// condition is a plan's condition with its name normalised.
type condition struct {
	step int
	name string
}

// read parses a context that ends where an assistant turn begins.
func (r *Reader) read(ids []int32) (*conversation, error) {
	msgs, err := splitMessages(ids)
	if err != nil {
		return nil, err
	}
	c := &conversation{}
	pending := ""
	for _, m := range msgs {
		switch {
		case m.role == "system":
			c.tools = strings.Contains(m.text, "<tools>")
		case m.role == "assistant":
			pending = callQuery(m.text)
		case strings.HasPrefix(m.text, "<tool_response>"):
			r.observe(c, pending, m.text)
			pending = ""
		case c.question == "":
			c.question = m.text
			c.plan, c.unread = r.plan(m.text)
		default:
			c.hinted = append(c.hinted, english.Names(strings.TrimPrefix(m.text, "Hint: "))...)
		}
	}
	if c.question == "" {
		return nil, &quarry.Error{Op: "read context", Kind: quarry.KindInvalid, Msg: "no user message", Hint: "send a system and a user message before the assistant turn"}
	}
	last := -1
	for i := range c.searches {
		s := &c.searches[i]
		s.step, s.mention = matchStep(&c.plan, s.query, last)
		last = s.step
	}
	return c, nil
}

// plan reads the question; an unknown wording becomes one step asked with the question's own content words.
func (r *Reader) plan(text string) (english.Plan, []english.Name) {
	if p, ok := r.lex.ReadLoosely(text); ok {
		return p, nil
	}
	ms := english.Names(text)
	anchor := ""
	for _, m := range ms {
		if len(m.Text) > len(anchor) {
			anchor = m.Text
		}
	}
	var q []string
	cues := map[string]bool{}
	for _, w := range strings.Fields(text) {
		if w[0] >= 'a' && w[0] <= 'z' {
			for _, t := range quarry.Words(w) {
				if !english.Stop(t) {
					q = append(q, t)
					cues[english.Stem(t)] = true
				}
			}
		}
	}
	ph := &english.Phrase{ID: len(r.lex.Phrases), Query: strings.Join(q, " "), Cues: cues, Want: english.ANY, From: english.ANY}
	return english.Plan{Anchor: anchor, Steps: []*english.Phrase{ph}}, ms
}

type message struct{ role, text string }

func splitMessages(ids []int32) ([]message, error) {
	bad := func(msg string) error {
		return &quarry.Error{Op: "read context", Kind: quarry.KindInvalid, Msg: msg, Hint: "a context is ChatML in vocabulary byte/1 that ends with <|im_start|>assistant and a line break"}
	}
	var out []message
	buf := make([]byte, 0, len(ids))
	open := false
	for _, id := range ids {
		switch {
		case id == tokenImStart:
			if open {
				return nil, bad("a message begins inside another")
			}
			open, buf = true, buf[:0]
		case id == tokenImEnd:
			if !open {
				return nil, bad("a message ends that did not begin")
			}
			role, text, ok := strings.Cut(string(buf), "\n")
			if !ok {
				return nil, bad("a message without a role line")
			}
			out = append(out, message{role, text})
			open = false
		case id < 0 || id > 255:
			return nil, bad("a token that is neither a byte nor a message border")
		default:
			if open {
				buf = append(buf, byte(id))
			}
		}
	}
	if !open || string(buf) != "assistant\n" {
		return nil, bad("the context does not end at the start of an assistant turn")
	}
	return out, nil
}

// callQuery returns the search query of an assistant turn, "" when it is no search.
func callQuery(text string) string {
	body, ok := strings.CutPrefix(text, "<tool_call>\n")
	if !ok {
		return ""
	}
	body, _ = strings.CutSuffix(body, "\n</tool_call>")
	var call struct {
		Name      string `json:"name"`
		Arguments struct {
			Query string `json:"query"`
		} `json:"arguments"`
	}
	if json.Unmarshal([]byte(body), &call) != nil || call.Name != searchTool {
		return ""
	}
	return call.Arguments.Query
}

const searchTool = "search"

// observe adds a tool response: the passages of a search, or an error that teaches nothing.
func (r *Reader) observe(c *conversation, query, text string) {
	text = strings.TrimPrefix(text, "<tool_response>\n")
	text = strings.TrimSuffix(text, "\n</tool_response>")
	body, left, _ := cutLast(text, "\n")
	c.tools = c.tools && left != "Searches left: 0"
	s := search{query: query}
	for lines := strings.Split(body, "\n"); len(lines) >= 2; lines = lines[2:] {
		if _, title, ok := strings.Cut(lines[0], "] "); ok {
			s.passages = append(s.passages, r.passage(title, lines[1]))
		}
	}
	if query != "" && !strings.HasPrefix(text, "Error:") {
		c.searches = append(c.searches, s)
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// matchStep finds the step whose words a query carries, and the name before them. Two steps with the same words give
// the same query, so it counts for the first such step after the last one served, else for the last such.
func matchStep(p *english.Plan, query string, last int) (step int, name string) {
	best := -1
	for i, ph := range p.Steps {
		if ph.Query != "" && strings.HasSuffix(query, " "+ph.Query) && (best < 0 || len(ph.Query) > len(p.Steps[best].Query)) {
			best = i
		}
	}
	if best < 0 {
		return -1, quarry.Normalize(query)
	}
	name = strings.TrimSuffix(query, " "+p.Steps[best].Query)
	return canonical(p, best, last), quarry.Normalize(name)
}

func canonical(p *english.Plan, i, last int) int {
	best := i
	for j, ph := range p.Steps {
		if ph.Query != p.Steps[i].Query {
			continue
		}
		if j > last {
			return j
		}
		best = j
	}
	return best
}
