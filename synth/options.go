// Package synth turns walks of a knowledge graph into questions worth training on: certified walks, questions worded
// like a person's, conditions until the answer is unique on the whole graph, leak checks, and a ledger in which every
// candidate ends in one state with a reason.
package synth

import (
	"fmt"

	"github.com/quarry-rl/quarry"
)

// Shape is how many statements a question has: hops on the path and conditions beside it.
type Shape struct {
	Hops       int `json:"hops"`
	Conditions int `json:"conditions"`
}

// ParseShape reads "2+1".
func ParseShape(s string) (Shape, error) {
	var sh Shape
	var rest string
	n, _ := fmt.Sscanf(s+" .", "%d+%d %s", &sh.Hops, &sh.Conditions, &rest)
	if n != 3 || rest != "." || sh.Hops < 1 || sh.Hops > maxHops || sh.Conditions < 0 || sh.Conditions > 4 {
		return Shape{}, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: "shape " + s, Msg: "expected hops+conditions, such as 2+1 (1-6 hops, 0-4 conditions)"}
	}
	return sh, nil
}

// String is the form ParseShape reads.
func (s Shape) String() string { return fmt.Sprintf("%d+%d", s.Hops, s.Conditions) }

// Options are the settings of a synthesis; all of them enter the stage's key.
type Options struct {
	Seed        uint64
	Walks       int     // walks tried for each number of hops
	CrossBias   float64 // weight of a hop that changes the document, against 1
	Shapes      []Shape // of one number of hops, earlier ones are tried first on a walk
	K           int     // passages a search returns
	CertTop     int     // a hop is followable when its evidence is among the first CertTop passages
	MaxAlone    int     // answers the path may have without its conditions
	MaxFanout   int     // neighbours by one phrase on the whole graph
	HubDocs     int     // entities in more documents are neither answers nor on the path
	PerAnswer   int     // questions with one answer
	PerAnchor   int     // questions from one start
	CrossShare  float64 // at least this share of a part's questions crosses documents
	SplitShares map[quarry.Split]float64
	Limits      map[quarry.Split]int // at most so many questions in a part; 0 is no limit
	Concurrency int
}

// The reasons of rejection.
const (
	ReasonDeadEnd     = "dead_end"
	ReasonDuplicate   = "duplicate_walk"
	ReasonStraddles   = "straddles_split"
	ReasonHubAnswer   = "hub_answer"
	ReasonHubInside   = "hub_or_literal_inside"
	ReasonUnreachable = "hop_not_reachable"
	ReasonOneQuery    = "one_query_shows_answer"
	ReasonConditions  = "too_few_conditions"
	ReasonAmbiguous   = "too_many_answers_without_conditions"
	ReasonNotUnique   = "answer_not_unique"
	ReasonWording     = "wording_not_readable"
	ReasonLeak        = "leak"
	ReasonCapped      = "answer_or_anchor_used_up"
	ReasonSplitFull   = "split_full"
	ReasonCrossShare  = "too_many_in_one_document"
	stateAccepted     = "accepted"
	stateRejected     = "rejected"
	minAliasNormalLen = 3
	maxHops           = 6
	maxCloser         = 2 // names nearer than the target that a reader may have to pass over
)
