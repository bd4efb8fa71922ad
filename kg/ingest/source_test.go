package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/quarry-rl/quarry"
)

func gz(data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, data)
	w.Close()
	return b.String()
}

func zst(data string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(data), nil))
}

func tarOf(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, files[i+1])
	}
	w.Close()
	return b.String()
}

// "a\tp\tb\n" packed by bzip2 1.0.8
const bz = "QlpoOTFBWSZTWUPglR4AAAHBgAAwMABAACAAMM0AwaGAXF3JFOFCQQ+CVHg="

func TestPacked(t *testing.T) {
	const data = "a\tp\tb\nc\tp\td\n"
	want := []string{"T a|p|b", "T c|p|d"}
	both := append(append([]string{}, want...), want...)
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"x.tsv.gz", gz(data), want},
		{"gzip under a plain name.tsv", gz(data), want},
		{"plain under a packed name.tsv.gz", data, want},
		{"x.tsv.gz of two members.gz", gz(data[:6]) + gz(data[6:]), want},
		{"x.tsv.zst", zst(data), want},
		{"x.tsv.zst after a frame to skip.zst", "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zst(data), want},
		{"x.tar", tarOf(t, "d/a.tsv", data, "d/.hidden.tsv", data, "b.tsv", data), both},
		{"x.tar.gz", gz(tarOf(t, "a.tsv", data, "README", "no data\n")), want},
		{"x.tar.zst", zst(tarOf(t, "a.tsv.gz", gz(data))), want},
		{"twice.gz", gz(gz(data)), want},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, stats, err := read(t, c.name, c.content, Options{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want...)
			if c.name == "x.tar.gz" && (len(stats.Skipped) != 1 || !strings.HasSuffix(stats.Skipped[0], "x.tar.gz!README")) {
				t.Errorf("skipped %q", stats.Skipped)
			}
		})
	}
}

func TestBzip2(t *testing.T) {
	raw, err := base64.StdEncoding.DecodeString(bz)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := read(t, "x.tsv.bz2", string(raw), Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, "T a|p|b")
}

func TestPackedLineNumbersAndDamage(t *testing.T) {
	var lines strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&lines, "a%d\tp\tb%d\n", i*7919%100_003, i)
	}
	data := lines.String() + "bad\n"
	_, _, err := read(t, "x.tsv.gz", gz(data), Options{})
	wrong(t, err, "x.tsv.gz:40001: expected 3 columns")
	_, _, err = read(t, "x.tar.gz", gz(tarOf(t, "in/a.tsv", data)), Options{})
	wrong(t, err, "x.tar.gz!in/a.tsv:40001: expected 3 columns")
	for name, content := range map[string]string{"x.tsv.gz": gz(data), "x.tsv.zst": zst(data)} {
		got, _, err := read(t, name, content[:len(content)*3/4], Options{})
		wrong(t, err, name+":", "damaged or cut off")
		if quarry.KindOf(err) != quarry.KindCorrupt || len(got) == 0 {
			t.Errorf("%s: kind %s after %d statements", name, quarry.KindOf(err), len(got))
		}
		flipped := []byte(content)
		flipped[len(flipped)/2] ^= 0x10
		if _, _, err := read(t, name, string(flipped), Options{OnError: Quarantine}); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Errorf("%s with a flipped bit: %v", name, err)
		}
	}
	deep := "a\tp\tb\n"
	for range 6 {
		deep = gz(deep)
	}
	_, _, err = read(t, "deep.gz", deep, Options{})
	wrong(t, err, "packed more than 4 times")
	for magic, kind := range map[string]string{"\xfd7zXZ\x00....": "xz", "PK\x03\x04....": "zip"} {
		_, _, err := read(t, "x.tsv", magic, Options{})
		wrong(t, err, "is packed with "+kind)
	}
}

func TestSourcesInOrder(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"b.tsv": "b\tp\tb", "a.tsv": "a\tp\ta", "sub/c.nt": "<x:c> <x:p> _:c .", "sub/d.nt": "<x:d> <x:p> _:c .", "README.md": "# text\n", ".git/x.tsv": "h\th\th"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var c recorder
	stats, err := Read(context.Background(), &c, Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, c.out, "T a|p|a", "T b|p|b", "T x:c|x:p|_:3.c", "T x:d|x:p|_:4.c")
	if len(stats.Skipped) != 1 || filepath.Base(stats.Skipped[0]) != "README.md" || stats.Files != 4 {
		t.Errorf("stats %+v", stats)
	}
	c = recorder{}
	if _, err := Read(context.Background(), &c, Options{}, filepath.Join(dir, "b.tsv"), filepath.Join(dir, "*.tsv")); err != nil {
		t.Fatal(err)
	}
	same(t, c.out, "T b|p|b", "T a|p|a") // once each
	for _, bad := range []struct {
		source string
		kind   quarry.Kind
		msg    string
	}{
		{filepath.Join(dir, "nothing.tsv"), quarry.KindNotFound, "no such file"},
		{filepath.Join(dir, "*.nq"), quarry.KindNotFound, "no file has such a name"},
		{filepath.Join(dir, "[.tsv"), quarry.KindInvalid, "no valid pattern"},
		{filepath.Join(dir, "README.md"), quarry.KindInvalid, "the format is not known"},
	} {
		_, err := Read(context.Background(), &recorder{}, Options{}, bad.source)
		wrong(t, err, bad.msg)
		if quarry.KindOf(err) != bad.kind {
			t.Errorf("%s: kind %s", bad.source, quarry.KindOf(err))
		}
	}
	if _, err := Read(context.Background(), &recorder{}, Options{}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("no sources: %v", err)
	}
	if _, err := Read(context.Background(), &recorder{}, Options{}, t.TempDir()); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("empty folder: %v", err)
	}
}

func TestPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "x.tsv"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{dir, filepath.Join(dir, "x.tsv"), filepath.Join(dir, "*")} {
		_, err := Read(context.Background(), &recorder{}, Options{}, source)
		wrong(t, err, "x.tsv", "is a named pipe, expected a file")
	}
	_, err := Read(context.Background(), &recorder{}, Options{}, os.DevNull)
	wrong(t, err, "is a device")
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       Format
	}{
		{"x.nt.gz", "", NTriples}, {"X.NQ", "", NQuads}, {"dump", "# c\n_:a <x:p> _:b .\n", NQuads}, {"dump", "<x:a> <x:p> _:b .", NQuads},
		{"x.csv", "a,b,c", Triples}, {"train.txt", "/m/1\t/p\t/m/2\r\n", Triples}, {"train.txt", "a p b\n", Triples}, {"facts", "a\tp\tb\n", Triples},
		{"notes.txt", "some words here and there\n", ""}, {"x.ttl", "@prefix", ""}, {"x", "@prefix a: <b> .", ""}, {"x", "<?xml version", ""}, {"x", "", ""}, {"x.bin", "\x00\x01\t\t", ""},
		{"latest-all.json.bz2", "[\n" + adams, Wikidata}, {"x.jsonl", adams, Wikidata},
		{"dev.json", docs, DocRED}, {"dev", docs, DocRED}, {"x.jsonl", pairLines, Statements},
		{"e.json", "{\n \"/m/1\": {\"label\": \"x\"}}", Names}, {"rel_info.json", `{"P6": "head of government"}`, Names}, {"x.json", `{"a": 1}`, ""}, {"x.json", `[1]`, ""},
		{"edges", "PAR1....", Parquet}, {"edges.parquet", "", Parquet},
	} {
		if got := Detect(c.name, []byte(c.head)); got != c.want {
			t.Errorf("%s %.30q: %q, want %q", c.name, c.head, got, c.want)
		}
	}
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %q, %v", f, got, err)
		}
	}
	if f, err := ParseFormat("auto"); f != "" || err != nil {
		t.Errorf("auto: %q, %v", f, err)
	}
	_, err := ParseFormat("turtle")
	wrong(t, err, "format turtle: expected auto, ntriples")
	_, _, err = read(t, "x.ttl", "<x:a> <x:p> _:b .", Options{})
	wrong(t, err, "x.ttl: the format is not known: this RDF syntax is not read: convert it")
	got, _, err := read(t, "x.ttl", "<x:a> <x:p> _:b .", Options{Format: NTriples})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, "T x:a|x:p|_:0.b")
	_, _, err = read(t, "x.tsv", "a\tp\tb", Options{Format: OpenKE})
	wrong(t, err, "is one file, expected a folder of format openke")
	_, _, err = read(t, "x.tsv", "a\tp\tb", Options{Format: "rot13"})
	wrong(t, err, "format rot13")
}

func TestQuarantine(t *testing.T) {
	data := "a\tp\tb\nbad <1>\n\xff\t\t\nc\tp\td\n" + strings.Repeat("x", 5000) + "\ne\tp\tf"
	var side bytes.Buffer
	got, stats, err := read(t, "x.tsv", data, Options{OnError: Quarantine, Quarantine: &side, MaxLine: 4500})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, "T a|p|b", "T c|p|d", "T e|p|f")
	if stats.Bad != 3 || stats.Lines != 6 || stats.Statements != 3 {
		t.Errorf("stats %+v", stats)
	}
	rows := strings.Split(strings.TrimSpace(side.String()), "\n")
	if len(rows) != 3 {
		t.Fatalf("%d rows: %s", len(rows), side.String())
	}
	for i, want := range []string{
		`x.tsv","line":2,"reason":"expected 3 columns parted by tabs, found 1","text":"bad <1>"}`,
		`x.tsv","line":3,"reason":"expected UTF-8, found other bytes","bytes":"/wkJ"}`,
		`x.tsv","line":5,"reason":"expected a line of at most 4500 bytes, found a longer one","text":"` + strings.Repeat("x", keptOfLong) + `","truncated":true}`,
	} {
		if !strings.HasSuffix(rows[i], want) {
			t.Errorf("row %d is %s, want it to end in %s", i, rows[i], want)
		}
	}
	_, _, err = read(t, "x.nt", "<x:a> <x:p> <x:b> .\n\n<x:a> <x:p> \"b .\n", Options{})
	wrong(t, err, "x.nt:3:13: expected a closing quote, found the end of the line")
	_, _, err = read(t, "x.tsv", "bad\n", Options{OnError: Quarantine, Quarantine: full{}})
	wrong(t, err, "quarantine: a bad line could not be kept", "no space")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestShareOfBadLines(t *testing.T) {
	data := strings.Repeat("bad\n", 20) + strings.Repeat("a\tp\tb\n", 180)
	got, stats, err := read(t, "x.tsv", data, Options{OnError: Quarantine, MaxBadShare: 0.1})
	if err != nil || stats.Bad != 20 || len(got) != 180 {
		t.Errorf("a tenth of bad lines: %v, %+v", err, stats)
	}
	_, stats, err = read(t, "x.tsv", data, Options{OnError: Quarantine, MaxBadShare: 0.09})
	wrong(t, err, "20 of 200 lines are bad, at most 9 % may be")
	if quarry.KindOf(err) != quarry.KindGate || stats.Lines != 200 {
		t.Errorf("kind %s after %d lines", quarry.KindOf(err), stats.Lines)
	}
	// all bad: stopped at the hundredth, not at the end
	_, stats, err = read(t, "x.tsv", strings.Repeat("bad\n", 5000), Options{OnError: Quarantine, MaxBadShare: 0.5})
	if quarry.KindOf(err) != quarry.KindGate || stats.Lines != minLines {
		t.Errorf("%v after %d lines", err, stats.Lines)
	}
}

func TestLongLines(t *testing.T) {
	for _, limit := range []int{10, 17, 1 << 20} {
		fits := strings.Repeat("y", limit)
		for _, end := range []string{"\n", "\r\n"} {
			l := newLines(iotestChunks(fits+end+fits+"z"+end+"ab"+end+fits), limit)
			for i, want := range []string{fits, "", "ab", fits} {
				line, err := l.next()
				if long := (*tooLong)(nil); want == "" {
					if !errors.As(err, &long) {
						t.Fatalf("limit %d, line %d: %q, %v", limit, i, line, err)
					}
				} else if err != nil || string(line) != want {
					t.Fatalf("limit %d, line %d: %d bytes, %v", limit, i, len(line), err)
				}
				if l.n != i+1 {
					t.Fatalf("line number %d, want %d", l.n, i+1)
				}
			}
			if _, err := l.next(); err != io.EOF {
				t.Fatalf("at the end: %v", err)
			}
			if len(l.buf) > 2*limit+4 {
				t.Fatalf("limit %d, buffer of %d", limit, len(l.buf))
			}
		}
	}
	// a line of 16 MiB is read
	got, _, err := read(t, "x.tsv", "a\tp\t"+strings.Repeat("b", 16<<20)+"\n", Options{})
	if err != nil || len(got) != 1 || len(got[0]) != 16<<20+6 {
		t.Errorf("%v, %d calls", err, len(got))
	}
}

// iotestChunks reads in pieces of 1, 2, 3, ... bytes.
func iotestChunks(s string) io.Reader { return &chunks{s: s} }

type chunks struct {
	s string
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.s == "" {
		return 0, io.EOF
	}
	c.n++
	n := copy(p[:min(len(p), c.n)], c.s)
	c.s = c.s[n:]
	return n, nil
}

func TestCancelAndProgress(t *testing.T) {
	path := write(t, "x.tsv", strings.Repeat("a\tp\tb\n", 200_000))
	var seen []Progress
	stats, err := Read(context.Background(), &count{}, Options{Progress: func(p Progress) { seen = append(seen, p) }}, path)
	if err != nil || stats.Statements != 200_000 {
		t.Fatal(err, stats)
	}
	last := seen[len(seen)-1]
	if len(seen) < 3 || last.Bytes != 1_200_000 || last.TotalBytes != 1_200_000 || last.Statements != 200_000 || last.File != path {
		t.Errorf("%d calls, the last %+v", len(seen), last)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stats, err = Read(ctx, &count{}, Options{Progress: func(Progress) { cancel() }}, path)
	if quarry.KindOf(err) != quarry.KindCanceled || !errors.Is(err, context.Canceled) || stats.Statements == 0 || stats.Statements > 80_000 {
		t.Errorf("%v after %d statements", err, stats.Statements)
	}
}

// refusing fails at a statement: its error comes back as it is.
type refusing struct{ count }

func (refusing) Triple(_, _, _ []byte) error { return syscall.ENOSPC }

func TestSinkErrors(t *testing.T) {
	_, err := Read(context.Background(), &refusing{}, Options{OnError: Quarantine}, write(t, "x.tsv", "a\tp\tb"))
	if err != syscall.ENOSPC {
		t.Errorf("%v", err)
	}
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{gz("a\tp\tb\n"), zst("a\tp\tb\n"), tarOf(f, "a.tsv", "a\tp\tb\n"), gz(tarOf(f, "a.nt", described1)), docs, adams, pairLines, `{"P6": "x"}`} {
		f.Add("x", []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) { feed(t, name, data, Options{}) })
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nbb\n\nccc"), 3)
	f.Add([]byte("\xef\xbb\xbfabc\r"), 2)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = 1 + limit&0xff
		l := newLines(iotestChunks(string(data)), limit)
		for i, want := range bytes.SplitAfter(data, []byte("\n")) {
			if len(want) == 0 { // after the last line end
				break
			}
			want = bytes.TrimSuffix(bytes.TrimSuffix(want, []byte("\n")), []byte("\r"))
			if i == 0 {
				want = bytes.TrimPrefix(want, []byte("\xef\xbb\xbf"))
			}
			line, err := l.next()
			if err == nil && !bytes.Equal(line, want) || err != nil && len(want) <= limit-3 {
				t.Fatalf("line %d: %q, %v, want %q", i+1, line, err, want)
			}
			if err == nil && len(want) > limit {
				t.Fatalf("line %d of %d bytes passed a limit of %d", i+1, len(want), limit)
			}
		}
		if _, err := l.next(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	})
}
