package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// A refused record leaves nothing behind that the next one could trip over.
func TestAddRefuses(t *testing.T) {
	b := NewBuilder()
	doc := Document{ID: "d1", Sentences: []string{"One.", "Two."}}
	if err := b.Add(Record{Document: &doc}); err != nil {
		t.Fatal(err)
	}
	st := func(change func(*Statement)) Record {
		s := Statement{Subject: "a", Predicate: "p", Object: "b", Doc: "d1", Spans: []Span{{0, 4}}}
		change(&s)
		return Record{Statement: &s}
	}
	for name, c := range map[string]struct {
		rec  Record
		says string
	}{
		"nothing":         {Record{}, "0 fields set"},
		"two":             {Record{Entity: &Entity{ID: "a"}, Relation: &Relation{ID: "p"}}, "2 fields set"},
		"entity id":       {Record{Entity: &Entity{Name: "A"}}, "the id is empty"},
		"entity text":     {Record{Entity: &Entity{ID: "a", Name: "\xff"}}, "not UTF-8"},
		"alias":           {Record{Entity: &Entity{ID: "a", Aliases: []string{"a", "\xff"}}}, "not UTF-8"},
		"long name":       {Record{Entity: &Entity{ID: "a", Name: strings.Repeat("x", MaxText+1)}}, "longer than 64 MiB"},
		"relation id":     {Record{Relation: &Relation{Label: "p"}}, "the id is empty"},
		"document id":     {Record{Document: &Document{Title: "T"}}, "the id is empty"},
		"sentence":        {Record{Document: &Document{ID: "d9", Sentences: []string{"\xff"}}}, "not UTF-8"},
		"other text":      {Record{Document: &Document{ID: "d1", Sentences: []string{"Three."}}}, "second time"},
		"other sentences": {Record{Document: &Document{ID: "d1", Sentences: []string{"One. Two."}}}, "second time"},
		"no subject":      {st(func(s *Statement) { s.Subject = "" }), "is empty"},
		"no predicate":    {st(func(s *Statement) { s.Predicate = "" }), "is empty"},
		"no object":       {st(func(s *Statement) { s.Object = "" }), "is empty"},
		"bad predicate":   {st(func(s *Statement) { s.Predicate = "\xff" }), "not UTF-8"},
		"bad subject":     {st(func(s *Statement) { s.Subject = "\xff" }), "not UTF-8"},
		"no document":     {st(func(s *Statement) { s.Doc = "" }), "spans without a document"},
		"span behind":     {st(func(s *Statement) { s.Spans[0].End = 10 }), "outside document d1, which has 9 bytes"},
		"span before":     {st(func(s *Statement) { s.Spans[0].Start = -1 }), "no byte range"},
		"empty span":      {st(func(s *Statement) { s.Spans[0] = Span{2, 2} }), "no byte range"},
		"property":        {st(func(s *Statement) { s.Qualifiers = []Qualifier{{"", "1"}} }), "without property"},
		"value":           {st(func(s *Statement) { s.Qualifiers = []Qualifier{{"start", "\xff"}} }), "not UTF-8"},
	} {
		err := b.Add(c.rec)
		var e *quarry.Error
		if !errors.As(err, &e) || e.Kind != quarry.KindInvalid || e.Hint == "" || e.Subject == "" || !strings.Contains(e.Msg, c.says) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, expected %q", name, err, c.says)
		}
	}
	if err := b.Add(st(func(s *Statement) { s.Qualifiers = []Qualifier{{"start", "1"}} })); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := b.Finish(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	g, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	sound(t, g)
	check(t, "edges", g.Edges(), 1)
	check(t, "qualifiers", g.Qualifiers(0), []Qualified{{0, []Qualifier{{"start", "1"}}}})
}

func TestFinishRefuses(t *testing.T) {
	b := NewBuilder()
	if _, err := b.Finish(context.Background(), t.TempDir()); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "no statement") {
		t.Errorf("nothing added: %v", err)
	}
	late := []Record{
		{Statement: &Statement{Subject: "a", Predicate: "p", Object: "b", Doc: "d", Spans: []Span{{0, 9}}}},
		{Document: &Document{ID: "d", Sentences: []string{"Short."}}},
	}
	for n, says := range []string{"has 0 bytes", "has 6 bytes"} { // without the document, and with it
		b := NewBuilder()
		for _, r := range late[:n+1] {
			if err := b.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		if _, err := b.Finish(context.Background(), dir); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("span outside: %v, expected %q", err, says)
		}
		if _, err := Open(dir); quarry.KindOf(err) != quarry.KindNotFound {
			t.Errorf("a refused build left a graph: %v", err)
		}
	}
	why := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	b = NewBuilder()
	b.Triple([]byte("a"), []byte("p"), []byte("b"))
	dir := t.TempDir()
	if _, err := b.Finish(ctx, dir); quarry.KindOf(err) != quarry.KindCanceled || !errors.Is(err, why) || strings.Contains(err.Error(), dir) {
		t.Errorf("cancelled: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("a cancelled build left %v, %v", files, err)
	}
}

func TestTooManyRelations(t *testing.T) {
	b := NewBuilder()
	for i := range csr.MaxRelations {
		if err := b.Triple([]byte("a"), fmt.Append(nil, "p", i), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Triple([]byte("a"), []byte("p0"), []byte("c")); err != nil {
		t.Errorf("a known relation: %v", err)
	}
	for _, err := range []error{b.Triple([]byte("a"), []byte("more"), []byte("b")), b.Add(Record{Relation: &Relation{ID: "more"}})} {
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "32768") {
			t.Errorf("one relation more: %v", err)
		}
	}
}

// Texts in a file and texts in memory make the same graph, and the file goes away.
func TestSpill(t *testing.T) {
	var digests []string
	for _, spilled := range []bool{false, true, true} {
		b, tmp := NewBuilder(), t.TempDir()
		if spilled {
			b.Spill(tmp)
			b.texts.limit = 1000
		}
		for i := range 40 {
			sentences := []string{strings.Repeat(fmt.Sprint("s", i, " "), i*9), "short"}
			if err := b.Add(Record{Statement: &Statement{Subject: "a", Predicate: "p", Object: fmt.Sprint(i), Doc: fmt.Sprint("d", 40-i), Spans: []Span{{0, 3}}}}); err != nil {
				t.Fatal(err)
			}
			if err := b.Add(Record{Document: &Document{ID: fmt.Sprint("d", i), Sentences: sentences}}); err != nil {
				t.Fatal(err)
			}
		}
		files, err := os.ReadDir(tmp)
		if err != nil || (len(files) == 1) != spilled || len(b.texts.tail) > 1000 && spilled {
			t.Fatalf("%v %v, %d bytes in memory", files, err, len(b.texts.tail))
		}
		if err := b.Add(Record{Statement: &Statement{Subject: "a", Predicate: "p", Object: "b", Doc: "d40", Spans: []Span{{0, 1}}}}); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(Record{Document: &Document{ID: "d40", Sentences: []string{"the last"}}}); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if len(digests) == 2 { // given up
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			m, err := b.Finish(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, m.Digest)
			faults, err := Fsck(context.Background(), dir)
			if err != nil || len(faults) > 0 {
				t.Fatal(faults, err)
			}
		}
		if files, err := os.ReadDir(tmp); err != nil || len(files) > 0 {
			t.Fatalf("left behind: %v %v", files, err)
		}
	}
	if digests[0] != digests[1] {
		t.Fatal(digests)
	}
}

// Aliases that come again and again are dropped now and then, and their order stays.
func TestAliasesAreBounded(t *testing.T) {
	b := NewBuilder()
	b.repack = 100
	for i := range 5000 {
		if err := b.Add(Record{Entity: &Entity{ID: fmt.Sprint("e", i%3), Name: "N", Aliases: []string{fmt.Sprint("a", i%7), "z"}}}); err != nil {
			t.Fatal(err)
		}
		if len(b.aliases) > 103 {
			t.Fatalf("%d aliases after %d records", len(b.aliases), i+1)
		}
	}
	if err := b.Triple([]byte("e0"), []byte("p"), []byte("e1")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := b.Finish(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	g, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	check(t, "aliases", g.Aliases(0), []string{"a0", "z", "a3", "a6", "a2", "a5", "a1", "a4"})
}

// The table agrees with a map over many strings of many lengths, through growth and chunks.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tab, want := newTable(), map[string]uint32{}
	var order []string
	for range 60_000 {
		n := r.IntN(12)
		if r.IntN(1000) == 0 {
			n = r.IntN(1 << 16)
		}
		s := strings.Repeat(string(rune('a'+r.IntN(4))), n) + fmt.Sprint(r.IntN(20_000))
		if r.IntN(20_000) == 0 {
			s = strings.Repeat(s, chunkSize/len(s)+2)
		}
		if _, ok := want[s]; !ok {
			if tab.has([]byte(s)) {
				t.Fatalf("%.20q is known before it came", s)
			}
			want[s] = uint32(len(want))
			order = append(order, s)
		}
		if got, bad := tab.intern([]byte(s)); bad != "" || got != want[s] {
			t.Fatalf("%.20q is %d %q, expected %d", s, got, bad, want[s])
		}
	}
	var all bytes.Buffer
	if err := tab.writeBytes(&all); err != nil {
		t.Fatal(err)
	}
	off := tab.offsets()
	if tab.len() != len(order) || all.String() != strings.Join(order, "") || off[len(order)] != uint64(all.Len()) {
		t.Fatalf("%d strings of %d bytes, expected %d", tab.len(), all.Len(), len(order))
	}
	for i, s := range order {
		if tab.string(uint32(i)) != s || string(piece(all.Bytes(), off, uint32(i))) != s {
			t.Fatalf("string %d is %.20q, expected %.20q", i, tab.string(uint32(i)), s)
		}
	}
}

func TestKnownIDsAreFree(t *testing.T) {
	b := NewBuilder()
	s, p, o := []byte("http://example.org/s"), []byte("http://example.org/p"), []byte("http://example.org/o")
	for range 1024 { // the list's first chunks
		if err := b.Triple(s, p, o); err != nil {
			t.Fatal(err)
		}
	}
	b.edges.chunks[0] = slices.Grow(b.edges.chunks[0], 1000)
	if n := testing.AllocsPerRun(100, func() {
		if err := b.Triple(s, p, o); err != nil {
			t.Fatal(err)
		}
		if err := b.Triple(o, p, s); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations a statement", n)
	}
}

// A machine of the other byte order decodes instead of casting: both give the same.
func TestCast(t *testing.T) {
	b := aligned(48)
	for i := range b {
		b[i] = byte(i*37 + 11)
	}
	u16, ok16 := view[csr.Step](b)
	u32, ok32 := view[uint32](b)
	u64, ok64 := view[uint64](b)
	if !ok16 || !ok32 || !ok64 || !slices.Equal(u16, decode[csr.Step](b, 2)) || !slices.Equal(u32, decode[uint32](b, 4)) || !slices.Equal(u64, decode[uint64](b, 8)) {
		t.Error("decode differs from the cast")
	}
	if !bytes.Equal(encode(u16, 2), b) || !bytes.Equal(encode(u32, 4), b) || !bytes.Equal(encode(u64, 8), b) || !bytes.Equal(raw(u32), b) {
		t.Error("encode differs from the cast")
	}
	if u, ok := view[uint32](b[1:41]); !ok || !slices.Equal(u, decode[uint32](b[1:41], 4)) {
		t.Error("bytes that are not aligned")
	}
	if _, ok := view[uint32](b[:7]); ok {
		t.Error("seven bytes are no whole number of items")
	}
	if u, ok := view[uint64](nil); !ok || len(u) != 0 || raw(u) != nil || aligned(0) != nil || len(bytesOf("")) != 0 {
		t.Error("nothing is nothing")
	}
}
