package quarry

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Statement is one fact with its provenance: the sentence of a document that carries it. A statement without
// evidence (Doc == "") serves uniqueness checks only and is never a hop.
type Statement struct {
	Subject    string `json:"s"` // entity id
	Predicate  string `json:"p"` // relation id
	Object     string `json:"o"` // entity id
	Text       string `json:"text,omitempty"`
	Doc        string `json:"doc,omitempty"`
	Start      int    `json:"start"` // byte span of Text in the document's text
	End        int    `json:"end"`
	TextSHA256 string `json:"text_sha256,omitempty"`
}

// Hop is a statement walked in one direction: from subject to object, or back when Inverse.
type Hop struct {
	Statement
	Inverse bool `json:"inverse"`
}

// From is the entity the hop leaves.
func (h Hop) From() string {
	if h.Inverse {
		return h.Object
	}
	return h.Subject
}

// To is the entity the hop reaches.
func (h Hop) To() string {
	if h.Inverse {
		return h.Subject
	}
	return h.Object
}

// Walk is the evidence path: hops in order, each starting where the one before ended.
type Walk []Hop

// Named is an entity with the surface forms it may be matched by.
type Named struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
}

// Atom is one condition of a question's formal query: entity and relation ids, variables begin with "?", "?a" is the answer.
type Atom struct {
	S string `json:"s"`
	P string `json:"p"`
	O string `json:"o"`
}

// Split says which part of the documents a question's evidence comes from.
type Split string

// The parts. Walks never straddle them.
const (
	SplitTrain   Split = "train"
	SplitTier    Split = "tier" // fits the skill levels of the filter
	SplitHeldout Split = "heldout"
)

// Question is a synthesised question with everything needed to recheck it (schema Q1).
type Question struct {
	ID          string          `json:"id"`
	Text        string          `json:"question"`
	Answer      string          `json:"answer"`
	Aliases     []string        `json:"aliases"`
	AnswerID    string          `json:"answer_id"`
	Lang        string          `json:"lang"`
	Source      string          `json:"source"`
	Split       Split           `json:"split"`
	License     string          `json:"license"`
	Entities    []Named         `json:"entities"` // what the process reward counts: path entities not named in the question
	Path        Walk            `json:"path"`
	Atoms       []Atom          `json:"atoms"`      // of the path's hops, then of the conditions
	Conditions  []Statement     `json:"conditions"` // what only narrows the answer, with its evidence
	AnswerSet   int             `json:"answer_set"` // bindings of ?a on the whole graph
	Certificate json.RawMessage `json:"certificate"`
	Difficulty  json.RawMessage `json:"difficulty,omitempty"` // attempts per skill level, set by the filter
	Walk        json.RawMessage `json:"walk"`                 // seed, walk number, shape
	AsOf        string          `json:"as_of,omitempty"`
}

// Hops is the number of statements on the evidence path.
func (q *Question) Hops() int { return len(q.Path) }

// Docs lists the distinct evidence documents of the path in order of first use.
func (q *Question) Docs() []string {
	var out []string
	seen := map[string]bool{}
	for _, h := range q.Path {
		if !seen[h.Doc] {
			seen[h.Doc] = true
			out = append(out, h.Doc)
		}
	}
	return out
}

// Accepts says whether text is the answer or one of its aliases after Normalize.
func (q *Question) Accepts(text string) bool {
	n := Normalize(text)
	if n == "" {
		return false
	}
	if n == Normalize(q.Answer) {
		return true
	}
	for _, a := range q.Aliases {
		if n == Normalize(a) {
			return true
		}
	}
	return false
}

// Words splits text into lower-case runs of letters and digits; a leading "the" is dropped.
func Words(s string) []string {
	w := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(w) > 1 && w[0] == "the" {
		w = w[1:]
	}
	return w
}

// Normalize folds a surface form for comparison: Words joined by one space.
func Normalize(s string) string { return strings.Join(Words(s), " ") }
