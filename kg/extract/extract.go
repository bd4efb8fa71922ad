// Package extract has a teacher model read documents and write down what they state, as (entity, statement) records in
// the format of kg/ingest (docs/formats/sources.md). A statement counts only when the words that say it stand in the document
// byte by byte, and when those words or the sentence before name what it is about; what fails that is kept with its reason.
// docs/stages/extract.md has the rules, docs/formats/extract.md the files.
package extract

import (
	"context"
	"math"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/teacher"
	"github.com/quarry-rl/quarry/kg/store"
)

const op = "kg extract"

// Teacher answers; *teacher.Client is one.
type Teacher interface {
	Complete(context.Context, teacher.Request) (teacher.Reply, error)
}

// Document is one source text. A citation of it needs a title; the id stands in when it has none.
type Document struct {
	ID      string
	Title   string
	URL     string
	Section string
	Text    string
	ends    []int // of sentences in Text where the source says so
}

// Options of a run. Those of the first group belong to what is made: a run goes on only with the same ones.
type Options struct {
	Model     string           // name of the teacher, noted in the ledger
	Relations []store.Relation // the only predicates allowed; none allows any
	Chunk     int              // bytes of text that a request covers: 6000
	Overlap   int              // sentences before them that are shown as well: 2; below 0 is none
	MaxTokens int              // of an answer: 4096
	Tries     int              // answers of one chunk, with other seeds, until one has the right form: 2
	Seed      int              // of the first try

	Concurrency int           // documents at once: 4
	Price       teacher.Price // of the teacher, for the ledger and the budget
	MaxCost     float64       // in Price's currency, over all runs into one folder; 0 is no limit
	MaxCalls    int64         // likewise of answers
	Progress    func(Summary) // after each document, or nil
}

// Reasons for which a candidate is rejected, in the order they are tried.
const (
	Incomplete       = "incomplete"              // no subject, no statement, or only some of predicate and object
	TooLong          = "too_long"                // a name above 200 bytes, a statement above 1024, or a span above 2000
	SpanMissing      = "span_not_in_source"      // not there word for word
	SpanOutside      = "span_outside_passage"    // elsewhere in the document than in the passage that was asked about
	SubjectMissing   = "subject_not_in_span"     // neither span nor the sentence before names it, nor a pronoun leads to it
	ObjectMissing    = "object_not_in_span"      // likewise of the object
	SelfLoop         = "subject_is_object"       //
	UnknownRelation  = "unknown_relation"        // not one of Options.Relations
	BadTime          = "bad_time"                // no YYYY, YYYY-MM or YYYY-MM-DD, or an end before the start
	QualifierMissing = "qualifier_not_in_source" // the year is not near the span, or the method not in the text
	Duplicate        = "duplicate"               // the same statement of the same span
)

// Usage is what documents cost. An answer that was replayed from a cache counts like any other, so that a document costs the
// same however often its run was interrupted; teacher.Usage has what was paid by one process.
type Usage struct {
	Calls            int64   `json:"calls"`
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Cost             float64 `json:"cost"`
}

func (u *Usage) add(v Usage) {
	u.Calls += v.Calls
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	u.Cost += v.Cost
}

// Summary adds the ledger up: Candidates = Out + the sum of Rejected.
type Summary struct {
	Documents  int              `json:"documents"` // finished, by this run and those before
	Resumed    int              `json:"resumed"`   // of these, those that were there already
	Repeated   int              `json:"repeated"`  // documents of the source that came a second time
	Chunks     int              `json:"chunks"`
	Failed     map[string]int64 `json:"failed_chunks"` // by kind of fault
	Candidates int64            `json:"candidates"`
	Out        int64            `json:"out"`
	Rejected   map[string]int64 `json:"rejected"` // by reason
	Usage      Usage            `json:"usage"`
}

func (o *Options) settle() error {
	for _, d := range []struct {
		v  *int
		to int
	}{{&o.Chunk, 6000}, {&o.Overlap, 2}, {&o.MaxTokens, 4096}, {&o.Tries, 2}, {&o.Concurrency, 4}} {
		if *d.v == 0 {
			*d.v = d.to
		}
	}
	o.Overlap = max(0, o.Overlap)
	bad := func(subject, msg string) error {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: "leave it out for the usual value"}
	}
	switch {
	case o.Chunk < 200 || o.Chunk > 1<<20:
		return bad("chunk", "expected 200 bytes to 1 MiB")
	case o.Overlap > 20:
		return bad("overlap", "expected at most 20 sentences")
	case o.MaxTokens < 0, o.Tries < 0 || o.Tries > 10, o.Concurrency < 0 || o.Concurrency > 4096:
		return bad("settings", "expected max tokens, tries (at most 10) and concurrency (at most 4096) above 0")
	case !(o.MaxCost >= 0) || math.IsInf(o.MaxCost, 0) || o.MaxCalls < 0:
		return bad("budget", "expected a number from 0 up")
	}
	for _, r := range o.Relations {
		if r.ID == "" {
			return bad("relations", "one has no id")
		}
	}
	return nil
}
