package datasets

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// WriteQuestionsJSONL writes one question a line with the keys of Q1 (and the sentences of the evidence, when known), whole or
// not at all. Questions are checked as Q1 rows; a bad one is an invalid error with its line.
func WriteQuestionsJSONL(path string, qs []quarry.Question) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	lines := map[string]int{}
	for i, q := range qs {
		if err := checkLine(path, i+1, q, lines); err != nil {
			return err
		}
		if err := e.Encode(q); err != nil {
			return lineError(path, i+1, "cannot be written as JSON", err)
		}
	}
	return atomicfile.WriteFile(path, b.Bytes())
}

// ReadQuestionsJSONL reads what WriteQuestionsJSONL or another program wrote. Unknown keys, bad values, bad UTF-8 and
// repeated ids are invalid errors that name file and line; empty lines are passed over.
func ReadQuestionsJSONL(path string) ([]quarry.Question, error) {
	f, err := atomicfile.Open("read questions", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseQuestions(path, f)
}

func parseQuestions(name string, in io.Reader) ([]quarry.Question, error) {
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, maxValue)
	var out []quarry.Question
	lines := map[string]int{}
	n := 0
	for sc.Scan() {
		n++
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return nil, lineError(name, n, fmt.Sprintf("invalid UTF-8 at byte %d", badByte(string(line))), nil)
		}
		var q quarry.Question
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			return nil, lineError(name, n, "not a question", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, lineError(name, n, "more than one JSON value", nil)
		}
		q.Certificate, q.Difficulty, q.Walk = textRaw(string(q.Certificate)), textRaw(string(q.Difficulty)), textRaw(string(q.Walk))
		if err := checkLine(name, n, q, lines); err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return nil, lineError(name, n+1, fmt.Sprintf("longer than %d bytes", maxValue), nil)
	}
	if sc.Err() != nil {
		return nil, atomicfile.Classify("read questions", name, sc.Err())
	}
	return out, nil
}

// checkLine applies the rules of Q1 to one question; lines holds the line of each id so far.
func checkLine(name string, n int, q quarry.Question, lines map[string]int) error {
	if err := Validate(Q1FromQuestion(q)); err != nil {
		return lineError(name, n, "", err)
	}
	for i, h := range q.Path {
		if !utf8.ValidString(h.Text) {
			return lineError(name, n, fmt.Sprintf("path[%d].text is not valid UTF-8", i), nil)
		}
	}
	for i, s := range q.Conditions {
		if !utf8.ValidString(s.Text) {
			return lineError(name, n, fmt.Sprintf("conditions[%d].text is not valid UTF-8", i), nil)
		}
	}
	if before, ok := lines[q.ID]; ok {
		return lineError(name, n, fmt.Sprintf("id %s stands in line %d already", shown(q.ID), before), nil)
	}
	lines[q.ID] = n
	return nil
}

func lineError(name string, n int, msg string, err error) error {
	return &quarry.Error{Op: "questions", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", name, n), Msg: msg, Err: err,
		Hint: fmt.Sprintf("correct or delete line %d of %s", n, name)}
}
