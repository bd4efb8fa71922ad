package worldgen

import (
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry/kg/store"
)

// template is text with slots.
type template []piece

type piece struct {
	text string
	slot byte // s, o, a, b, or 0
}

// parse reads slots as {s}.
func parse(text string) template {
	var t template
	for {
		i := strings.IndexByte(text, '{')
		if i < 0 || i+2 >= len(text) {
			return append(t, piece{text: text})
		}
		t = append(t, piece{text: text[:i]}, piece{slot: text[i+1]})
		text = text[i+3:]
	}
}

// wording is a relation ready to be written: sentences by language, without and with an end.
type wording struct {
	id           string
	closed, open [2][]template
}

func wordings() []wording {
	var out []wording
	for _, r := range Relations() {
		s := r.Said
		out = append(out, wording{id: r.ID, closed: [2][]template{parsed(s.EN), parsed(s.ZH)}, open: [2][]template{parsed(s.OpenEN), parsed(s.OpenZH)}})
	}
	return out
}

func parsed(texts []string) []template {
	var out []template
	for _, t := range texts {
		out = append(out, parse(t))
	}
	return out
}

// name is an entity in both languages.
type name [2]string

const (
	en = iota
	zh
)

// writer makes the records of entities. It holds scratch space: one per goroutine.
type writer struct {
	w     *World
	facts facts
	idle  [2][]template
	buf   []byte
	out   []store.Record
}

func (w *World) writer() *writer {
	s := idle()
	return &writer{w: w, facts: facts{w: w}, idle: [2][]template{parsed(s.EN), parsed(s.ZH)}}
}

// entity appends the records of entity i: itself, the values its statements need, then each article and what it states.
func (t *writer) entity(i int) {
	k, n := t.w.kindOf(i)
	e := t.w.entity(k, n)
	t.out = append(t.out, store.Record{Entity: e})
	list := t.facts.of(i)
	objects := make([]name, len(list))
	ids := make([]string, len(list))
	for j := range list {
		if f := &list[j]; f.object < 0 {
			v := f.value.entity()
			t.out = append(t.out, store.Record{Entity: v})
			ids[j], objects[j] = v.ID, name{v.Name, v.NameZH}
		} else {
			ids[j], objects[j] = EntityID(f.object), t.w.name(f.object)
		}
	}
	subject := name{e.Name, e.NameZH}
	if e.NameZH == "" {
		subject[zh] = e.Name
	}
	if l := t.w.o.Lang; l == English || l == Both {
		t.article(i, en, subject, e.Aliases, list, ids, objects)
	}
	if l := t.w.o.Lang; l == Chinese || l == Both && 2*i+1 < t.w.o.Documents {
		t.article(i, zh, subject, e.Aliases, list, ids, objects)
	}
}

// name of entity i as articles of each language write it.
func (w *World) name(i int) name {
	k, n := w.kindOf(i)
	e, z := w.names.of(w, k, n, false)
	return name{e, z}
}

func (t *writer) article(i, lang int, subject name, aliases []string, list []fact, ids []string, objects []name) {
	r := t.w.stream(i, aboutText+purpose(lang)<<20)
	tag := [2]string{"en", "zh"}[lang]
	d := &store.Document{ID: pad('d', i) + "-" + tag, Title: subject[lang]}
	d.URL = "https://world.example/" + tag + "/" + EntityID(i)
	d.Sentences = make([]string, 0, len(list)+t.w.o.Distractors)
	spans := make([]store.Span, len(list))
	at := 0
	put := func(s string) (span store.Span) {
		d.Sentences = append(d.Sentences, s)
		span = store.Span{Start: at, End: at + len(s)}
		at += len(s) + 1
		return span
	}
	loose := t.w.o.Distractors
	for j := range list {
		for left := len(list) - j; loose > 0 && r.intn(left+loose) < loose; loose-- {
			put(t.distractor(&r, lang, subject))
		}
		s := subject[lang]
		if j == 0 && len(aliases) > 0 {
			s = [2]string{s + ", also known as " + aliases[en] + ",", s + "（又名" + aliases[zh] + "）"}[lang]
		}
		spans[j] = put(t.sentence(&r, lang, s, objects[j][lang], &list[j]))
	}
	for ; loose > 0; loose-- {
		put(t.distractor(&r, lang, subject))
	}
	t.out = append(t.out, store.Record{Document: d})
	for j := range list {
		f := &list[j]
		t.out = append(t.out, store.Record{Statement: &store.Statement{Subject: EntityID(i), Predicate: t.w.relations[f.rel].id, Object: ids[j], Doc: d.ID,
			Spans: spans[j : j+1 : j+1], Qualifiers: f.qualifiers()}})
	}
}

func (t *writer) sentence(r *random, lang int, s, o string, f *fact) string {
	ways := t.w.relations[f.rel].closed[lang]
	if open := t.w.relations[f.rel].open[lang]; f.end == 0 && len(open) > 0 {
		ways = open
	}
	return t.fill(ways[r.intn(len(ways))], s, o, f.start+f.at, f.end)
}

func (t *writer) distractor(r *random, lang int, subject name) string {
	way := t.idle[lang][r.intn(len(t.idle[lang]))]
	return t.fill(way, subject[lang], t.w.name(r.intn(t.w.entities))[lang], 0, 0)
}

func (t *writer) fill(way template, s, o string, a, b int) string {
	t.buf = t.buf[:0]
	for _, p := range way {
		switch p.slot {
		case 's':
			t.buf = append(t.buf, s...)
		case 'o':
			t.buf = append(t.buf, o...)
		case 'a':
			t.buf = strconv.AppendInt(t.buf, int64(a), 10)
		case 'b':
			t.buf = strconv.AppendInt(t.buf, int64(b), 10)
		default:
			t.buf = append(t.buf, p.text...)
		}
	}
	return string(t.buf)
}

func (f *fact) qualifiers() []store.Qualifier {
	var q []store.Qualifier
	for _, x := range [...]struct {
		property string
		year     int
	}{{store.QualStart, f.start}, {store.QualEnd, f.end}, {store.QualAt, f.at}} {
		if x.year != 0 {
			q = append(q, store.Qualifier{Property: x.property, Value: strconv.Itoa(x.year)})
		}
	}
	return q
}

var months = [...]string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// entity is a value as a node: the id holds it as written by every reader of graphs, the names are what articles say.
func (v value) entity() *store.Entity {
	num := strconv.Itoa
	switch {
	case v.year == 0:
		return &store.Entity{ID: store.TypeNumber + ":" + num(v.number), Name: num(v.number), NameZH: num(v.number), Type: store.TypeNumber}
	case v.month == 0:
		y := pad4(v.year)
		return &store.Entity{ID: store.TypeTime + ":" + y, Name: num(v.year), NameZH: num(v.year) + "年", Type: store.TypeTime}
	}
	iso := pad4(v.year) + "-" + num(100 + v.month)[1:] + "-" + num(100 + v.day)[1:]
	return &store.Entity{ID: store.TypeTime + ":" + iso, Name: num(v.day) + " " + months[v.month] + " " + num(v.year),
		NameZH: num(v.year) + "年" + num(v.month) + "月" + num(v.day) + "日", Aliases: []string{iso}, Type: store.TypeTime}
}

func pad4(year int) string { return strconv.Itoa(10_000 + year)[1:] }
