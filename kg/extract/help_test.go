package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarry-rl/quarry/internal/teacher"
)

// reader is a teacher by rule: it finds facts of two forms in the passage and, besides each, one that is made up.
type reader struct {
	calls atomic.Int64
	fail  func(n int64, r teacher.Request) (teacher.Reply, error) // nil error goes on
}

var fact = regexp.MustCompile(`(He|She|[A-Z]\w+ [A-Z]\w+) (was born in|lives in) ([A-Z]\w+)(?: since (\d{4}))?`)

func (f *reader) Complete(ctx context.Context, r teacher.Request) (teacher.Reply, error) {
	n := f.calls.Add(1)
	if ctx.Err() != nil {
		return teacher.Reply{}, ctx.Err()
	}
	if f.fail != nil {
		if reply, err := f.fail(n, r); err != nil {
			return reply, err
		}
	}
	return teacher.Reply{Text: read1(r.User), PromptTokens: len(r.User) / 4, CompletionTokens: 10, FinishReason: "stop"}, nil
}

func read1(user string) string {
	_, shown, _ := strings.Cut(user, "\nPASSAGE:\n")
	before, _, _ := strings.Cut(user, "\nPASSAGE:\n")
	name := ""
	for _, m := range fact.FindAllStringSubmatch(before, -1) {
		if !strings.HasSuffix(m[1], "e") || strings.Contains(m[1], " ") {
			name = m[1]
		}
	}
	var v struct {
		Statements []candidate `json:"statements"`
	}
	v.Statements = []candidate{}
	for _, m := range fact.FindAllStringSubmatch(shown, -1) {
		c := candidate{Predicate: strings.TrimPrefix(m[2], "was "), Span: m[0], Object: end{Name: m[3], Type: "LOC", Aliases: []string{}}, Start: m[4]}
		if strings.Contains(m[1], " ") {
			name = m[1]
		} else {
			c.Mention = m[1]
		}
		c.Subject = end{Name: name, Type: "PER", Aliases: []string{}}
		c.Statement = name + " " + m[2] + " " + m[3] + "."
		madeUp := c
		madeUp.Span = "according to legend, " + c.Span
		v.Statements = append(v.Statements, c, madeUp)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// town is a document with n facts.
func town(id string, n int) Document {
	var b strings.Builder
	for i := range n {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "%s%c Lee was born in Bern. ", "An", 'a'+rune(i%26))
		case 1:
			fmt.Fprintf(&b, "She lives in Rome since %d. ", 1900+i)
		default:
			b.WriteString("Nothing else is known.\nA long time went by. ")
		}
	}
	return Document{ID: id, Title: "Title of " + id, URL: "http://example.org/" + id, Section: "Life", Text: strings.TrimSpace(b.String())}
}

func towns(n int) []Document {
	var out []Document
	for i := range n {
		out = append(out, town(fmt.Sprintf("d%02d", i), i%7))
	}
	return out
}

func each(docs []Document) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// failer is a test or a property.
type failer interface {
	Helper()
	Fatal(...any)
}

func lines(t failer, dir string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, StatementsFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

func files(t failer, dir string) string {
	t.Helper()
	a, err := os.ReadFile(filepath.Join(dir, StatementsFile))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, LedgerFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(a) + "\n--\n" + string(b)
}

// sums checks that nothing is lost and nothing stands twice.
func sums(t *testing.T, dir string, s Summary, docs int) {
	t.Helper()
	var rejected int64
	for _, n := range s.Rejected {
		rejected += n
	}
	if s.Candidates != s.Out+rejected || int(s.Out) != len(lines(t, dir)) || s.Documents != docs {
		t.Fatalf("%+v with %d lines of %d documents", s, len(lines(t, dir)), docs)
	}
	last, seen := "", map[string]bool{}
	for _, l := range lines(t, dir) {
		var r record
		if err := json.Unmarshal(l, &r); err != nil {
			t.Fatal(err)
		}
		if r.DocID != last && seen[r.DocID] {
			t.Fatalf("document %s stands twice", r.DocID)
		}
		last, seen[r.DocID] = r.DocID, true
	}
}
