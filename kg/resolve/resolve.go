// Package resolve finds entities of different documents that are one, and writes down which and why: a mapping file that
// people can read before anything uses it. Nothing is merged here. Apply rewrites ids on the way into a graph.
// docs/stages/resolve.md has the rules, docs/formats/extract.md the file.
package resolve

import (
	"context"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
)

const op = "kg resolve"

// Entity is what resolution knows of one entity before it is merged.
type Entity struct {
	ID      string
	Name    string
	Aliases []string
	Type    string   // "" fits any
	Docs    []string // that name it or carry its statements
	Facts   []Fact
}

// Fact is a statement seen from the entity.
type Fact struct {
	Relation string // id
	Back     bool   // the entity is its object
	Value    string // name of the other end
	Literal  bool   // which is a date, a number or a text
}

// Options of a resolution. The zero value takes what is named.
type Options struct {
	Threshold    float64     // score from which two are one: 0.7
	Acronyms     bool        // join WHO with World Health Organization
	Initials     bool        // join J. Smith with Jane Smith
	SameDocument bool        // also join entities that one document holds both of
	Functional   []string    // relations with one value at most: those of FunctionalRelations
	Apart        [][2]string // pairs of ids that are never joined
	MaxBlock     int         // entities that share a weak key, above which the key is left out: 200
	MaxComponent int         // entities that become one at most; larger groups are reported and not joined: 2000
	MaxFacts     int         // an entity with more is a hub and never joined: 20000
}

// FunctionalRelations have one value at most: dates of birth, death, founding, end and publication, places of birth and death,
// parents; as Wikidata names them and as kg/extract does.
func FunctionalRelations() []string {
	return []string{"P569", "P570", "P571", "P576", "P577", "P19", "P20", "P22", "P25",
		"date_of_birth", "date_of_death", "born_on", "died_on", "founded_in", "inception", "publication_date", "place_of_birth", "place_of_death", "father", "mother"}
}

// Rule says what two entities have in common.
type Rule string

// The rules, from the strongest to the weakest.
const (
	RuleName    Rule = "name"     // the same name
	RuleAlias   Rule = "alias"    // a name is the other's alias
	RuleAliases Rule = "aliases"  // they share an alias
	RuleWords   Rule = "words"    // the same words in another order, or with other initials between them
	RuleAcronym Rule = "acronym"  // one is the initials of the other
	RuleInitial Rule = "initials" // one has an initial for the other's first name
)

// Link is a row of the mapping: From becomes To.
type Link struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Rule     Rule     `json:"rule"`
	Score    float64  `json:"score"` // 0 to 1, rounded to 4 digits
	Via      string   `json:"via"`   // the entity of the group that From was found equal to
	Evidence []string `json:"evidence"`
}

// Large is a group that was too large to be believed.
type Large struct {
	Size  int      `json:"size"`
	Name  string   `json:"name"`
	First []string `json:"first"` // the first ids of it, 10 at most
}

// Report says what was done and what was not.
type Report struct {
	Entities   int            `json:"entities"`
	Literals   int            `json:"literals"` // dates, numbers and texts, never joined
	Hubs       int            `json:"hubs"`     // entities with too many facts, never joined
	Links      map[Rule]int   `json:"links"`
	Groups     int            `json:"groups"`
	Largest    int            `json:"largest_group"`
	Vetoes     map[string]int `json:"vetoes"` // pairs that a rule joined and a veto kept apart, by reason
	Weak       int            `json:"weak"`   // pairs below the threshold
	LeftBlocks int            `json:"left_blocks"`
	Large      []Large        `json:"large,omitempty"`
}

// Vetoes.
const (
	VetoType     = "type"           // both have a type, and another one
	VetoDocument = "same_document"  // one document tells them apart
	VetoDate     = "conflict_date"  // dates of a functional relation that cannot be one
	VetoValue    = "conflict_value" // other values of a functional relation that share no word
	VetoApart    = "apart"          // Options.Apart
)

// Mapping is the result.
type Mapping struct {
	Links  []Link // ascending by From; no To is a From
	Report Report
}

func (o *Options) settle() error {
	if o.Threshold == 0 {
		o.Threshold = 0.7
	}
	if o.Functional == nil {
		o.Functional = FunctionalRelations()
	}
	for _, d := range []struct {
		v  *int
		to int
	}{{&o.MaxBlock, 200}, {&o.MaxComponent, 2000}, {&o.MaxFacts, 20000}} {
		if *d.v == 0 {
			*d.v = d.to
		}
	}
	if !(o.Threshold > 0 && o.Threshold <= 1) || o.MaxBlock < 0 || o.MaxComponent < 0 || o.MaxFacts < 0 {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: "settings", Msg: "expected a threshold above 0 and at most 1, and limits above 0", Hint: "leave them out for the usual values"}
	}
	return nil
}

// Resolve groups entities. The result depends on the set of entities and the options only, not on their order. Errors: invalid (settings,
// an id that is empty or stands twice), canceled.
func Resolve(ctx context.Context, entities []Entity, o Options) (*Mapping, error) {
	if err := o.settle(); err != nil {
		return nil, err
	}
	r, err := newResolver(entities, &o)
	if err != nil {
		return nil, err
	}
	if err := r.join(ctx, r.blocks()); err != nil {
		return nil, err
	}
	return r.mapping(), nil
}

// round keeps scores short in the file.
func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// mapping names each group by its best known entity: most facts, then most documents, then the lowest id.
func (r *resolver) mapping() *Mapping {
	m := &Mapping{Report: r.report}
	m.Report.Entities = len(r.ents)
	groups := map[int32][]int32{}
	for i := range r.ents {
		if g := r.find(int32(i)); r.size[g] > 1 {
			groups[g] = append(groups[g], int32(i))
		}
	}
	for _, members := range groups {
		to := slices.MinFunc(members, func(a, b int32) int { return r.better(a, b) })
		if len(members) > r.opt.MaxComponent {
			l := Large{Size: len(members), Name: r.ents[to].Name}
			for _, i := range members[:min(10, len(members))] {
				l.First = append(l.First, r.ents[i].ID)
			}
			m.Report.Large = append(m.Report.Large, l)
			continue
		}
		m.Report.Groups++
		m.Report.Largest = max(m.Report.Largest, len(members))
		for _, l := range r.tree(to, members) {
			m.Links = append(m.Links, l)
			m.Report.Links[l.Rule]++
		}
	}
	slices.SortFunc(m.Links, func(a, b Link) int { return compare(a.From, b.From) })
	slices.SortFunc(m.Report.Large, func(a, b Large) int {
		if a.Size != b.Size {
			return b.Size - a.Size
		}
		return compare(a.First[0], b.First[0])
	})
	return m
}

func (r *resolver) better(a, b int32) int {
	x, y := &r.ents[a], &r.ents[b]
	for _, d := range []int{len(y.Facts) - len(x.Facts), len(y.Docs) - len(x.Docs)} {
		if d != 0 {
			return d
		}
	}
	return compare(x.ID, y.ID)
}

// tree walks the links of a group from its name outwards, so that each member tells by which of the others it came in.
func (r *resolver) tree(to int32, members []int32) []Link {
	next := map[int32][]*edge{}
	for _, i := range members {
		for k := range r.edges[i] {
			e := &r.edges[i][k]
			next[e.a] = append(next[e.a], e)
			next[e.b] = append(next[e.b], e)
		}
	}
	var out []Link
	seen := map[int32]bool{to: true}
	for queue := []int32{to}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, e := range next[at] {
			other := e.a + e.b - at
			if seen[other] {
				continue
			}
			seen[other] = true
			queue = append(queue, other)
			out = append(out, Link{From: r.ents[other].ID, To: r.ents[to].ID, Rule: e.rule, Score: e.score, Via: r.ents[at].ID, Evidence: e.evidence})
		}
	}
	return out
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
