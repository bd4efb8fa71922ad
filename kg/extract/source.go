package extract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

const maxLine = 64 << 20

// Documents reads a file of JSON lines: id, and text or sents (a list, joined by blanks); optional title, url, section. Errors
// are invalid with file:line, not_found and the disk's; the first one ends it.
func Documents(path string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		f, err := atomicfile.Open(op, path)
		if err != nil {
			yield(Document{}, err)
			return
		}
		defer f.Close()
		read(f, path, yield)
	}
}

func read(r io.Reader, path string, yield func(Document, error) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		d, msg := parseDocument(line)
		if msg != "" {
			yield(Document{}, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", path, n), Msg: msg,
				Hint: `write {"id":"d1","title":"...","url":"...","text":"..."}`})
			return
		}
		if !yield(d, nil) {
			return
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		yield(Document{}, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", path, n+1), Msg: "expected a line of at most 64 MiB", Hint: "split the document"})
	case err != nil:
		yield(Document{}, atomicfile.Classify(op, path, err))
	}
}

func parseDocument(line []byte) (d Document, msg string) {
	var v struct {
		ID, Title, URL, Section string
		Text                    *string
		Sents                   []string
	}
	if !utf8.Valid(line) {
		return d, "expected UTF-8, found other bytes"
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return d, fmt.Sprintf("expected an object with id and text: %v", err)
	}
	switch {
	case v.ID == "":
		return d, "expected an id, found none"
	case (v.Text == nil) == (v.Sents == nil):
		return d, "expected text or sents, found both or neither"
	}
	d = Document{ID: v.ID, Title: v.Title, URL: v.URL, Section: v.Section}
	if v.Text != nil {
		d.Text = *v.Text
		return d, ""
	}
	d.Text = strings.Join(v.Sents, " ")
	at := 0
	for _, s := range v.Sents {
		if s == "" {
			return d, "expected sentences, found an empty one"
		}
		at += len(s)
		d.ends = append(d.ends, at)
		at++
	}
	return d, ""
}
