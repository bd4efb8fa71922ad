package ingest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestTriples(t *testing.T) {
	for _, c := range []struct {
		name, file, data string
		o                Options
		want             []string
	}{
		{"tabs", "a.tsv", "a\tp\tb c\nb c\tq\td\n", Options{}, []string{"T a|p|b c", "T b c|q|d"}},
		{"CR LF leaves no CR at the tail", "train.txt", "/m/1\t/p\t/m/2\r\n/m/2\t/p\t/m/1\r\n", Options{}, []string{"T /m/1|/p|/m/2", "T /m/2|/p|/m/1"}},
		{"byte order mark", "a.tsv", "\xef\xbb\xbfa\tp\tb", Options{}, []string{"T a|p|b"}},
		{"head, tail, relation by option", "a.tsv", "a\tb\tp\n", Options{Columns: HeadTailRelation}, []string{"T a|p|b"}},
		{"a header goes before the option", "a.tsv", "Head\tRelation\tTail\na\tp\tb\n", Options{Columns: HeadTailRelation}, []string{"T a|p|b"}},
		{"header in another order", "a.csv", "object,subject,predicate\nb,a,p\n", Options{}, []string{"T a|p|b"}},
		{"a first line of data is no header", "a.tsv", "head\trelation\trelation\n", Options{}, []string{"T head|relation|relation"}},
		{"quotes", "a.csv", "\"Paris, Texas\",p,\"the \"\"best\"\"\"\na,,b\n", Options{OnError: Quarantine}, []string{`T Paris, Texas|p|the "best"`}},
		{"blanks", "a.txt", "a p b\nc  p\td\n", Options{}, []string{"T a|p|b", "T c|p|d"}},
		{"commas without ending", "edges", "a,p,b\n", Options{Format: Triples}, []string{"T a|p|b"}},
		{"separator by option", "a.tsv", "a|p|b c\n", Options{Separator: '|'}, []string{"T a|p|b c"}},
		{"blank lines", "a.tsv", "\n \na\tp\tb\n\n", Options{}, []string{"T a|p|b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := read(t, c.file, c.data, c.o)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want...)
		})
	}
}

func TestTriplesBad(t *testing.T) {
	for _, c := range []struct {
		file, data string
		parts      []string
	}{
		{"a.tsv", "a\tp\tb\na\tp\tb\tc\n", []string{"a.tsv:2: expected 3 columns parted by tabs, found 4", "a name that holds the separator"}},
		{"a.tsv", "a\tp\n", []string{"a.tsv:1: expected 3 columns parted by tabs, found 2"}},
		{"a.tsv", "a\t\tb\n", []string{"a.tsv:1: expected three values, found an empty one"}},
		{"a.tsv", "a\tp\tb\n\n\xff\tp\tb\n", []string{"a.tsv:3: expected UTF-8"}},
		{"a.csv", "a,p,\"b\n", []string{"a.csv:1: expected a closing quote"}},
		{"a.csv", "a,\"p\"x,b\n", []string{"a.csv:1: expected a comma after the closing quote"}},
	} {
		_, _, err := read(t, c.file, c.data, Options{})
		wrong(t, err, c.parts...)
	}
}

func openKEFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpenKE(t *testing.T) {
	files := map[string]string{
		entityIDs:   "3\r\n/m/1\t1\r\nNew York\t0\r\n/m/2 2\r\n",
		relationIDs: "1\n/people/born 0\n",
		trainIDs:    "2\n1 0 0\n2\t1\t0\n",
		testIDs:     "1\n0 2 0\n",
	}
	var c recorder
	stats, err := Read(context.Background(), &c, Options{}, openKEFolder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	same(t, c.out, "T /m/1|/people/born|New York", "T /m/2|/people/born|/m/1", "T New York|/people/born|/m/2")
	if stats.Files != 4 || stats.Statements != 3 {
		t.Errorf("stats %+v", stats)
	}
	for _, bad := range []struct {
		file, data string
		parts      []string
	}{
		{trainIDs, "3\n1 0 0\n2 1 0\n", []string{"train2id.txt:3: expected 3 lines after the first, found 2"}},
		{trainIDs, "1 0 0\n", []string{"train2id.txt:1: expected the count"}},
		{trainIDs, "1\n1 0 1\n", []string{"train2id.txt:2: column 3: expected a number below 1"}},
		{trainIDs, "1\n1 0\n", []string{"train2id.txt:2: expected head, tail and relation"}},
		{entityIDs, "1\n/m/1\n", []string{"entity2id.txt:2", "found one column"}},
		{entityIDs, "1\na 999999999\n", []string{"without gaps"}},
		{entityIDs, "2\na 0\nb 0\n", []string{"entity2id.txt:3: expected each number once"}},
		{entityIDs, "1\na x\n", []string{"expected a number in the last column"}},
	} {
		changed := map[string]string{}
		for k, v := range files {
			changed[k] = v
		}
		changed[bad.file] = bad.data
		_, err := Read(context.Background(), &recorder{}, Options{}, openKEFolder(t, changed))
		wrong(t, err, bad.parts...)
	}
}

func FuzzTriples(f *testing.F) {
	for _, s := range []string{"a\tp\tb\r\n", "head,relation,tail\n\"a,\",p,\"b\"\"\"\n", "a p b\n", "\xef\xbb\xbfa\tb\n", "a,\"", "\n\n\t\t\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		feed(t, "x.tsv", data, Options{Format: Triples})
		feed(t, "x.csv", data, Options{Format: Triples})
		feed(t, "x", data, Options{Format: Triples, Separator: ' '})
	})
}

func FuzzOpenKE(f *testing.F) {
	f.Add([]byte("2\na 0\nb\t1\n"), []byte("1\n0 1 0\n"))
	f.Add([]byte("1\na b 0\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, entities, triples []byte) {
		dir := openKEFolder(t, map[string]string{entityIDs: string(entities), relationIDs: "1\nr 0\n", trainIDs: string(triples)})
		stats, err := Read(context.Background(), &recorder{}, Options{OnError: Quarantine}, dir)
		if err == nil && stats.Statements > stats.Lines {
			t.Fatalf("%+v", stats)
		}
	})
}
