// Package tiers decides which questions are worth training on by letting models try them: with the evidence given, by
// heart, with one query, and in full by several tiers of ability. The decisions are a pure function of the rules and the
// recorded outcomes; Run is the small asynchronous part that gets the outcomes. Errors and time-outs of a model are
// neither passes nor failures: below the quorum a question goes into quarantine.
package tiers

import (
	"fmt"

	"github.com/quarry-rl/quarry"
)

// Mode is what an attempt may use.
type Mode string

// The modes.
const (
	ModeOracle    Mode = "oracle"       // the evidence among distractors, no tool
	ModeClosed    Mode = "closed_book"  // nothing
	ModeSingle    Mode = "single_query" // one tool call
	ModeFull      Mode = "full"         // reasoning and retrieval
	ModePlausible Mode = "plausible"    // not an answer: judges say whether the conditions and the reasoning are plausible
)

// Result is how an attempt ended.
type Result string

// The results. Right and Wrong are scored; of ModePlausible they mean plausible and not.
const (
	Right   Result = "right"
	Wrong   Result = "wrong"
	Error   Result = "error"
	Timeout Result = "timeout"
)

// ErrorKind classes what kept an attempt from a score.
type ErrorKind string

// The kinds of error; a time-out counts as ErrTimeout.
const (
	ErrTimeout     ErrorKind = "timeout"
	ErrRateLimit   ErrorKind = "rate_limit"  // 429
	ErrUnavailable ErrorKind = "unavailable" // network, 5xx
	ErrAuth        ErrorKind = "auth"        // 401, 403: stops the tier at once
	ErrRefused     ErrorKind = "refused"     // 400, 413, 422: the request can never succeed
	ErrTooLong     ErrorKind = "too_long"    // the question does not fit the model's context
	ErrTool        ErrorKind = "tool"        // search was down
	ErrJudge       ErrorKind = "judge"       // no majority of valid votes
	ErrOther       ErrorKind = "other"
)

// permanent says that another try at the same question fails in the same way.
func (k ErrorKind) permanent() bool { return k == ErrRefused || k == ErrTooLong }

func (k ErrorKind) known() bool {
	switch k {
	case ErrTimeout, ErrRateLimit, ErrUnavailable, ErrAuth, ErrRefused, ErrTooLong, ErrTool, ErrJudge, ErrOther:
		return true
	}
	return false
}

// Usage is what model calls cost.
type Usage struct {
	Calls        int `json:"calls"`
	PromptTokens int `json:"prompt_tokens"`
	OutputTokens int `json:"output_tokens"`
}

func (u *Usage) add(v Usage) {
	u.Calls += v.Calls
	u.PromptTokens += v.PromptTokens
	u.OutputTokens += v.OutputTokens
}

// Attempt is one thing to do for a question. Mode, Tier and N name it: with the question's id they seed whatever is
// random about it. A retry after an error is a new attempt with the next N.
type Attempt struct {
	Mode        Mode    `json:"mode"`
	Tier        string  `json:"tier"`
	N           int     `json:"n"`           // from 0, per question, mode and tier
	Temperature float64 `json:"temperature"` // to sample at
}

// Outcome is a finished attempt. A list of them is all that a filter remembers.
type Outcome struct {
	Question string    `json:"question"`
	Mode     Mode      `json:"mode"`
	Tier     string    `json:"tier"`
	N        int       `json:"n"`
	Result   Result    `json:"result"`
	Kind     ErrorKind `json:"kind,omitempty"`   // of an Error
	Detail   string    `json:"detail,omitempty"` // of an Error: what the model's server said
	Answer   string    `json:"answer,omitempty"`
	Votes    []Vote    `json:"votes,omitempty"` // of the judges; none when the answer was matched by rule
	Usage    Usage     `json:"usage"`
	Judges   Usage     `json:"judge_usage"`
}

type key struct {
	mode Mode
	tier string
}

func (o *Outcome) scored() bool { return o.Result == Right || o.Result == Wrong }

// kind is why an outcome is not scored.
func (o *Outcome) kind() ErrorKind {
	if o.Result == Timeout {
		return ErrTimeout
	}
	return o.Kind
}

// maxNumber bounds N: a recorded list with a larger one is damaged.
const maxNumber = 1 << 16

func (o *Outcome) check() error {
	bad := func(msg string) error {
		return &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("attempt %s %s %s %d", o.Question, o.Mode, o.Tier, o.N), Msg: msg,
			Hint: "an outcome has question, mode, tier, n from 0, and a result: right, wrong, timeout, or error with its kind"}
	}
	switch o.Mode {
	case ModeOracle, ModeClosed, ModeSingle, ModeFull, ModePlausible:
	default:
		return bad("unknown mode")
	}
	if o.N < 0 || o.N >= maxNumber {
		return bad(fmt.Sprintf("n is not in 0 to %d", maxNumber-1))
	}
	switch o.Result {
	case Right, Wrong, Timeout:
		if o.Kind != "" {
			return bad("a kind without an error")
		}
	case Error:
		if !o.Kind.known() {
			return bad(fmt.Sprintf("unknown kind of error %q", o.Kind))
		}
	default:
		return bad(fmt.Sprintf("unknown result %q", o.Result))
	}
	for _, v := range o.Votes {
		if v != Yes && v != No && v != Invalid {
			return bad(fmt.Sprintf("unknown vote %q", v))
		}
	}
	return nil
}

// Tally counts the attempts of one mode by one tier.
type Tally struct {
	Tier      string            `json:"tier"`
	Right     int               `json:"right"`
	Scored    int               `json:"scored"`
	Lo        float64           `json:"lo"` // of the success rate: Clopper-Pearson, 95 %
	Hi        float64           `json:"hi"`
	Errors    map[ErrorKind]int `json:"errors,omitempty"`
	Yes       int               `json:"judge_yes,omitempty"` // votes
	No        int               `json:"judge_no,omitempty"`
	Judged    int               `json:"judged,omitempty"`    // scored attempts that have votes
	Agreement float64           `json:"agreement,omitempty"` // mean share of the valid votes of a judged attempt that are with its majority

	permanent ErrorKind // an error that another try cannot mend
}

// Rate is the share of scored attempts that were right; 0 without any.
func (t *Tally) Rate() float64 {
	if t.Scored == 0 {
		return 0
	}
	return float64(t.Right) / float64(t.Scored)
}

// tally counts; the interval is left to be set.
func tally(tier string, outcomes []*Outcome) Tally {
	t := Tally{Tier: tier}
	agreement := 0.0
	for _, o := range outcomes {
		if !o.scored() {
			if t.Errors == nil {
				t.Errors = map[ErrorKind]int{}
			}
			t.Errors[o.kind()]++
			if o.kind().permanent() && t.permanent == "" {
				t.permanent = o.kind()
			}
			continue
		}
		t.Scored++
		if o.Result == Right {
			t.Right++
		}
		if yes, no := count(o.Votes); yes+no > 0 {
			t.Yes += yes
			t.No += no
			t.Judged++
			agreement += float64(max(yes, no)) / float64(yes+no)
		}
	}
	if t.Judged > 0 {
		t.Agreement = agreement / float64(t.Judged)
	}
	return t
}
