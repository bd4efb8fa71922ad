package tiers

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/quarry-rl/quarry"
)

// Code names what makes a condition or a path implausible.
type Code string

// The codes. Those of conditions first.
const (
	CodeRepeatsPath  Code = "condition_repeats_path"  // says what a hop says
	CodeNamesPath    Code = "condition_names_path"    // its constant is on the path: it shortens or gives away
	CodeDuplicate    Code = "condition_duplicate"     // said twice
	CodeTimes        Code = "condition_times"         // contradict each other or lie after the as-of date
	CodeClass        Code = "condition_class"         // is hardly ever said of things of that class
	CodeDegenerate   Code = "condition_degenerate"    // its value says nothing to a reader
	CodeSameRelation Code = "condition_same_relation" // too many of one relation
	CodeBroken       Code = "path_broken"             // a hop does not start where the one before ended, or has no text
	CodeRevisits     Code = "path_revisits"           // an entity twice
	CodeLiteral      Code = "path_literal_inside"     // it goes on from a date or a number
	CodeChain        Code = "path_same_relation"      // one relation, one direction, again and again
	CodeOneSentence  Code = "path_one_sentence"       // nothing to join: one sentence carries two hops or more alone
)

// Facts is what the rules of plausibility know of the graph.
type Facts interface {
	// Entity gives a name and a class; TIME and NUM are literals, "" is unknown.
	Entity(id string) (name, class string)
	// Share is the share of a relation's statements whose subject (object when inverse) is of the class; below 0 when unknown.
	Share(relation string, inverse bool, class string) float64
}

// PlausibleOptions are the bounds of the rules.
type PlausibleOptions struct {
	SameRelation int         // so many conditions of one relation on one entity are too many
	Chain        int         // so many like hops in a row are
	MinShare     float64     // a class with less of a relation's statements is unrelated to it
	Before       [][2]string // relations of a time: of one entity, the first is not after the second
	Single       []string    // relations of a time that an entity has once
}

// DefaultPlausible has Wikidata's relations of time.
func DefaultPlausible() PlausibleOptions {
	return PlausibleOptions{SameRelation: 3, Chain: 3, MinShare: 0.01,
		Before: [][2]string{{"P569", "P570"}, {"P571", "P576"}, {"P580", "P582"}},
		Single: []string{"P569", "P570", "P571", "P576"}}
}

// Finding is one thing that is wrong.
type Finding struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
}

// claim is a condition, or a hop read as one: of the entity at a place of the path.
type claim struct {
	at       int // 0 the anchor, len(Path) the answer
	relation string
	inverse  bool // the entity at the place is the object
	value    string
	valueID  string
	class    string // of the value
}

// Plausible checks conditions and path of a question by rules, in the order of the codes.
func Plausible(q *quarry.Question, f Facts, o PlausibleOptions) []Finding {
	c := checking{q: q, f: f, o: o}
	conds := c.conditions()
	c.repeats(conds)
	c.times(conds)
	for _, k := range conds {
		c.condition(k)
	}
	c.sameRelation(conds)
	c.path()
	return c.found
}

type checking struct {
	q     *quarry.Question
	f     Facts
	o     PlausibleOptions
	found []Finding
}

func (c *checking) add(code Code, format string, args ...any) {
	c.found = append(c.found, Finding{code, fmt.Sprintf(format, args...)})
}

// conditions reads the atoms behind the path's: one end is a variable, ?a or ?v1 and so on, the other a constant.
func (c *checking) conditions() []claim {
	var out []claim
	for _, a := range c.q.Atoms[min(len(c.q.Path), len(c.q.Atoms)):] {
		variable, constant, inverse := a.S, a.O, false
		if !strings.HasPrefix(variable, "?") {
			variable, constant, inverse = a.O, a.S, true
		}
		at := c.place(variable)
		if at < 0 || strings.HasPrefix(constant, "?") {
			continue
		}
		k := claim{at: at, relation: a.P, inverse: inverse, valueID: constant}
		k.value, k.class = c.f.Entity(constant)
		out = append(out, k)
	}
	return out
}

func (c *checking) place(variable string) int {
	if variable == "?a" {
		return len(c.q.Path)
	}
	if n, ok := strings.CutPrefix(variable, "?v"); ok {
		if i, err := strconv.Atoi(n); err == nil && i >= 1 && i < len(c.q.Path) {
			return i
		}
	}
	return -1
}

// entity is the id at a place of the path.
func (c *checking) entity(at int) string {
	switch {
	case len(c.q.Path) == 0:
		return c.q.AnswerID
	case at == 0:
		return c.q.Path[0].From()
	}
	return c.q.Path[at-1].To()
}

func (c *checking) repeats(conds []claim) {
	onPath := map[string]bool{}
	for i := 0; i <= len(c.q.Path); i++ {
		onPath[c.entity(i)] = true
	}
	hops := map[quarry.Atom]bool{}
	for _, h := range c.q.Path {
		hops[quarry.Atom{S: h.Subject, P: h.Predicate, O: h.Object}] = true
	}
	seen := map[claim]bool{}
	for _, k := range conds {
		s, o := c.entity(k.at), k.valueID
		if k.inverse {
			s, o = o, s
		}
		switch {
		case hops[quarry.Atom{S: s, P: k.relation, O: o}]:
			c.add(CodeRepeatsPath, "%s %s %s is a hop of the path", s, k.relation, o)
		case onPath[k.valueID]:
			c.add(CodeNamesPath, "%s names %s, which is on the path", k.relation, k.value)
		case seen[k]:
			c.add(CodeDuplicate, "%s %s is said twice", k.relation, k.value)
		}
		seen[k] = true
	}
}

// times compares what conditions and hops say about the times of one entity.
func (c *checking) times(conds []claim) {
	said := conds
	for i, h := range c.q.Path {
		k := claim{at: i, relation: h.Predicate, inverse: h.Inverse, valueID: h.To()}
		k.value, k.class = c.f.Entity(h.To())
		said = append(said[:len(said):len(said)], k)
	}
	type dated struct {
		claim
		span
	}
	var ts []dated
	asOf, limited := parseTime(c.q.AsOf)
	for _, k := range said {
		if t, ok := parseTime(k.value); ok && k.class == "TIME" && !k.inverse {
			ts = append(ts, dated{k, t})
			if limited && t.from > asOf.to {
				c.add(CodeTimes, "%s %s is after %s", k.relation, k.value, c.q.AsOf)
			}
		}
	}
	for i, a := range ts {
		for j, b := range ts {
			if a.at != b.at || i == j {
				continue
			}
			for _, p := range c.o.Before {
				if a.relation == p[0] && b.relation == p[1] && a.from > b.to {
					c.add(CodeTimes, "%s %s is after %s %s", a.relation, a.value, b.relation, b.value)
				}
			}
			for _, r := range c.o.Single {
				if i < j && a.relation == r && b.relation == r && (a.from > b.to || b.from > a.to) {
					c.add(CodeTimes, "%s is %s and %s", r, a.value, b.value)
				}
			}
		}
	}
}

func (c *checking) condition(k claim) {
	if _, class := c.f.Entity(c.entity(k.at)); class != "" {
		if share := c.f.Share(k.relation, k.inverse, class); share >= 0 && share < c.o.MinShare {
			c.add(CodeClass, "%s is said of a %s in %.1f %% of its statements", k.relation, class, 100*share)
		}
	}
	if why := degenerate(k); why != "" {
		c.add(CodeDegenerate, "%s %q: %s", k.relation, k.value, why)
	}
}

const longest = 120 // characters of a value that a sentence can hold

func degenerate(k claim) string {
	letters, digits, marks := 0, 0, 0
	for _, r := range k.value {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		case strings.ContainsRune("%‰°$€£¥₹'\"", r):
			marks++
		}
	}
	switch {
	case letters+digits == 0:
		return "empty"
	case letters+digits+marks == 1:
		return "one character"
	case k.value == k.valueID && digits > 0 && k.class != "TIME" && k.class != "NUM":
		return "an id, not a name"
	case k.class == "NUM" && letters+marks == 0:
		return "a number without a unit"
	case len([]rune(k.value)) > longest:
		return "too long for a sentence"
	}
	return ""
}

func (c *checking) sameRelation(conds []claim) {
	type place struct {
		at       int
		relation string
		inverse  bool
	}
	n := map[place]int{}
	for _, k := range conds {
		p := place{k.at, k.relation, k.inverse}
		if n[p]++; n[p] == c.o.SameRelation {
			c.add(CodeSameRelation, "%d conditions by %s", n[p], k.relation)
		}
	}
}

func (c *checking) path() {
	seen := map[string]bool{}
	row, sentences := 1, map[string]bool{}
	for i, h := range c.q.Path {
		switch {
		case i > 0 && h.From() != c.q.Path[i-1].To():
			c.add(CodeBroken, "hop %d starts at %s, not at %s", i+1, h.From(), c.q.Path[i-1].To())
		case h.Text == "":
			c.add(CodeBroken, "hop %d has no text", i+1)
		}
		if i == 0 {
			seen[h.From()] = true
		}
		if seen[h.To()] {
			c.add(CodeRevisits, "hop %d leads back to %s", i+1, h.To())
		}
		seen[h.To()] = true
		if _, class := c.f.Entity(h.To()); i+1 < len(c.q.Path) && (class == "TIME" || class == "NUM") {
			c.add(CodeLiteral, "hop %d leads on from a %s", i+2, class)
		}
		if i > 0 && h.Predicate == c.q.Path[i-1].Predicate && h.Inverse == c.q.Path[i-1].Inverse {
			row++
		} else {
			row = 1
		}
		if row == c.o.Chain {
			c.add(CodeChain, "%d times %s in a row", row, h.Predicate)
		}
		sentences[h.Text] = true
	}
	if len(c.q.Path) > 1 && len(sentences) == 1 {
		c.add(CodeOneSentence, "%d hops, one sentence", len(c.q.Path))
	}
}
