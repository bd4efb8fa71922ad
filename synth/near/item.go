// Package near finds near-duplicate questions: by text, with MinHash and banding, confirmed by the exact similarity of
// shingle sets, and by structure, with keys made of the formal question. What is kept does not depend on the order in
// which questions come.
package near

import (
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Rule is a ground on which two questions are twins.
type Rule string

// The rules. Of several between the same two questions the first is named.
const (
	RuleText      Rule = "text"             // shingle sets of Jaccard similarity >= Options.Jaccard
	RuleEntities  Rule = "entities"         // same unordered set of entities
	RuleRelations Rule = "answer_relations" // same answer and same relations
	RuleDocuments Rule = "documents"        // same set of evidence documents
)

var rules = []Rule{RuleText, RuleEntities, RuleRelations, RuleDocuments}

func (r Rule) known() bool { return slices.Contains(rules, r) }

// Item is a question as near-duplicates are looked for. Rules whose fields are empty do not apply.
type Item struct {
	ID        string // twins are decided in byte order of ids
	Text      string
	Answer    string   // id, or a normalised name
	Relations []string // with direction, in the order of the path; then those of the conditions, sorted
	Entities  []string // ids, in any order
	Docs      []string // ids, in any order
}

// ItemOf takes the item from a question: entities and documents are those of its path.
func ItemOf(q *quarry.Question) Item {
	it := Item{ID: q.ID, Text: q.Text, Answer: q.AnswerID, Docs: q.Docs()}
	if it.Answer == "" {
		it.Answer = quarry.Normalize(q.Answer)
	}
	for i, h := range q.Path {
		if i == 0 {
			it.Entities = append(it.Entities, h.From())
		}
		it.Entities = append(it.Entities, h.To())
		r := h.Predicate
		if h.Inverse {
			r = "^" + r
		}
		it.Relations = append(it.Relations, r)
	}
	var conditions []string
	for _, c := range q.Conditions {
		conditions = append(conditions, "?"+c.Predicate)
	}
	slices.Sort(conditions)
	it.Relations = append(it.Relations, conditions...)
	return it
}

// keys are the structural keys of an item by rule, "" where a rule does not apply.
func (it *Item) keys() map[Rule]string {
	k := map[Rule]string{}
	if it.Answer != "" && len(it.Relations) > 0 {
		k[RuleRelations] = joined(append([]string{it.Answer}, it.Relations...))
	}
	if s := set(it.Entities); len(s) > 0 {
		k[RuleEntities] = joined(s)
	}
	if s := set(it.Docs); len(s) > 0 {
		k[RuleDocuments] = joined(s)
	}
	return k
}

// set is s sorted, without empty strings and repetitions.
func set(s []string) []string {
	out := slices.DeleteFunc(slices.Clone(s), func(x string) bool { return x == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// joined is an injective joining: a zero byte within a part is doubled with a one.
func joined(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strings.ReplaceAll(p, "\x00", "\x00\x01"))
		b.WriteString("\x00\x00")
	}
	return b.String()
}

func same(a, b *Item) bool {
	return a.Text == b.Text && a.Answer == b.Answer && slices.Equal(a.Relations, b.Relations) &&
		slices.Equal(set(a.Entities), set(b.Entities)) && slices.Equal(set(a.Docs), set(b.Docs))
}
