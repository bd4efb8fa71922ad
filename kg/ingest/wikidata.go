package ingest

import (
	"bytes"
	"strconv"

	"github.com/quarry-rl/quarry/kg/store"
)

// wikidata reads lines of the JSON dump of Wikidata: an array with one entity a line, or the lines alone.
type wikidata struct {
	s jscan

	id, kind []byte
	about    labels
	claims   []claim
	quals    []qualifier
	class    []byte // of the best instance-of claim
	classTop bool   // it has preferred rank
}

// claim is one statement of an entity.
type claim struct {
	property []byte
	value    value
	lo, hi   int // qualifiers
}

// value is the object of a claim or a qualifier. typ is "" for an entity, else the type of a literal.
type value struct {
	id, name []byte
	typ      string
	exact    bool // a time that is a year, a month or a day
}

type qualifier struct {
	property, value []byte
	exact           bool
}

// The properties with a meaning of their own.
const (
	propInstanceOf = "P31"
	propStart      = "P580"
	propEnd        = "P582"
	propAt         = "P585"
	propMethod     = "P459" // determination method
	propRefURL     = "P854"
	propStatedIn   = "P248"
)

func (r *run) readWikidata(in *input) error {
	w := &wikidata{}
	return r.each(in, func(_ int, line []byte) error {
		line = bytes.Trim(line, " \t\r")
		if len(line) == 0 || len(line) == 1 && (line[0] == '[' || line[0] == ']') {
			return nil
		}
		if line[0] == '[' { // the array's bracket may stand before the first entity, or after the last
			line = line[1:]
		}
		if n := len(line); n > 1 && line[n-1] == ']' && line[n-2] == '}' {
			line = line[:n-1]
		}
		line = bytes.TrimSuffix(line, []byte(","))
		if err := w.parse(r, line); err != nil {
			return err
		}
		return w.send(r)
	})
}

// parse reads one entity; nothing is sent before the whole line is known to be good.
func (w *wikidata) parse(r *run, line []byte) error {
	*w = wikidata{s: jscan{b: line, scratch: w.s.scratch[:0]}, claims: w.claims[:0], quals: w.quals[:0]}
	s := &w.s
	claims := -1
	for ok := s.enter('{', "an entity as a JSON object"); ok && s.more('}'); {
		switch string(s.key()) {
		case "id":
			w.id = s.text()
		case "type":
			w.kind = s.text()
		case "labels":
			w.languages(true, func(v []byte, rank langRank) { w.about.label(v, rank) })
		case "descriptions":
			w.languages(false, func(v []byte, rank langRank) { w.about.description(v, rank) })
		case "aliases":
			w.languages(false, func(v []byte, rank langRank) { w.about.alias(v, rank) })
		case "claims", "statements":
			s.blanks()
			claims = s.i
			s.skip()
		default:
			s.skip()
		}
	}
	s.end()
	if s.f == nil && len(w.id) == 0 {
		return faultf("expected an entity with \"id\", found none")
	}
	if s.f == nil && claims >= 0 {
		s.i = claims
		w.properties(r)
	}
	if s.f != nil {
		return s.f
	}
	return nil
}

// languages reads {"en": {"language": "en", "value": "..."}} or, for aliases, arrays of such objects. Languages that
// are not kept are passed over; as a fallback the first of them is handed to add.
func (w *wikidata) languages(fallback bool, add func([]byte, langRank)) {
	s := &w.s
	for ok := s.object(); ok && s.more('}'); {
		rank := rankOf(s.key())
		if rank == langOther && !(fallback && w.about.other == "") {
			s.skip()
			continue
		}
		if s.is('[') {
			for ok := s.array(); ok && s.more(']'); {
				add(w.term(), rank)
			}
			continue
		}
		add(w.term(), rank)
	}
}

func (w *wikidata) term() (v []byte) {
	s := &w.s
	for ok := s.object(); ok && s.more('}'); {
		if string(s.key()) == "value" {
			v = s.text()
		} else {
			s.skip()
		}
	}
	return v
}

// properties reads {"P31": [statement, ...], ...}.
func (w *wikidata) properties(r *run) {
	s := &w.s
	for ok := s.object(); ok && s.more('}'); {
		property := s.key()
		for ok := s.array(); ok && s.more(']'); {
			w.claim(r, property)
		}
	}
}

func (w *wikidata) claim(r *run, property []byte) {
	s := &w.s
	var rank []byte
	c := claim{property: property, lo: len(w.quals)}
	ok := false
	reason := "statement without a value"
	for in := s.object(); in && s.more('}'); {
		switch string(s.key()) {
		case "rank":
			rank = s.text()
		case "mainsnak":
			c.value, ok, reason = w.snak(true)
		case "qualifiers":
			for in := s.object(); in && s.more('}'); {
				p := s.key()
				w.snaks(p)
			}
		case "references":
			for in := s.array(); in && s.more(']'); {
				w.reference()
			}
		default:
			s.skip()
		}
	}
	if s.f != nil {
		return
	}
	if ok && string(rank) == "deprecated" {
		ok, reason = false, "statement of deprecated rank"
	}
	if ok && r.opt.DropLiterals && c.value.typ != "" {
		ok, reason = false, leftLit
	}
	if !ok {
		w.quals = w.quals[:c.lo]
		r.left(reason)
		return
	}
	c.hi = len(w.quals)
	w.claims = append(w.claims, c)
	top := string(rank) == "preferred"
	if string(property) == propInstanceOf && c.value.typ == "" && (w.class == nil || top && !w.classTop) {
		w.class, w.classTop = c.value.id, top
	}
}

// snaks reads the values of one qualifier.
func (w *wikidata) snaks(property []byte) {
	s := &w.s
	for in := s.array(); in && s.more(']'); {
		if v, ok, _ := w.snak(false); ok {
			text := v.name
			if v.typ == "" {
				text = v.id
			}
			w.quals = append(w.quals, qualifier{property, text, v.exact})
		}
	}
}

// reference keeps where a statement is from: a URL or the work it is stated in.
func (w *wikidata) reference() {
	s := &w.s
	for in := s.object(); in && s.more('}'); {
		if string(s.key()) != "snaks" {
			s.skip()
			continue
		}
		for in := s.object(); in && s.more('}'); {
			p := s.key()
			if string(p) == propRefURL || string(p) == propStatedIn {
				w.snaks(p)
			} else {
				s.skip()
			}
		}
	}
}

// send hands the entity and its statements to the sink.
func (w *wikidata) send(r *run) error {
	if string(w.kind) == "property" {
		if err := r.relation(w.about.relation(string(w.id))); err != nil {
			return err
		}
	} else {
		w.about.typ = string(w.class)
		if err := r.entity(w.about.entity(string(w.id))); err != nil {
			return err
		}
	}
	for i := range w.claims {
		c := &w.claims[i]
		if c.value.typ != "" {
			if err := r.literal(c.value.id, c.value.name, c.value.typ); err != nil {
				return err
			}
		}
		var err error
		if c.lo == c.hi {
			err = r.triple(w.id, c.property, c.value.id)
		} else {
			err = r.statement(&store.Statement{Subject: string(w.id), Predicate: string(c.property), Object: string(c.value.id),
				Qualifiers: w.qualifiers(c)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *wikidata) qualifiers(c *claim) []store.Qualifier {
	out := make([]store.Qualifier, 0, c.hi-c.lo)
	for _, q := range w.quals[c.lo:c.hi] {
		p := string(q.property)
		switch {
		case p == propMethod:
			p = store.QualMethod
		case !q.exact: // a century is no YYYY: it stays under the source's own property
		case p == propStart:
			p = store.QualStart
		case p == propEnd:
			p = store.QualEnd
		case p == propAt:
			p = store.QualAt
		}
		out = append(out, store.Qualifier{Property: p, Value: string(q.value)})
	}
	return out
}

// compose puts a literal's id and its name within it into scratch.
func (w *wikidata) compose(typ string, name, suffix []byte) value {
	at := len(w.s.scratch)
	b := append(append(w.s.scratch, typ...), ':')
	from := len(b)
	b = append(b, name...)
	to := len(b)
	b = append(b, suffix...)
	w.s.scratch = b
	return value{id: b[at:len(b):len(b)], name: b[from:to:to], typ: typ}
}

// entityID is the id of an entity value; old dumps have its number only.
func entityID(id, kind, number []byte) []byte {
	if len(id) > 0 {
		return id
	}
	if n, err := strconv.ParseUint(string(number), 10, 63); err == nil && n > 0 {
		letter := byte('Q')
		if string(kind) == "property" {
			letter = 'P'
		}
		return strconv.AppendUint([]byte{letter}, n, 10)
	}
	return nil
}
