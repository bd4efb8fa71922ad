// Package audit lets people check what the pipeline decided: it draws a review sheet from a folder of questions, takes
// the verdicts back into a file beside the ledger, and says how far they agree with the automatic checks and with each
// other (docs/formats/audit.md).
package audit

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/transform"

	textunicode "golang.org/x/text/encoding/unicode"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Row is one question of a sheet. What the automatic checks said of it is in no column: Key leads to it.
type Row struct {
	Key        string
	Question   string
	Answer     string
	Path       string // in words, a hop a line, each with its sentence
	Conditions string
	Verdict    string // from here on the reviewer's: a Verdict or empty
	Reason     string // a Fault or empty
	Comment    string
	Line       int // in the file it was read from
}

// columns of a sheet as it is written. They are read in any order, and others are passed over.
var columns = []string{"question", "answer", "path", "conditions", "verdict", "reason", "comment", "key"}

func (r *Row) cells() []*string {
	return []*string{&r.Question, &r.Answer, &r.Path, &r.Conditions, &r.Verdict, &r.Reason, &r.Comment, &r.Key}
}

// Bounds of a sheet: what spreadsheets take in one cell, and what is read at all.
const (
	maxCell  = 32_000
	maxSheet = 256 << 20
)

// WriteSheet writes rows as tab-separated text in UTF-8 with a byte order mark, which spreadsheets want. Cells with tabs,
// line breaks or quotes are quoted, and one that a spreadsheet would take for a formula begins with an apostrophe.
func WriteSheet(w io.Writer, rows []Row) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil {
		return err
	}
	c := csv.NewWriter(w)
	c.Comma = '\t'
	if err := c.Write(columns); err != nil {
		return err
	}
	for _, r := range rows {
		var out []string
		for _, cell := range r.cells() {
			out = append(out, guard(tidy(*cell)))
		}
		if err := c.Write(out); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// tidy makes a text fit for a cell: line breaks of one kind, no other control characters but tabs, a length that
// spreadsheets take.
func tidy(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\ufffd")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == '\ufeff':
			return ' '
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxCell {
		s = string(runes[:maxCell]) + " ..."
	}
	return s
}

// guard puts an apostrophe before what a spreadsheet would take for a formula, and before what looks guarded already.
func guard(s string) string {
	if formula(s) {
		return "'" + s
	}
	return s
}

// unguard takes it off again.
func unguard(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && formula(rest) {
		return rest
	}
	return s
}

// formula says whether a cell, blanks and apostrophes aside, begins like a formula. Some spreadsheets take the wide forms
// of Chinese and Japanese keyboards too.
func formula(s string) bool {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\'' })
	return s != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(s)[0])
}

// ReadSheet reads a sheet that was filled in, as UTF-8 or as the UTF-16 that some spreadsheets save; path is for messages.
// Errors are invalid, each with its line.
func ReadSheet(path string, from io.Reader) ([]Row, error) {
	bad := func(line int, msg, hint string) error {
		return &quarry.Error{Op: "synth audit", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", path, line), Msg: msg, Hint: hint}
	}
	data, err := io.ReadAll(io.LimitReader(from, maxSheet+1))
	if err != nil {
		return nil, atomicfile.Classify("synth audit", path, err)
	}
	if len(data) > maxSheet {
		return nil, bad(1, fmt.Sprintf("more than %d bytes", maxSheet), "split the sheet")
	}
	if data, _, err = transform.Bytes(textunicode.BOMOverride(transform.Nop), data); err != nil {
		return nil, bad(1, "the text cannot be decoded: "+err.Error(), "save it as UTF-8 text, separated by tabs")
	}
	c := csv.NewReader(bytes.NewReader(data))
	c.Comma, c.FieldsPerRecord = '\t', -1
	const save = "save the sheet as text separated by tabs, with its header line"
	head, err := c.Read()
	if err != nil {
		return nil, bad(1, "a header line is expected: "+strings.Join(columns, ", "), save)
	}
	at := make([]int, len(columns))
	for i, name := range columns {
		at[i] = slices.IndexFunc(head, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
	}
	for i, name := range columns {
		if at[i] < 0 && slices.Contains([]string{"key", "question", "verdict"}, name) {
			return nil, bad(1, "the column "+name+" is missing; columns: "+tidy(strings.Join(head, ", ")), save)
		}
	}
	var rows []Row
	for {
		rec, err := c.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			line := 0
			if p := (*csv.ParseError)(nil); errors.As(err, &p) {
				line, err = p.StartLine, p.Err
			}
			return nil, bad(line, "the row cannot be read: "+err.Error(), save+"; a cell with a quote, tab or line break must be quoted")
		}
		r := Row{}
		r.Line, _ = c.FieldPos(0)
		blank := true
		for i, cell := range r.cells() {
			if at[i] >= 0 && at[i] < len(rec) {
				*cell = unguard(strings.ToValidUTF8(rec[at[i]], "\ufffd"))
				blank = blank && strings.TrimSpace(*cell) == ""
			}
		}
		if !blank {
			rows = append(rows, r)
		}
	}
}
