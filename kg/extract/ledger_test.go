package extract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/teacher"
)

// small extracts two documents into a folder; the bytes are those of testdata.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := Run(context.Background(), &reader{}, each(towns(4)[2:]), dir, Options{Model: "m", Price: teacher.Price{In: 1, Out: 1}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGolden(t *testing.T) {
	dir := small(t)
	for _, name := range []string{StatementsFile, LedgerFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from testdata:\n%s", name, got)
		}
	}
}

func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		kind           quarry.Kind
		says           string
	}{
		{LedgerFile, `"version":1`, `"version":2`, quarry.KindInvalid, "newer"},
		{LedgerFile, `quarry-extract-ledger`, `x`, quarry.KindInvalid, "ledger.jsonl:1"},
		{LedgerFile, `"model":"m"`, `"model":"n"`, quarry.KindConflict, "other settings"},
		{LedgerFile, `"out":2`, `"out":3`, quarry.KindCorrupt, "ledger.jsonl:2"},
		{LedgerFile, `{"entry"`, `"entry"`, quarry.KindCorrupt, "ledger.jsonl:2"},
		{StatementsFile, `Bern`, `Born`, quarry.KindCorrupt, "have changed"},
		{StatementsFile, `{`, ``, quarry.KindCorrupt, "changed"},
	} {
		dir := small(t)
		path := filepath.Join(dir, c.name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := strings.Replace(string(data), c.from, c.to, 1)
		if damaged == string(data) {
			t.Fatalf("no %s in %s", c.from, data)
		}
		if err := os.WriteFile(path, []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), &reader{}, each(towns(4)[2:]), dir, Options{Model: "m"})
		if quarry.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || quarry.HintOf(err) == "" {
			t.Errorf("%s for %s: %v", c.to, c.from, err)
		}
		if after, _ := os.ReadFile(path); string(after) != damaged {
			t.Errorf("%s for %s: the file was changed", c.to, c.from)
		}
	}
	dir := small(t)
	if err := os.Remove(filepath.Join(dir, LedgerFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), &reader{}, each(nil), dir, Options{}); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("statements without ledger: %v", err)
	}
	dir = small(t)
	changed := towns(4)[2:]
	changed[0].Text += " More."
	if _, err := Run(context.Background(), &reader{}, each(changed), dir, Options{Model: "m"}); quarry.KindOf(err) != quarry.KindConflict {
		t.Errorf("a document that changed: %v", err)
	}
}

func TestDocuments(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\xef\xbb\xbf" + `{"id":"a","title":"T","url":"u","section":"s","text":"x y"}` + "\n\n" + `{"id":"b","sents":["One.","two."]}`, "a|T|u|s|x y;b||||One. two."},
		{`{"id":"a","text":""}`, "a||||"},
		{"\n{}", "!f.jsonl:2"},
		{`{"id":"a"}`, "!text or sents"},
		{`{"id":"a","text":"","sents":[]}`, "!text or sents"},
		{`{"id":"a","sents":["x",""]}`, "!empty one"},
		{`{"id":3}`, "!an object with id and text"},
		{"{\"id\":\"\xff\",\"text\":\"x\"}", "!UTF-8"},
	} {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(path, []byte(c.in), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		for d, err := range Documents(path) {
			if err != nil {
				got = append(got, "!"+err.Error())
				continue
			}
			got = append(got, strings.Join([]string{d.ID, d.Title, d.URL, d.Section, d.Text}, "|"))
		}
		if s := strings.Join(got, ";"); s != c.want && !(c.want[0] == '!' && s[0] == '!' && strings.Contains(s, c.want[1:])) {
			t.Errorf("%q: %s", c.in, s)
		}
	}
	for _, err := range Documents(filepath.Join(t.TempDir(), "none")) {
		if quarry.KindOf(err) != quarry.KindNotFound {
			t.Error(err)
		}
	}
	twice := append(towns(3), town("d01", 1), town("d01", 2))
	sum, err := Run(context.Background(), &reader{}, each(twice), t.TempDir(), Options{})
	if quarry.KindOf(err) != quarry.KindConflict || sum.Repeated != 1 || sum.Documents != 3 {
		t.Errorf("%v, %+v", err, sum)
	}
	for _, o := range []Options{{Chunk: 10}, {Overlap: 30}, {Tries: 11}, {MaxCost: -1}, {Concurrency: -1}, {MaxTokens: -1}} {
		if _, err := Run(context.Background(), &reader{}, each(nil), t.TempDir(), o); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func FuzzLedger(f *testing.F) {
	book, err := os.ReadFile(filepath.Join("testdata", LedgerFile))
	if err != nil {
		f.Fatal(err)
	}
	said, err := os.ReadFile(filepath.Join("testdata", StatementsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(book, said)
	f.Add(book[:len(book)/2], said)
	f.Add([]byte{}, []byte{})
	head := settings(&Options{Model: "m", Chunk: 6000, Overlap: 2, MaxTokens: 4096, Tries: 2})
	f.Fuzz(func(t *testing.T, book, said []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{LedgerFile: book, StatementsFile: said} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		l, err := openLedger(dir, head)
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid && k != quarry.KindConflict {
				t.Fatal(err)
			}
			return
		}
		var rejected int64
		for _, n := range l.sum.Rejected {
			rejected += n
		}
		if l.sum.Candidates != l.sum.Out+rejected || l.sum.Documents != len(l.done) {
			t.Fatalf("%+v", l.sum)
		}
		first := fmt.Sprint(l.sum)
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		if l, err = openLedger(dir, head); err != nil || fmt.Sprint(l.sum) != first {
			t.Fatalf("opened again: %v", err)
		}
		l.close()
	})
}

func FuzzDocuments(f *testing.F) {
	f.Add([]byte(`{"id":"a","title":"T","text":"x y. z"}` + "\n" + `{"id":"b","sents":["One.","two."]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		read(strings.NewReader(string(data)), "f", func(d Document, err error) bool {
			n++
			if err == nil {
				if err := d.check(); err != nil {
					t.Fatal(err)
				}
				for _, s := range d.spansOf() {
					_ = d.Text[s.Start:s.End]
				}
			} else if k := quarry.KindOf(err); k != quarry.KindInvalid {
				t.Fatal(err)
			}
			return true
		})
		if n > len(data) {
			t.Fatalf("%d documents of %d bytes", n, len(data))
		}
	})
}
