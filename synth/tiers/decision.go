package tiers

// State is what became of a question.
type State string

// The states.
const (
	Kept        State = "kept"
	Rejected    State = "rejected"
	Quarantined State = "quarantined" // models failed to say: neither pass nor failure
)

// The reasons of rejection and quarantine. Further reasons: a Code of plausibility, and of quarantine ErrRefused and ErrTooLong.
const (
	ReasonOracle      = "not_answerable_from_evidence"
	ReasonClosed      = "closed_book"
	ReasonGuess       = "closed_book_guess"    // right no more often than the majority answer is
	ReasonFewAnswers  = "small_answer_set"     // it can be guessed
	ReasonSearch      = "single_query_shows"   // documents of one query hold answer and clues
	ReasonSingle      = "single_query"         // an agent with one call solves it
	ReasonNever       = "never_solved"         // no tier has a success
	ReasonAlways      = "always_solved"        // no tier has a failure
	ReasonFewRight    = "too_few_successes"    // fewer than the rule wants
	ReasonFewWrong    = "too_few_failures"     // so too
	ReasonTop         = "too_hard_for_top"     // strongest tier below its bound
	ReasonLow         = "too_easy_for_low"     // weakest tier above its bound
	ReasonPathologic  = "weaker_tier_better"   // significantly
	ReasonBandLow     = "band_too_hard"        // below the window
	ReasonBandHigh    = "band_too_easy"        // above it
	ReasonImplausible = "implausible_by_judge" // half of the ballots or more are against it
	ReasonQuorum      = "quorum"               // too few scored attempts
)

// Difficulty is what the attempts say about a question; it is stored with it.
type Difficulty struct {
	Rules        string      `json:"rules"`
	Oracle       *Tally      `json:"oracle,omitempty"`
	Closed       *ClosedBook `json:"closed_book,omitempty"`
	Single       *Tally      `json:"single_query,omitempty"`
	Tiers        []Tally     `json:"tiers,omitempty"` // weakest first; those that were asked
	Band         *Tally      `json:"band,omitempty"`
	Plausibility *Tally      `json:"plausibility,omitempty"`
}

// ClosedBook is a closed-book tally beside what guessing the majority answer would score.
type ClosedBook struct {
	Tally
	BaseRate float64 `json:"base_rate,omitempty"`
	ByGuess  float64 `json:"by_guess,omitempty"` // probability of at least so many right answers by guessing at the base rate
}

// Decision is what became of a question, and why.
type Decision struct {
	Question   string     `json:"question"`
	State      State      `json:"state"`
	Stage      Stage      `json:"stage,omitempty"` // that rejected or quarantined it
	Reason     string     `json:"reason,omitempty"`
	Detail     string     `json:"detail,omitempty"`
	Difficulty Difficulty `json:"difficulty"`
}
