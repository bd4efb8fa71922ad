package ingest

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// minLines is how many lines a share of bad ones is judged on.
const minLines = 100

// quarantined is a line of the side file (docs/formats/sources.md).
type quarantined struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column,omitempty"`
	Reason    string `json:"reason"`
	Text      string `json:"text,omitempty"`
	Bytes     []byte `json:"bytes,omitempty"`     // instead of text when it is no UTF-8
	Truncated bool   `json:"truncated,omitempty"` // text is only how the line begins
}

// bad deals with a bad line by policy: nil goes on.
func (r *run) bad(in *input, line int, text []byte, truncated bool, f *fault) error {
	r.stats.Bad++
	if r.opt.OnError == Stop {
		subject := fmt.Sprintf("%s:%d", in.name, line)
		if f.col > 0 {
			subject = fmt.Sprintf("%s:%d", subject, f.col)
		}
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: subject, Msg: f.msg,
			Hint: "correct the line, name the format if it was taken for another one, or put bad lines in quarantine; see docs/formats/sources.md"}
	}
	if r.opt.Quarantine != nil {
		q := quarantined{File: in.name, Line: line, Column: f.col, Reason: f.msg, Truncated: truncated}
		if utf8.Valid(text) {
			q.Text = string(text)
		} else {
			q.Bytes = text
		}
		e := json.NewEncoder(r.opt.Quarantine)
		e.SetEscapeHTML(false)
		if err := e.Encode(q); err != nil {
			return &quarry.Error{Op: op, Kind: quarry.KindUnavailable, Subject: "quarantine", Msg: "a bad line could not be kept", Err: err, Hint: "check the disk the quarantine file is on"}
		}
	}
	return r.checkShare()
}

func (r *run) checkShare() error {
	limit := r.opt.MaxBadShare
	if limit <= 0 || r.stats.Lines < minLines || float64(r.stats.Bad) <= limit*float64(r.stats.Lines) {
		return nil
	}
	return &quarry.Error{Op: op, Kind: quarry.KindGate, Subject: r.name,
		Msg:  fmt.Sprintf("%d of %d lines are bad, at most %g %% may be", r.stats.Bad, r.stats.Lines, 100*limit),
		Hint: "look at the reasons in the quarantine file; the format or the column order may be another one"}
}

// broken ends the run: after a break in one JSON value that spans the file nothing can be told apart.
func (r *run) broken(in *input, b *broken) error {
	r.stats.Bad++
	return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", in.name, b.line), Msg: b.msg,
		Hint: "the file is one JSON value: nothing after the break can be read, so that quarantine does not help; correct or download it again"}
}
