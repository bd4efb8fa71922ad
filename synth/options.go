// Package synth turns walks of a knowledge graph into questions worth training on: certified walks, questions worded
// like a person's, conditions until the answer is unique on the whole graph, leak checks, and a ledger in which every
// candidate ends in one state with a reason.
package synth

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Shape is how many statements a question has: hops on the path and conditions beside it.
type Shape struct {
	Hops       int `json:"hops"`
	Conditions int `json:"conditions"`
}

// ParseShape reads "2+1".
func ParseShape(s string) (Shape, error) {
	hops, conditions, _ := strings.Cut(s, "+")
	h, errH := strconv.Atoi(hops)
	c, errC := strconv.Atoi(conditions)
	sh := Shape{Hops: h, Conditions: c}
	if errH != nil || errC != nil || sh.String() != s || h < 1 || h > maxHops || c < 0 || c > maxConditions {
		return Shape{}, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: "shape " + strconv.Quote(s), Msg: "expected hops+conditions, such as 2+1 (1-6 hops, 0-4 conditions)",
			Hint: "list shapes such as 3+1 under synth.shapes"}
	}
	return sh, nil
}

// String is the form ParseShape reads.
func (s Shape) String() string { return fmt.Sprintf("%d+%d", s.Hops, s.Conditions) }

// Options are the settings of a synthesis; all of them enter the stage's key.
type Options struct {
	Seed        uint64
	License     string                   // of the data's texts, copied into each question
	Walks       int                      // walks tried for each number of hops
	CrossBias   float64                  // weight of a hop that changes the document, against 1
	Shapes      []Shape                  // of one number of hops, earlier ones are tried first on a walk
	K           int                      // passages a search returns
	CertTop     int                      // a hop is followable when its evidence is among the first CertTop passages
	MaxAlone    int                      // answers the path may have without its conditions
	MaxFanout   int                      // neighbours by one phrase on the whole graph
	HubDocs     int                      // entities in more documents are neither answers nor on the path
	PerAnswer   int                      // questions with one answer
	PerAnchor   int                      // questions from one start
	CrossShare  float64                  // at least this share of a part's questions crosses documents
	SplitShares map[quarry.Split]float64 // of the documents; a part without one stays empty
	Limits      map[quarry.Split]int     // at most so many questions in a part; 0 is no limit
	Concurrency int                      // goroutines; changes nothing but the time
}

// The states of a walk.
const (
	StateAccepted = "accepted"
	StateRejected = "rejected"
)

// The reasons of rejection, in the order in which they are looked for; docs/formats/ledger.md says what to do about each.
const (
	ReasonDeadEnd     = "dead_end"                            // the start leads nowhere
	ReasonDuplicate   = "duplicate_walk"                      // an earlier walk has the same path
	ReasonStraddles   = "straddles_split"                     // evidence in two parts of the documents
	ReasonHubAnswer   = "hub_answer"                          // the answer is in too many documents
	ReasonHubInside   = "hub_or_literal_inside"               // so is an entity on the way
	ReasonOneQuery    = "one_query_shows_answer"              // the first search already shows it
	ReasonAmbiguous   = "too_many_answers_without_conditions" // the conditions would carry the question
	ReasonUnreachable = "hop_not_reachable"                   // with the name the evidence before it shows
	ReasonConditions  = "too_few_conditions"                  // that are no shortcut
	ReasonNotUnique   = "answer_not_unique"                   // on the whole graph
	ReasonWording     = "wording_not_readable"                // the text reads back as another question
	ReasonLeak        = "leak"                                // the text names what must be found
	ReasonCapped      = "answer_or_anchor_used_up"            // other questions have this answer, start or text
	ReasonSplitFull   = "split_full"                          // the part has its limit of questions
	ReasonCrossShare  = "too_many_in_one_document"            // one more would lower the share that crosses
)

const (
	minAliasNormalLen = 3 // shorter aliases match by accident
	maxHops           = 6
	maxConditions     = 4
	maxCloser         = 2 // names nearer than the target that a reader may have to pass over
)
