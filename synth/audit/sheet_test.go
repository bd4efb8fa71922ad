package audit

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func sheetOf(t rapid.TB, rows ...Row) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSheet(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func cellsOf(r Row) []string {
	var out []string
	for _, c := range r.cells() {
		out = append(out, *c)
	}
	return out
}

// Whatever stands in a text, it comes back, and no cell begins like a formula.
func TestSheetKeepsTexts(t *testing.T) {
	nasty := rapid.SampledFrom([]string{"", "a\tb", "a\nb", "\"", "a \"b\" c", "=1+1", "'=1", "''=x", " +1", "\t-1", "@x", "＝1", "\r\nx\r", "-", "'", "' '", "\x00=1", "\xff", "答案", ",;", "\ufeff=x", "k12", "\\."})
	text := rapid.OneOf(nasty, rapid.String(), rapid.Custom(func(t *rapid.T) string { return nasty.Draw(t, "a") + nasty.Draw(t, "b") }))
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			r := Row{}
			for _, c := range r.cells() {
				*c = text.Draw(t, "cell")
			}
			r.Key = "k0"
			rows = append(rows, r)
		}
		data := sheetOf(t, rows...)
		c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
		c.Comma = '\t'
		raw, err := c.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range slices.Concat(raw...) {
			if strings.ContainsAny(strings.TrimSpace(cell)+" ", "=+-@") && strings.ContainsAny(strings.TrimSpace(cell)[:1], "=+-@") {
				t.Fatalf("a spreadsheet takes %q for a formula", cell)
			}
		}
		got, err := ReadSheet("x", bytes.NewReader(data))
		if err != nil || len(got) != len(rows) {
			t.Fatalf("%d rows of %d: %v", len(got), len(rows), err)
		}
		for i := range rows {
			for j, cell := range cellsOf(rows[i]) {
				if want := tidy(cell); cellsOf(got[i])[j] != want {
					t.Fatalf("%q came back as %q, expected %q", cell, cellsOf(got[i])[j], want)
				}
			}
		}
	})
}

func TestGuard(t *testing.T) {
	for in, want := range map[string]string{"=1": "'=1", "+49": "'+49", "-x": "'-x", "@SUM": "'@SUM", " =1": "' =1", "\t=1": "'\t=1", "'=1": "''=1", "＝1": "'＝1", "a=1": "a=1", "": "", "'tis": "'tis", "1-2": "1-2"} {
		if got := guard(in); got != want || unguard(got) != in {
			t.Errorf("%q is guarded as %q and comes back as %q, expected %q", in, got, unguard(got), want)
		}
	}
}

// Sheets as spreadsheets save them.
func TestReadSheetForms(t *testing.T) {
	want := Row{Key: "k1-2", Question: "Who \"is\"\tit?\nYou?", Verdict: "good", Comment: "=fine", Line: 2}
	plain := string(sheetOf(t, want))
	utf16 := func(e unicode.Endianness) string {
		s, err := unicode.UTF16(e, unicode.UseBOM).NewEncoder().String(strings.TrimPrefix(plain, "\ufeff"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, text := range map[string]string{
		"as written":          plain,
		"without a mark":      strings.TrimPrefix(plain, "\ufeff"),
		"line ends":           strings.ReplaceAll(plain, "\n", "\r\n"),
		"UTF-16 little":       utf16(unicode.LittleEndian),
		"UTF-16 big":          utf16(unicode.BigEndian),
		"other columns":       "Note\tVERDICT\tkey\tComment\tquestion\nx\tgood\tk1-2\t'=fine\t\"Who \"\"is\"\"\tit?\nYou?\"\n",
		"everything quoted":   "\"key\"\t\"verdict\"\t\"comment\"\t\"question\"\n\"k1-2\"\t\"good\"\t\"=fine\"\t\"Who \"\"is\"\"\tit?\nYou?\"",
		"empty rows and ends": plain + "\t\t\t\t\t\t\t\n\n",
	} {
		got, err := ReadSheet("sheet.tsv", strings.NewReader(text))
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, f := range map[string]struct{ text, says string }{
		"nothing":      {"", "sheet.tsv:1: a header line is expected"},
		"commas":       {"key,question,verdict\nk1,q,good\n", "the column question is missing"},
		"no key":       {"question\tverdict\nq\tgood\n", "the column key is missing"},
		"open quote":   {"key\tquestion\tverdict\nk1\tq\tgood\nk2\t\"q\tgood\n", "sheet.tsv:3"},
		"quote inside": {"key\tquestion\tverdict\nk1\tq \"x\" y\tgood\n", "must be quoted"},
	} {
		_, err := ReadSheet("sheet.tsv", strings.NewReader(f.text))
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error()+quarry.HintOf(err), f.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is read is written and read the same.
func FuzzReadSheet(f *testing.F) {
	f.Add([]byte("key\tquestion\tverdict\nk1\tq\tgood\n"))
	f.Add([]byte("\ufeffkey\tquestion\tverdict\tcomment\r\nk1\t\"a \"\"b\"\"\n\"\tbad\t'=1\r\n"))
	f.Add([]byte("\xff\xfek\x00\n\x00"))
	f.Add([]byte("key\tquestion\tverdict\n\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadSheet("x", bytes.NewReader(data))
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := ReadSheet("x", bytes.NewReader(sheetOf(t, rows...)))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, r := range rows { // a row of control characters only is blank afterwards
			blank := true
			for j, c := range cellsOf(r) {
				blank = blank && strings.TrimSpace(tidy(c)) == ""
				if i < len(again) && strings.TrimSpace(tidy(c)) != "" && cellsOf(again[i])[j] != tidy(c) {
					t.Fatalf("%q is %q afterwards", c, cellsOf(again[i])[j])
				}
			}
			if !blank {
				i++
			}
		}
		if i != len(again) {
			t.Fatalf("%d rows of %d", len(again), i)
		}
	})
}
