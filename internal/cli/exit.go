package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/quarry-rl/quarry"
)

// exitCode maps the kind of an error to the code the process ends with.
func exitCode(err error) int {
	switch quarry.KindOf(err) {
	case "":
		return 0
	case quarry.KindInvalid:
		return 2
	case quarry.KindNotFound, quarry.KindExists:
		return 3
	case quarry.KindConflict:
		return 4
	case quarry.KindUnavailable:
		return 5
	case quarry.KindExhausted:
		return 6
	case quarry.KindGate:
		return 7
	case quarry.KindCorrupt, quarry.KindUnscorable:
		return 8
	case quarry.KindCanceled:
		return 130
	default:
		return 1
	}
}

// printError writes one "error:" line and, where there is one, a "hint:" line for every error joined in err.
func printError(w io.Writer, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			printError(w, e)
		}
		return
	}
	fmt.Fprintf(w, "error: %s\n", oneLine(err.Error()))
	if hint := quarry.HintOf(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", oneLine(hint))
	}
}

// oneLine keeps text from files and servers from breaking the format or the terminal: control characters become "?", and
// marks that turn or hide what stands beside them go, but for the joiners that letters and emoji need.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r):
			return '?'
		case unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, s)
}

// writeJSON prints the one document of -o json.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return outputError(e.Encode(v))
}

// outputError is what a failed write to stdout means.
func outputError(err error) error {
	var known *quarry.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &quarry.Error{Op: "write output", Kind: quarry.KindUnavailable, Subject: "stdout", Err: err}
}
