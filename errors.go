package quarry

import (
	"errors"
	"strings"
)

// Kind classifies an error once, at the boundary that knows. Kinds are append-only: they are stored.
type Kind string

// The kinds and what follows from each. Exit codes are in internal/cli.
const (
	KindInvalid     Kind = "invalid"     // bad spec, usage or input row: never retried
	KindNotFound    Kind = "not_found"   // a named thing is missing
	KindExists      Kind = "exists"      // a named thing is already there
	KindConflict    Kind = "conflict"    // lost lease, stale fencing token, another run holds the state
	KindUnavailable Kind = "unavailable" // network, 5xx, 429: retried with back-off
	KindExhausted   Kind = "exhausted"   // a budget is spent; resumable
	KindGate        Kind = "gate"        // a quality threshold is not met
	KindCorrupt     Kind = "corrupt"     // checksum, torn file, schema drift: never repaired silently
	KindCanceled    Kind = "canceled"    // by the user or a shutdown; resumable
	KindUnscorable  Kind = "unscorable"  // a token sequence outside the policy's support
	KindInternal    Kind = "internal"    // a bug
)

// Error is the one error type that crosses package edges.
type Error struct {
	Op      string // what was being done: "kg load", "lease"
	Kind    Kind
	Subject string // what it was done to: "triples.tsv:17", "spec demo.yaml rl.steps"
	Msg     string // what is wrong and what was expected
	Hint    string // what to type or change next
	Err     error  // cause, may be nil
}

// Error renders op, subject, message and cause on one line; the hint is for the command line to print.
func (e *Error) Error() string {
	var parts []string
	for _, s := range []string{e.Op, e.Subject, e.Msg} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost *Error in err's chain, KindInternal for any other error, "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// HintOf returns the first hint in err's chain.
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
