package worldgen

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string // in the error; "" is none
	}{
		"least":          {Options{Documents: 100}, ""},
		"most":           {Options{Documents: 1_000_000, Lang: Both, Extra: MaxExtra, Distractors: MaxDistractors}, ""},
		"few":            {Options{Documents: 99}, "100 to 1000000"},
		"many":           {Options{Documents: 1_000_001}, "100 to 1000000"},
		"language":       {Options{Documents: 100, Lang: "de"}, `"de"`},
		"names":          {Options{Documents: 100, Names: "words:3"}, `"words:3"`},
		"extra":          {Options{Documents: 100, Extra: MaxExtra + 1}, "0 to 24"},
		"no extra":       {Options{Documents: 100, Extra: -1}, "0 to 24"},
		"distractors":    {Options{Documents: 100, Distractors: 9}, "0 to 8"},
		"words":          {Options{Documents: MaxTwoWords, Names: TwoWords}, ""},
		"too many words": {Options{Documents: MaxTwoWords + 1, Names: TwoWords}, "131072 pairs"},
		"words twice":    {Options{Documents: 2 * MaxTwoWords, Names: TwoWords, Lang: Both}, ""},
	} {
		_, err := New(c.o)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), c.want) || quarry.HintOf(err) == "" {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

const goldenWorld = "c8178b43c4907bc4"

// digest is a sink that hashes.
type digest struct{ hash.Hash }

func (d digest) Add(r store.Record) error { return json.NewEncoder(d).Encode(r) }

func sum(t *testing.T, o Options, concurrency int) string {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	d := digest{sha256.New()}
	if err := w.Write(context.Background(), d, concurrency); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", d.Sum(nil)[:8])
}

func TestSameBytes(t *testing.T) {
	seen := map[string]Options{}
	for _, o := range []Options{
		{Documents: 1100},
		{Seed: 1, Documents: 1100},
		{Seed: 1, Documents: 1100, Lang: Chinese},
		{Seed: 1, Documents: 2301, Lang: Both, Distractors: 2},
		{Seed: 1, Documents: 1100, Names: TwoWords},
		{Seed: 1, Documents: 1100, Extra: 3},
	} {
		one := sum(t, o, 1)
		for _, c := range []int{64} {
			if got := sum(t, o, c); got != one {
				t.Errorf("%+v: %s at concurrency %d, %s at 1", o, got, c, one)
			}
		}
		if twin, ok := seen[one]; ok {
			t.Errorf("%+v and %+v are the same world", o, twin)
		}
		seen[one] = o
	}
	// A world is its seed: whoever made questions of one must get it again.
	if got, want := sum(t, Options{Seed: 7, Documents: 1000, Lang: Both, Distractors: 1}, 2), goldenWorld; got != want {
		t.Errorf("world 7 is %s, was %s", got, want)
	}
}

// An entity's records depend on nothing that was made before it.
func TestAlone(t *testing.T) {
	w, all := generate(t, Options{Seed: 5, Documents: 700})
	for _, i := range []int{699, 0, 123, 13, 400} {
		alone := w.writer()
		alone.entity(i)
		for _, r := range alone.out {
			if d := r.Document; d != nil && !slices.Equal(d.Sentences, all.documents[d.ID].Sentences) {
				t.Errorf("entity %d alone: %q", i, d.Sentences)
			}
		}
	}
}

type failing struct{ after int }

var errFull = errors.New("full")

func (f *failing) Add(store.Record) error {
	if f.after--; f.after < 0 {
		return errFull
	}
	return nil
}

func TestStop(t *testing.T) {
	w, err := New(Options{Documents: 5000})
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{0, 5, 25, 20_000} {
		if err := w.Write(context.Background(), &failing{after}, 4); !errors.Is(err, errFull) {
			t.Errorf("after %d: %v", after, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := w.Write(ctx, &failing{1 << 30}, 4); quarry.KindOf(err) != quarry.KindCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// Every world, whatever its options: sentences are exact evidence, statements agree with each other and with time.
func TestConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Seed:        rapid.Uint64().Draw(t, "seed"),
			Documents:   rapid.IntRange(100, 400).Draw(t, "documents"),
			Lang:        rapid.SampledFrom([]Lang{English, Chinese, Both}).Draw(t, "lang"),
			Names:       rapid.SampledFrom([]Names{Syllables, TwoWords}).Draw(t, "names"),
			Extra:       rapid.SampledFrom([]int{0, 0, 0, 1, 15}).Draw(t, "extra"),
			Distractors: rapid.IntRange(0, 3).Draw(t, "distractors"),
		}
		w, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		r := &records{entities: map[string]*store.Entity{}, relations: map[string]*store.Relation{}, documents: map[string]*store.Document{}}
		if err := w.Write(context.Background(), r, 2); err != nil {
			t.Fatal(err)
		}
		if len(r.documents) != o.Documents || len(r.relations) != 20 || len(r.order) != w.Entities() {
			t.Fatalf("%d documents, %d relations, %d entities", len(r.documents), len(r.relations), len(r.order))
		}
		checkArticles(t, o, r)
		checkStatements(t, r)
	})
}

func checkArticles(t *rapid.T, o Options, r *records) {
	perDoc := map[string]int{}
	for _, s := range r.statements {
		d := r.documents[s.Doc]
		text := strings.Join(d.Sentences, " ")
		if len(s.Spans) != 1 || s.Spans[0].End > len(text) {
			t.Fatalf("%v: spans %v of %d bytes", s, s.Spans, len(text))
		}
		span := text[s.Spans[0].Start:s.Spans[0].End]
		if !slices.Contains(d.Sentences, span) {
			t.Fatalf("%v: %q is no sentence of its article", s, span)
		}
		for _, id := range []string{s.Subject, s.Object} {
			e := r.entities[id]
			form := e.Name
			if strings.HasSuffix(s.Doc, "-zh") && e.NameZH != "" {
				form = e.NameZH
			}
			if !strings.Contains(span, form) {
				t.Fatalf("%q does not name %s, %s", span, id, form)
			}
		}
		for _, q := range s.Qualifiers {
			if !strings.Contains(span, q.Value) {
				t.Fatalf("%q does not say %v", span, q)
			}
		}
		if strings.ContainsAny(span, "{}") {
			t.Fatalf("%q has a slot left", span)
		}
		perDoc[s.Doc]++
	}
	for id, d := range r.documents {
		n := perDoc[id]
		if n < 4 || n > 8+o.Extra {
			t.Fatalf("%s has %d statements: %q", id, n, d.Sentences)
		}
		if len(d.Sentences) != n+o.Distractors {
			t.Fatalf("%s has %d sentences for %d statements", id, len(d.Sentences), n)
		}
		e := r.entities["e"+id[1:8]]
		if want := map[string]string{"en": e.Name, "zh": e.NameZH}[id[9:]]; d.Title != want && (o.Names != TwoWords || d.Title != e.Name) {
			t.Fatalf("%s has title %q, its entity is %q", id, d.Title, want)
		}
	}
}

// year of a literal or a qualifier; 0 for none.
func year(s string) int {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "TIME:"), "-")
	n, _ := strconv.Atoi(s)
	return n
}

func qual(s *store.Statement, property string) int {
	for _, q := range s.Qualifiers {
		if q.Property == property {
			return year(q.Value)
		}
	}
	return 0
}

func checkStatements(t *rapid.T, r *records) {
	table := map[string]Relation{}
	for _, x := range Relations() {
		table[x.ID] = x
	}
	objects := map[[2]string]map[string]bool{} // by subject and relation
	born, founded, released := map[string]int{}, map[string]int{}, map[string]int{}
	for _, s := range r.statements {
		k := [2]string{s.Subject, s.Predicate}
		if objects[k] == nil {
			objects[k] = map[string]bool{}
		}
		objects[k][s.Object] = true
		switch s.Predicate {
		case "born_on":
			born[s.Subject] = year(s.Object)
		case "founded_in":
			founded[s.Subject] = year(s.Object)
		case "released_in", "held_on":
			released[s.Subject] = year(s.Object)
		}
	}
	seen := map[string]bool{}
	offices := map[string][][2]int{}
	for _, s := range r.statements {
		rel := table[s.Predicate]
		sub, obj := r.entities[s.Subject], r.entities[s.Object]
		if !slices.Contains(rel.Subjects, sub.Type) || rel.Object != obj.Type || s.Subject == s.Object {
			t.Fatalf("%v: %s to %s", s, sub.Type, obj.Type)
		}
		if key := fmt.Sprint(s.Doc, s.Predicate, s.Object); seen[key] {
			t.Fatalf("%v is said twice", s)
		} else {
			seen[key] = true
		}
		if n := len(objects[[2]string{s.Subject, s.Predicate}]); rel.Functional && n != 1 {
			t.Fatalf("%v: %d objects", s, n)
		}
		if rel.Symmetric && !objects[[2]string{s.Object, s.Predicate}][s.Subject] {
			t.Fatalf("%v is not said of %s", s, s.Object)
		}
		for _, q := range s.Qualifiers {
			if !slices.Contains(rel.Qualifiers, q.Property) {
				t.Fatalf("%v: qualifier %v", s, q)
			}
		}
		start, end, at := qual(s, store.QualStart), qual(s, store.QualEnd), qual(s, store.QualAt)
		if end != 0 && end < start || max(start, end, at) > now || slices.Contains(rel.Qualifiers, store.QualStart) && start == 0 {
			t.Fatalf("%v ends before it starts, or later than now", s)
		}
		within := func(what string, year, from, to int) {
			if year < from || year > to {
				t.Fatalf("%v: %s is %d, expected %d to %d", s, what, year, from, to)
			}
		}
		until := max(start, end)
		switch s.Predicate {
		case "studied_at", "worked_for":
			within("age at the start", start-born[s.Subject], 16, 65)
			within("age at the end", until-born[s.Subject], 16, 85)
			within("age of the organisation", start-founded[s.Object], 1, 1000)
		case "married_to":
			within("age", start-born[s.Subject], 18, 60)
		case "student_of":
			within("teacher's age", born[s.Subject]-born[s.Object], 15, 50)
		case "founded_by":
			within("founder's age", founded[s.Subject]-born[s.Object], 20, 70)
		case "led_by":
			within("leader's age at the start", start-born[s.Object], 25, 75)
			within("leader's age at the end", until-born[s.Object], 25, oldest)
			within("age of what is led", start-founded[s.Subject], 1, 2000)
			if end == 0 {
				end = now
			}
			offices[s.Doc] = append(offices[s.Doc], [2]int{start, end})
		case "created_by":
			within("creator's age", released[s.Subject]-born[s.Object], 20, 70)
		case "attended_by":
			within("guest's age", at-born[s.Object], 18, 85)
			within("year", at, released[s.Subject], released[s.Subject])
		case "published_by":
			within("age of the publisher", released[s.Subject]-founded[s.Object], 1, 1000)
		case "based_in", "held_in", "born_in":
			within("age of the city", max(founded[s.Subject], released[s.Subject], born[s.Subject])-founded[s.Object], 0, 1200)
		}
	}
	for doc, terms := range offices {
		slices.SortFunc(terms, func(a, b [2]int) int { return a[0] - b[0] })
		for i := 1; i < len(terms); i++ {
			if terms[i][0] < terms[i-1][1] {
				t.Fatalf("%s has two leaders at once: %v", doc, terms)
			}
		}
	}
}
