package pipeline

import (
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/decontam"
	"github.com/quarry-rl/quarry/synth/near"
)

// Stage is a station on the way of a candidate. Stages are stored: append only.
type Stage string

// The stages in their order. A candidate that is rejected ends at one of them.
const (
	StageWalk        Stage = "walk"         // a path under the rules
	StageConditions  Stage = "conditions"   // conditions that leave one answer
	StageCertificate Stage = "certificate"  // necessity, rivals, independence, names, times
	StageRetrieval   Stage = "retrieval"    // every hop is found by a query made of what is known before it
	StageWording     Stage = "wording"      // text
	StageLeak        Stage = "leak"         // the text gives nothing away
	StageSingle      Stage = "single_query" // no one query shows the answer
	StageDecontam    Stage = "decontam"     // it does not come from a benchmark
	StageUnique      Stage = "unique"       // caps and duplicates, in the order of walks
	StagePolicy      Stage = "policy"       // models, when there are any
)

// Stages lists them in their order.
func Stages() []Stage {
	return []Stage{StageWalk, StageConditions, StageCertificate, StageRetrieval, StageWording, StageLeak, StageSingle, StageDecontam, StageUnique, StagePolicy}
}

// Reason says why a candidate is rejected. Reasons are stored: append only, none changes its meaning. Those of a filter
// are its own and stand behind "policy:".
type Reason string

// The reasons by stage.
const (
	WalkStart     Reason = "walk_start"
	WalkDeadEnd   Reason = "walk_dead_end"
	WalkEnd       Reason = "walk_end"
	WalkShortcut  Reason = "walk_shortcut"
	WalkRelations Reason = "walk_relations"
	WalkDocuments Reason = "walk_documents"
	WalkBudget    Reason = "walk_budget"

	Shortcut Reason = "shortcut_edge"
	Chord    Reason = "chord"
	Telling  Reason = "telling_step"
	Several  Reason = "several_answers"
	Needless Reason = "needless_path"
	Spent    Reason = "search_spent"

	Rival        Reason = "rival"
	Dependent    Reason = "dependent_branches"
	Ambiguous    Reason = "ambiguous_name"
	Unsourced    Reason = "condition_without_text"
	TextShortcut Reason = "text_shortcut"
	Ended        Reason = "statement_ended"
	Ahead        Reason = "statement_ahead"

	Unreachable Reason = "unreachable_hop"
	NoWording   Reason = "no_wording"
	Leaked      Reason = "leak"
	SingleQuery Reason = "single_query"

	BenchmarkText   = Reason(decontam.RuleGram)
	BenchmarkAnswer = Reason(decontam.RuleAnswer)
	BenchmarkNear   = Reason(decontam.RuleNear)
	BenchmarkPages  = Reason(decontam.RulePages)

	AnswerCap   Reason = "answer_used_up"
	AnchorCap   Reason = "anchor_used_up"
	SameText    Reason = "duplicate_question"
	NearText    Reason = "near_duplicate"
	SameEntity  Reason = "duplicate_entities"
	SameAnswer  Reason = "duplicate_relations"
	SameSources Reason = "duplicate_documents"

	policyPrefix = "policy:"
)

var ofWalk = map[walk.Reason]Reason{walk.Start: WalkStart, walk.DeadEnd: WalkDeadEnd, walk.End: WalkEnd, walk.Shortcut: WalkShortcut,
	walk.Relations: WalkRelations, walk.Documents: WalkDocuments, walk.Budget: WalkBudget}

var ofChoice = map[certify.Reason]Reason{certify.Shortcut: Shortcut, certify.Chord: Chord, certify.Telling: Telling, certify.Several: Several,
	certify.Needless: Needless, certify.Spent: Spent}

var ofTwin = map[near.Rule]Reason{near.RuleText: NearText, near.RuleEntities: SameEntity, near.RuleRelations: SameAnswer, near.RuleDocuments: SameSources}

// meaning is what a reason says to a reader, and what to change to get fewer of it.
type meaning struct {
	stage    Stage
	says, do string
}

var meanings = map[Reason]meaning{
	WalkStart:     {StageWalk, "there was no entity to start from, or the one drawn may not be an anchor", "check starts; literals are never anchors"},
	WalkDeadEnd:   {StageWalk, "nothing was left but entities of the path, hubs and statements without a text", "raise max_degree or hub_docs; use fewer hops"},
	WalkEnd:       {StageWalk, "every entity at which it could have ended may not be an answer", "raise hub_docs"},
	WalkShortcut:  {StageWalk, "a statement joins entities that do not follow each other", "ask for a lower necessity"},
	WalkRelations: {StageWalk, "too few relations", "use fewer hops"},
	WalkDocuments: {StageWalk, "too few documents could be reached", "lower min_docs, raise beta"},
	WalkBudget:    {StageWalk, "the steps that may be taken back were used up", "raise backtracks"},
	Shortcut:      {StageConditions, "a statement joins the answer to an entity of the path before the last: the path can be cut short", "none needed: such questions are easier than they look"},
	Chord:         {StageConditions, "a statement joins two entities of the path that do not follow each other", "ask for N1"},
	Telling:       {StageConditions, "the last step alone leaves fewer entities than a condition may", "lower leaf, or ask for N2"},
	Several:       {StageConditions, "no allowed conditions leave one answer", "allow more conditions, lower leaf"},
	Needless:      {StageConditions, "the conditions that leave one answer make the anchor needless", "ask for N2"},
	Spent:         {StageConditions, "the search for conditions was given up", "none needed"},
	Rival:         {StageCertificate, "another entity fails fewer atoms than margin asks", "lower margin"},
	Dependent:     {StageCertificate, "walk and conditions do not stand on their own feet", "leave out independent"},
	Ambiguous:     {StageCertificate, "other entities have a name that the question uses, and with them there is another answer", "resolve the entities of the graph"},
	Unsourced:     {StageCertificate, "no text carries a condition", "none needed"},
	TextShortcut:  {StageCertificate, "a document other than the last names the answer with an earlier entity of the path", "ask for N3"},
	Ended:         {StageCertificate, "a statement had ended at the as-of date", "change as_of"},
	Ahead:         {StageCertificate, "a statement begins after the as-of date", "change as_of"},
	Unreachable:   {StageRetrieval, "no planned query of a hop finds its document", "raise k or queries"},
	NoWording:     {StageWording, "the writer has no text for it", "see the detail"},
	Leaked:        {StageLeak, "the text gives away what must be found", "use another wording"},
	SingleQuery:   {StageSingle, "one of four queries made from the text shows the answer with half of what the question names", "use more hops, ask for N4"},

	BenchmarkText:   {StageDecontam, "a question of a benchmark shares a run of words with it", "none needed: it must not be trained on"},
	BenchmarkAnswer: {StageDecontam, "a question of a benchmark has its answer and half of the entities it names", "none needed: it must not be trained on"},
	BenchmarkNear:   {StageDecontam, "a question of a benchmark has nearly the same text", "none needed: it must not be trained on"},
	BenchmarkPages:  {StageDecontam, "a question of a benchmark has the same evidence pages", "none needed: it must not be trained on"},

	AnswerCap:   {StageUnique, "per_answer questions have this answer", "raise per_answer"},
	AnchorCap:   {StageUnique, "per_anchor questions begin there", "raise per_anchor"},
	SameText:    {StageUnique, "an earlier question has the same text", "none needed: the graph is walked out"},
	NearText:    {StageUnique, "an earlier question has nearly the same text", "skip text"},
	SameEntity:  {StageUnique, "an earlier question has the same entities on its path", "skip entities"},
	SameAnswer:  {StageUnique, "an earlier question has the same answer and relations", "skip answer_relations"},
	SameSources: {StageUnique, "an earlier question has the same evidence documents", "skip documents"},
}

// Explain says what a reason means and what to change to get fewer of it; both are "" for a filter's own.
func Explain(why Reason) (says, do string) { return meanings[why].says, meanings[why].do }
