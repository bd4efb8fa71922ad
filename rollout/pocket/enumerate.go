package pocket

import (
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
)

// The actions of a candidate.
const (
	actSearch = iota
	actAnswer
	actBad // a malformed call, an unknown tool, no answer tag: so that format and tool rewards have something to teach
)

// Enumerate lists the continuations the policy can write after a context that ends at the start of an assistant turn:
// search queries built from names in the question or in observations and from the question's own words, answers
// copied from them, closed-book guesses, and malformed turns. It reads nothing but the ids and the guesses.
// Errors: KindInvalid for a context that is not such a conversation.
func (r *Reader) Enumerate(ids []int32, guesses []string) (*Choices, error) {
	c, err := r.read(ids)
	if err != nil {
		return nil, err
	}
	e := newEnumeration(r.f, c)
	names := e.names()
	for _, n := range names {
		e.addName(n.text, n.norm)
	}
	known := map[string]bool{}
	for _, n := range names {
		known[n.norm] = true
	}
	for _, g := range guesses {
		if n := quarry.Normalize(g); n != "" && !known[n] {
			known[n] = true
			fs := append(e.describe(roleAnswer, n, nil), r.f.guess.id(0))
			e.add(actAnswer, answerText(g), fs)
		}
	}
	e.addMalformed()
	return NewChoices(e.out), nil
}

// enumeration is the work on one context.
type enumeration struct {
	f      *blocks
	c      *conversation
	views  map[string]*view
	order  []string
	step   int // step the last search served, -1 none
	phrase *english.Phrase
	done   int // searches against steps: 0 none, 1 under way, 2 last step next, 3 all done, 4 beyond
	used   map[string]bool
	asked  map[string]bool
	anchor string          // normalised
	named  map[string]bool // normalised names of the question
	cond   bool            // the last step's result has a condition
	out    []Candidate
}

func newEnumeration(f *blocks, c *conversation) *enumeration {
	e := &enumeration{f: f, c: c, used: map[string]bool{}, asked: map[string]bool{}, named: map[string]bool{}}
	e.anchor = quarry.Normalize(c.plan.Anchor)
	e.named[e.anchor] = true
	for _, cd := range c.plan.Conditions {
		n := quarry.Normalize(cd.Name)
		e.named[n] = true
		c.conds = append(c.conds, condition{cd.Step, n})
	}
	e.views, e.order = c.views()
	e.step, _, e.phrase = c.last()
	for _, cd := range c.conds {
		e.cond = e.cond || cd.step == e.step+1
	}
	for _, s := range c.searches {
		e.used[s.mention] = true
		e.asked[s.query] = true
	}
	steps, n := len(c.plan.Steps), len(c.searches)
	switch {
	case n == 0:
	case n < steps-1:
		e.done = 1
	case n < steps:
		e.done = 2
	case n == steps:
		e.done = 3
	default:
		e.done = 4
	}
	return e
}

type name struct{ text, norm string }

// names are those the observations show, then the question's own, then those only hints show: described like a name
// seen earlier, so that no feature tells a hinted name from another.
func (e *enumeration) names() []name {
	var out []name
	for _, n := range e.order {
		out = append(out, name{e.views[n].m.Text, n})
	}
	add := func(text string) {
		n := quarry.Normalize(text)
		if n != "" && e.views[n] == nil && !slices.ContainsFunc(out, func(o name) bool { return o.norm == n }) {
			out = append(out, name{text, n})
		}
	}
	add(e.c.plan.Anchor)
	var conds []string
	for _, cd := range e.c.plan.Conditions {
		conds = append(conds, cd.Name)
	}
	slices.Sort(conds)
	for _, t := range conds {
		add(t)
	}
	for _, m := range e.c.unread {
		add(m.Text)
	}
	for _, m := range e.c.hinted {
		if e.views[m.Norm] == nil && !e.named[m.Norm] {
			e.views[m.Norm] = &view{m: m, count: 1}
			out = append(out, name{m.Text, m.Norm})
		}
	}
	return out
}

func (e *enumeration) addName(text, norm string) {
	v := e.views[norm]
	if e.c.tools {
		for i := -1; i < len(e.c.plan.Steps); i++ {
			if i >= 0 && (e.c.plan.Steps[i].Query == "" || canonical(&e.c.plan, i, e.step) != i) {
				continue
			}
			ro := roleSearch
			if i <= 0 && e.step < 0 {
				ro = roleStart
			}
			query := text
			if i >= 0 {
				query = text + " " + e.c.plan.Steps[i].Query
			}
			fs := append(e.describe(ro, norm, v), e.f.which.id(e.which(i)))
			if e.asked[query] {
				fs = append(fs, e.f.repeat.id(0))
			}
			e.add(actSearch, searchText(searchTool, query), fs)
		}
	}
	e.add(actAnswer, answerText(text), e.describe(roleAnswer, norm, v))
}

// which compares the step whose words a query adds with the next one: next, same, earlier, later, none.
func (e *enumeration) which(i int) int {
	switch {
	case i < 0:
		return 4
	case i == e.step+1:
		return 0
	case i == e.step:
		return 1
	case i < e.step:
		return 2
	}
	return 3
}

func (e *enumeration) add(act int, text string, fs []uint16) {
	e.out = append(e.out, Candidate{Text: []byte(text), Features: append(fs, e.f.act.id(act, e.done))})
}

func (e *enumeration) addMalformed() {
	call := searchText(searchTool, e.c.plan.Anchor)
	e.add(actBad, strings.Replace(call, "}}", "}", 1), nil)
	e.add(actBad, searchText("lookup", e.c.plan.Anchor), nil)
	e.add(actBad, "I do not know.", nil)
}

func searchText(tool, query string) string {
	return "<tool_call>\n{\"name\": \"" + tool + "\", \"arguments\": {\"query\": " + quoteJSON(query) + "}}\n</tool_call>"
}

func answerText(s string) string { return "<answer>" + s + "</answer>" }

// quoteJSON writes a JSON string without escaping more than JSON asks for.
func quoteJSON(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := range len(s) {
		switch ch := s[i]; {
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch < 0x20:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		default:
			b = append(b, ch)
		}
	}
	return string(append(b, '"'))
}

// describe lists the features of using a name in a role.
func (e *enumeration) describe(ro role, norm string, v *view) []uint16 {
	f, r := e.f, int(ro)
	fs := make([]uint16, 0, 36)
	inQ := 0
	if norm == e.anchor {
		inQ = 1
	} else if e.named[norm] {
		inQ = 2
	}
	fs = append(fs, f.inQ.id(r, inQ), f.used.id(r, b2i(e.used[norm])))
	if v == nil {
		return append(fs, f.seen.id(r, 2))
	}
	if !v.inLast {
		return append(fs, f.seen.id(r, 1), f.count.id(r, min(v.count, 4)-1))
	}
	fs = append(fs, f.seen.id(r, 0), f.rank.id(r, min(v.rank, 5)), f.count.id(r, min(v.count, 4)-1),
		f.withPrev.id(r, b2i(v.withPrev)), f.titlePrev.id(r, b2i(v.titPrev)), f.prevDist.id(r, bucket(v.prevDist)))
	ph := e.phrase
	if ph == nil {
		return fs
	}
	want, inv := int(ph.Want), b2i(ph.Inverse)
	cd := bucket(v.dist)
	near := cd <= 2
	fs = append(fs, f.cueDist.id(r, cd), f.cueSide.id(r, inv, v.side), f.cueCount.id(r, min(v.cues, 3)),
		f.title.id(r, inv, b2i(v.m.Title)), f.first.id(r, inv, b2i(v.m.First)),
		f.shape.id(r, want, int(v.m.Shape)), f.before.id(r, want, v.m.Before),
		f.joint.id(r, b2i(v.withPrev)<<2|b2i(near)<<1|b2i(ph.Want.Fits(v.m.Shape))),
		f.phHead.id(ph.ID, v.m.Head), f.head.id(r, want, v.m.Head), f.form.id(r, int(v.m.Form)),
		f.cueIn.id(r, b2i(cueInside(ph, norm))), f.best.id(r, b2i(v.best)), f.nearCue.id(r, v.nearCue), f.nearPrev.id(r, v.nearPrev), f.chain.id(r, want, v.m.Chain))
	if ro == roleSearch && e.step+1 < len(e.c.plan.Steps) {
		fs = append(fs, f.from.id(int(e.c.plan.Steps[e.step+1].From), int(v.m.Shape)))
	}
	if e.cond {
		fs = append(fs, f.cond.id(r, 1+b2i(v.cond)))
	}
	return fs
}

func cueInside(ph *english.Phrase, norm string) bool {
	for _, w := range english.Terms(norm) {
		if ph.Cues[w] {
			return true
		}
	}
	return false
}
