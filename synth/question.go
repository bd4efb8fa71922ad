package synth

import (
	"slices"
	"sort"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
)

// candidate is a walk on its way to a question.
type candidate struct {
	number  int
	shape   Shape
	path    []hop
	conds   []cond
	split   quarry.Split
	cross   bool
	text    string
	plan    english.Plan
	answers int
	alone   int     // bindings of the answer by the path alone
	order   float64 // random: in which order the caps fill
}

// cond is a fact that describes what a step reaches.
type cond struct {
	step    int // 1-based
	f       fact
	passage int // that carries it
}

// check rejects walks that no shape can save.
func (s *Space) check(c *candidate, splits []quarry.Split) string {
	c.split = splits[c.path[0].doc]
	c.cross = crossesDocuments(c.path)
	for i := range c.path {
		if splits[c.path[i].doc] != c.split {
			return ReasonStraddles
		}
	}
	last := c.path[len(c.path)-1]
	if s.g.Hub(last.to, s.o.HubDocs) {
		return ReasonHubAnswer
	}
	for _, h := range c.path[:len(c.path)-1] { // no literals: no hop leaves one
		if s.g.Hub(h.to, s.o.HubDocs) {
			return ReasonHubInside
		}
	}
	if len(c.path) > 1 && s.shows(c.path[0].shown, c.path[len(c.path)-1].to) {
		return ReasonOneQuery
	}
	if c.alone = len(s.answers(c, nil)); c.alone > s.o.MaxAlone {
		return ReasonAmbiguous
	}
	return s.follow(c)
}

// follow checks that each later hop can be followed with the name its predecessor's evidence shows, which may be an
// alias: the agent can only ask with what it has read.
func (s *Space) follow(c *candidate) string {
	for i := 1; i < len(c.path); i++ {
		h := &c.path[i]
		query := s.surface(c.path[i-1].passage, h.from) + " " + h.phrase.Query
		if query == h.query {
			continue
		}
		h.query, h.shown = query, s.g.Search(query, s.o.K)
		if h.rank = slices.Index(h.shown, h.passage); h.rank < 0 || h.rank >= s.o.CertTop {
			return ReasonUnreachable
		}
	}
	return ""
}

// surface is the longest form of an entity's name that can be read in a passage, "" when none can.
func (s *Space) surface(passage, entity int) string {
	best := ""
	for _, n := range s.norms[entity] {
		if text := s.read[passage].shown[n]; len(text) > len(best) {
			best = text
		}
	}
	return best
}

// complete adds conditions for a shape and makes the text; it returns a reason when the walk cannot have that shape.
// With own the evidence of the conditions lies in the question's part of the documents, as that of the path does.
func (s *Space) complete(c *candidate, splits []quarry.Split, own bool, sh Shape, frame int) string {
	c.shape, c.conds = sh, nil
	if reason := s.addConditions(c, splits, own); reason != "" {
		return reason
	}
	set := s.answers(c, c.conds)
	names := map[string]bool{}
	for _, a := range set {
		names[s.norms[a][0]] = true
	}
	if len(names) != 1 {
		return ReasonNotUnique
	}
	c.answers = len(set)
	c.plan = english.Plan{Anchor: s.g.Entities[c.path[0].from].Name}
	for i := range c.path {
		c.plan.Steps = append(c.plan.Steps, c.path[i].phrase)
	}
	for _, cd := range c.conds {
		c.plan.Conditions = append(c.plan.Conditions, english.Condition{Step: cd.step, Phrase: cd.f.phrase, Name: s.g.Entities[cd.f.about].Name})
	}
	c.text = english.Write(c.plan, frame)
	if got, ok := s.lex.Read(c.text); !ok || !samePlan(got, c.plan) {
		return ReasonWording
	}
	if s.leaks(c) {
		return ReasonLeak
	}
	if len(c.path) > 1 && s.shortcut(c, c.path[0].from, nil) {
		return ReasonOneQuery
	}
	return ""
}

func samePlan(a, b english.Plan) bool {
	return a.Anchor == b.Anchor && slices.Equal(a.Steps, b.Steps) && slices.Equal(a.Conditions, b.Conditions)
}

// leaks says whether the text names the answer or an entity that must be found on the way, or holds a telling word of
// the answer: four letters or more, in less than 1 % of the passages.
func (s *Space) leaks(c *candidate) bool {
	text := " " + quarry.Normalize(c.text) + " "
	for _, n := range s.norms[c.path[len(c.path)-1].to] {
		for _, w := range strings.Fields(n) {
			if len(w) >= 4 && contains(text, w) && s.freq[w]*100 < len(s.read) {
				return true
			}
		}
	}
	for i := range c.path {
		for _, n := range s.norms[c.path[i].to] {
			if contains(text, n) {
				return true
			}
		}
	}
	return false
}

func contains(text, name string) bool { return strings.Contains(text, " "+name+" ") }

// shortcut says whether one query from a name of the question shows the answer: the name alone, with the words of any
// step, or with those of the condition it stands in (nil for the start).
func (s *Space) shortcut(c *candidate, entity int, of *english.Phrase) bool {
	answer := c.path[len(c.path)-1].to
	name := s.g.Entities[entity].Name
	if s.shows(s.g.Search(name, s.o.K), answer) || of != nil && s.shows(s.g.Search(name+" "+of.Query, s.o.K), answer) {
		return true
	}
	return slices.ContainsFunc(c.path, func(h hop) bool {
		return s.shows(s.g.Search(name+" "+h.phrase.Query, s.o.K), answer)
	})
}

// addConditions picks facts about the path's entities, those that shrink the answer set most first. One whose name
// would be a shortcut is not used.
func (s *Space) addConditions(c *candidate, splits []quarry.Split, ownOnly bool) string {
	if c.shape.Conditions == 0 {
		return ""
	}
	onPath := map[int]bool{c.path[0].from: true}
	for i := range c.path {
		onPath[c.path[i].to] = true
	}
	type option struct {
		c    cond
		size int
	}
	var pool []option
	for i := range c.path {
		for _, f := range s.facts[c.path[i].to] {
			if onPath[f.about] || english.HeadClass(s.norms[f.about][0]) == english.HeadDemonym {
				continue
			}
			passage, own := s.carries(f, c.path[i].to, c.split, splits)
			if ownOnly && !own {
				continue
			}
			cd := cond{i + 1, f, passage}
			pool = append(pool, option{cd, len(s.answers(c, []cond{cd}))})
		}
	}
	r := rng(s.o.Seed, "conditions", c.number)
	r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	sort.SliceStable(pool, func(i, j int) bool { return pool[i].size < pool[j].size })
	used, said := map[int]bool{}, map[*english.Phrase]bool{}
	for _, o := range pool {
		if f := o.c.f; len(c.conds) < c.shape.Conditions && !used[f.about] && !said[f.phrase] && !s.shortcut(c, f.about, f.phrase) {
			used[f.about], said[f.phrase] = true, true
			c.conds = append(c.conds, o.c)
		}
	}
	if len(c.conds) < c.shape.Conditions {
		return ReasonConditions
	}
	sort.SliceStable(c.conds, func(i, j int) bool { return c.conds[i].step < c.conds[j].step })
	return ""
}

// carries is the passage that carries a fact about an entity best: in the question's part of the documents before
// another, naming both before naming one; own says whether it is in that part.
func (s *Space) carries(f fact, of int, part quarry.Split, splits []quarry.Split) (passage int, own bool) {
	best := -1
	for _, p := range s.g.Edges[f.edge].Evidence {
		score := 0
		if splits[s.g.Passages[p].Doc] == part {
			score += 2
		}
		if s.names(p, f.about) && s.names(p, of) {
			score++
		}
		if score > best {
			best, passage = score, p
		}
	}
	return passage, best >= 2
}

// answers evaluates the question on the whole graph: all statements count, with evidence or without.
func (s *Space) answers(c *candidate, conds []cond) []int {
	set := []int{c.path[0].from}
	for i := range c.path {
		var next []int
		for _, e := range set {
			for _, t := range s.out[e][c.path[i].phrase] {
				if !slices.Contains(next, t) {
					next = append(next, t)
				}
			}
		}
		for _, cd := range conds {
			if cd.step == i+1 {
				ok := s.out[cd.f.about][cd.f.phrase]
				next = slices.DeleteFunc(next, func(e int) bool { return !slices.Contains(ok, e) })
			}
		}
		set = next
	}
	return set
}
