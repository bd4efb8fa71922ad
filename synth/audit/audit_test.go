package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/synth/pipeline"
	"github.com/quarry-rl/quarry/synth/wording"
)

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// synthesised is a folder of questions of the demo, and the means to draw from it.
func synthesised(t *testing.T, g *kg.Mapped, seed uint64, walks int) (string, Options) {
	t.Helper()
	hooks := pipeline.Hooks{Writer: pipeline.Templates{Lexicon: wording.NewLexicon()}}
	dir := t.TempDir()
	must[pipeline.Report](t)(pipeline.Run(t.Context(), g, dir, pipeline.Options{Seed: seed, MaxWalks: walks, Wording: "templates"}, hooks))
	s := must[*pipeline.Space](t)(pipeline.Reopen(g, dir, hooks))
	return dir, Options{Seed: 5, Draw: func(ctx context.Context, walk int) (*quarry.Question, error) {
		c, err := s.Candidate(ctx, walk)
		return c.Drawn, err
	}}
}

func demo(t *testing.T) *kg.Mapped {
	t.Helper()
	path := t.TempDir()
	_, _, err := kg.Build(t.Context(), path, ingest.Options{}, "../../examples/wiki")
	if err != nil {
		t.Fatal(err)
	}
	g := must[*kg.Mapped](t)(kg.OpenMapped(path))
	t.Cleanup(func() { g.Close() })
	return g
}

// The whole way: drawn, written, filled in, read and taken in.
func TestAudit(t *testing.T) {
	g := demo(t)
	dir, o := synthesised(t, g, 1, 2500)
	other, _ := synthesised(t, g, 2, 20)
	ledger := must[[]byte](t)(os.ReadFile(filepath.Join(dir, pipeline.LedgerFile)))
	o.N, o.Rejected = 12, 12
	s := must[*Sample](t)(Draw(t.Context(), dir, o))
	if again := must[*Sample](t)(Draw(t.Context(), dir, o)); !reflect.DeepEqual(s, again) {
		t.Error("the same seed drew another sample")
	}
	state := map[string]pipeline.Entry{}
	err := pipeline.Entries(dir, func(e pipeline.Entry) error { state["k"+e.Sum] = e; return nil })
	if err != nil {
		t.Fatal(err)
	}
	of := func(r Row) pipeline.Entry { key, _, _ := strings.Cut(r.Key, "-"); return state[key] }
	t.Run("sample", func(t *testing.T) {
		drawn, runs := map[string]int{}, 0
		for i, r := range s.Rows {
			e := of(r)
			drawn[cmp.Or(string(e.Reason), accepted)]++
			if i > 0 && (of(s.Rows[i-1]).Reason == "") != (e.Reason == "") {
				runs++
			}
			if r.Question == "" || r.Answer == "" || !strings.HasPrefix(r.Path, "1. ") || !strings.Contains(r.Path, "\n4. ") || !strings.Contains(r.Path, "[") || r.Verdict+r.Reason+r.Comment != "" {
				t.Errorf("%+v", r)
			}
		}
		if len(s.Rows) != 24 || drawn[accepted] != 12 || runs < 4 {
			t.Errorf("%d rows, %v, %d changes", len(s.Rows), drawn, runs)
		}
		for _, st := range s.Strata {
			if st.Drawn == 0 || st.Drawn > st.There || drawn[st.Name] != st.Drawn {
				t.Errorf("%+v, %d in the sheet", st, drawn[st.Name])
			}
		}
		for _, word := range append([]string{"accepted", "rejected", "single_query"}, stages()...) {
			if text := string(sheetOf(t, s.Rows...)); strings.Contains(text, word+"\t") || strings.Contains(text, "\t"+word) {
				t.Errorf("the sheet tells %q", word)
			}
		}
		o := o
		o.N = 20
		var more []string
		for _, r := range must[*Sample](t)(Draw(t.Context(), dir, o)).Rows {
			more = append(more, r.Key)
		}
		for _, r := range s.Rows {
			if of(r).Reason == "" && !slices.Contains(more, r.Key) {
				t.Errorf("a larger sample leaves %s out", r.Key)
			}
		}
		o.Seed = 6
		if reflect.DeepEqual(s.Rows, must[*Sample](t)(Draw(t.Context(), dir, o)).Rows) {
			t.Error("another seed drew the same sample")
		}
	})
	path := filepath.Join(dir, "sheet.tsv")
	day := time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)
	filled := must[[]Row](t)(ReadSheet(path, bytes.NewReader(sheetOf(t, s.Rows...))))
	for i := range filled {
		switch {
		case i == 0:
			filled[i].Verdict, filled[i].Reason, filled[i].Comment = " BAD ", "Wrong answer", "=it is \"Rome\",\tsee\nline 2"
		case i < 20:
			filled[i].Verdict = "good"
		}
	}
	read := func() []byte { return must[[]byte](t)(os.ReadFile(filepath.Join(dir, File))) }
	take := func(rows []Row, who string) Imported { return must[Imported](t)(Import(dir, path, rows, who, day)) }

	t.Run("import", func(t *testing.T) {
		if got := take(filled, "Ann  B."); got != (Imported{Rows: 24, Empty: 4, Added: 20}) {
			t.Errorf("%+v", got)
		}
		first := read()
		if got := take(filled, "Ann B."); got != (Imported{Rows: 24, Empty: 4, Same: 20}) || !bytes.Equal(read(), first) {
			t.Errorf("again: %+v", got)
		}
		rs := must[[]Record](t)(Records(dir))
		e := of(filled[0])
		if r := rs[0]; len(rs) != 20 || r.Walk != e.Walk || r.Question != e.Question || r.State != e.State || r.Reason != e.Reason || r.Reviewer != "Ann B." || r.Date != "2026-03-04" ||
			r.Verdict != Bad || r.Fault != "wrong_answer" || r.Comment != "=it is \"Rome\",\tsee\nline 2" {
			t.Errorf("%d: %+v", len(rs), rs[0])
		}
		changed := slices.Clone(filled)
		changed[1].Verdict = "unsure"
		if got := take(changed, "Ann B."); got != (Imported{Rows: 24, Empty: 4, Changed: 1, Same: 19}) || !bytes.HasPrefix(read(), first) {
			t.Errorf("changed: %+v", got)
		}
		take(filled, "Cy")
		a := Agree(must[[]Record](t)(Records(dir)))
		if len(a.Pairs) != 1 || a.Pairs[0].Rows != 20 || a.Pairs[0].Agreed != 19 || a.Pairs[0].Kappa == nil || a.Accepted.Rows+a.Rejected.Rows != 20 || a.Accepted.Disputed+a.Rejected.Disputed != 1 {
			t.Errorf("%+v", a)
		}
		if now := must[[]byte](t)(os.ReadFile(filepath.Join(dir, pipeline.LedgerFile))); !bytes.Equal(now, ledger) {
			t.Error("the ledger changed")
		}
		must[pipeline.Report](t)(pipeline.Read(dir))
	})
	t.Run("refused", func(t *testing.T) {
		before := read()
		at := func(change func(rows []Row)) []Row { rows := slices.Clone(filled); change(rows); return rows }
		for name, f := range map[string]struct {
			rows []Row
			who  string
			says string
		}{
			"another folder":    {at(func(r []Row) { r[3].Key = "k0123456789abcdef-01234567" }), "D", "sheet.tsv:"},
			"no key":            {at(func(r []Row) { r[3].Key = "" }), "D", "no key"},
			"one column sorted": {at(func(r []Row) { r[3].Key, r[4].Key = r[4].Key, r[3].Key }), "D", "another question"},
			"text changed":      {at(func(r []Row) { r[3].Question += " or so" }), "D", "another question"},
			"unknown verdict":   {at(func(r []Row) { r[3].Verdict = "ok" }), "D", `verdict "ok", expected good, bad`},
			"unknown reason":    {at(func(r []Row) { r[0].Reason = "dull" }), "D", "expected one of wrong_answer"},
			"reason of good":    {at(func(r []Row) { r[1].Reason = "unclear" }), "D", "of a good question"},
			"comment alone":     {at(func(r []Row) { r[23].Comment = "hm" }), "D", "without a verdict"},
			"twice":             {append(slices.Clone(filled), filled[2]), "D", "stands in line"},
			"no name":           {filled, " ", "--reviewer"},
		} {
			_, err := Import(dir, path, f.rows, f.who, day)
			all := ""
			if err != nil {
				all = err.Error() + quarry.HintOf(err)
			}
			kind := quarry.KindOf(err)
			if e, ok := err.(interface{ Unwrap() []error }); ok {
				kind = quarry.KindOf(e.Unwrap()[0])
			}
			if kind != quarry.KindInvalid || !strings.Contains(all, f.says) || !bytes.Equal(read(), before) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := Import(other, path, filled, "D", day); err == nil {
			t.Error("another folder took the sheet in")
		}
		if _, err := os.Stat(filepath.Join(other, File)); err == nil {
			t.Error("a refused sheet left a file")
		}
	})
	t.Run("damage", func(t *testing.T) {
		good := read()
		put := func(b []byte) {
			if err := os.WriteFile(filepath.Join(dir, File), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for cut := len(good) - 1; cut > len(good)-150; cut -= 31 { // what was being written is lost, and comes again
			put(good[:cut])
			must[[]Record](t)(Records(dir))
			if take(filled, "Cy"); !bytes.Equal(read(), good) {
				t.Fatalf("cut at %d: not the same file again", cut)
			}
		}
		put(good[:20])
		take(filled, "Ann B.")
		for i := 0; i < len(good); i += 701 {
			b := bytes.Clone(good)
			b[i] ^= 4
			put(b)
			if _, err := Records(dir); err == nil {
				t.Errorf("byte %d flipped, and nothing said", i)
			}
			if _, err := Import(dir, path, filled, "Cy", day); err == nil || !bytes.Equal(read(), b) {
				t.Errorf("byte %d flipped: %v", i, err)
			}
		}
		put([]byte(`{"schema":"quarry.audit/2","x":1}` + "\n"))
		if _, err := Records(dir); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "quarry.audit/2 is newer than quarry.audit/1") {
			t.Errorf("newer: %v", err)
		}
		put([]byte("what is this\n"))
		if _, err := Records(dir); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("foreign: %v", err)
		}
		if err := os.WriteFile(filepath.Join(other, File), good, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Records(other); quarry.KindOf(err) != quarry.KindConflict {
			t.Errorf("of another ledger: %v", err)
		}
	})
	t.Run("questions changed", func(t *testing.T) {
		name := filepath.Join(dir, pipeline.QuestionsFile)
		b := must[[]byte](t)(os.ReadFile(name))
		if err := os.WriteFile(name, bytes.ReplaceAll(b, []byte("e"), []byte("a")), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Draw(t.Context(), dir, o); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Errorf("%v", err)
		}
	})
}

// A row tells the path and the conditions in words, in the direction of the question.
func TestRow(t *testing.T) {
	st := func(s, p, o, text string) quarry.Statement {
		return quarry.Statement{Subject: s, Predicate: p, Object: o, Text: text, Doc: "d1"}
	}
	q := &quarry.Question{Text: "=Which work?", Answer: "Winter", AnswerID: "w", Aliases: []string{"Hiver", "Inverno"}, Entities: []quarry.Named{{ID: "y", Name: "Yuvo"}},
		Path:        quarry.Walk{{Statement: st("y", "studied_at", "u", "Yuvo studied at U."), Inverse: true}, {Statement: st("y", "wrote", "w", "")}},
		Conditions:  []quarry.Statement{st("y", "born_on", "TIME:1841", "Yuvo was born in 1841.")},
		Atoms:       []quarry.Atom{{S: "?v1", P: "studied_at", O: "u"}, {S: "?v1", P: "wrote", O: "?a"}, {S: "?v1", P: "born_on", O: "?d1"}},
		Certificate: []byte(`{"members":[{"variable":"?d1","from":1840,"to":1849},{"variable":"?a","type":"novel"},{"variable":"?v1","type":"person"}]}`)}
	o := Options{Relation: func(id string) string { return map[string]string{"wrote": "is the author of"}[id] }}
	r := o.row("0123", q)
	want := Row{Question: "=Which work?", Answer: "Winter (also: Hiver; Inverno)",
		Path:       "1. u <-- studied at -- Yuvo\n   \"Yuvo studied at U.\" [d1]\n2. Yuvo -- is the author of --> Winter",
		Conditions: "1. Yuvo -- born on --> TIME:1841\n   \"Yuvo was born in 1841.\" [d1]\n2. TIME:1841 is from 1840 to 1849\n3. the answer is of the type novel\n4. Yuvo is of the type person"}
	if want.Key = r.Key; r != want || !strings.HasPrefix(r.Key, "k0123-") {
		t.Errorf("%+v", r)
	}
}

func stages() []string {
	var out []string
	for _, s := range texted {
		out = append(out, string(s))
	}
	return out
}

func golden() []byte {
	var last [sha256.Size]byte
	var out []byte
	for _, v := range []any{header{Schema: Schema, Ledger: "5454406ea295bbae"},
		Record{Walk: 3, Line: "4299ca16af73ca26", Question: "q-0123456789abcdef", State: pipeline.Accepted, Reviewer: "Ann", Date: "2026-03-04", Verdict: Bad, Fault: "unclear", Comment: "which of the two?"},
		Record{Walk: 1, Line: "886df9eae6285959", State: pipeline.Rejected, Stage: pipeline.StageUnique, Reason: pipeline.NearText, Reviewer: "Ann", Date: "2026-03-04", Verdict: Good},
	} {
		line, _ := seal(&last, v)
		out = append(out, line...)
	}
	return out
}

// The format's page shows the golden file, and that is what is written and read.
func TestGolden(t *testing.T) {
	want := must[[]byte](t)(os.ReadFile("testdata/audit.jsonl"))
	if !bytes.Equal(golden(), want) {
		t.Fatalf("the format changed:\n%s", golden())
	}
	page := string(must[[]byte](t)(os.ReadFile("../../docs/formats/audit.md")))
	for l := range strings.Lines(string(want)) {
		if !strings.Contains(page, "    "+l) {
			t.Errorf("the page does not show %s", l)
		}
	}
	for _, v := range []any{Record{}, header{}} {
		for i := range reflect.TypeOf(v).NumField() {
			if key, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ","); !strings.Contains(page, "| `"+key+"` |") {
				t.Errorf("the page does not name %s", key)
			}
		}
	}
	for _, name := range append(append([]string{}, columns...), "good", "bad", "unsure") {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	for _, f := range Faults() {
		if !strings.Contains(page, "`"+string(f)+"`") {
			t.Errorf("the page does not name %s", f)
		}
	}
	c := must[*contents](t)(read("golden", "5454406ea295bbae", want))
	if len(c.records) != 2 || c.whole != int64(len(want)) || c.records[1].Reason != pipeline.NearText {
		t.Errorf("%+v", c)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(golden())
	f.Add(golden()[:200])
	f.Add([]byte(`{"schema":"quarry.audit/9"}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := read("x", "5454406ea295bbae", data)
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid && k != quarry.KindConflict {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := read("x", "5454406ea295bbae", data[:c.whole]); err != nil || len(again.records) != len(c.records) {
			t.Fatalf("whole lines alone: %v", err)
		}
	})
}
