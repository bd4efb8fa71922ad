package ingest

import (
	"bytes"
	"strconv"
)

// snak reads a property's value, main that of a statement. Without one that is kept, reason says why.
func (w *wikidata) snak(main bool) (v value, ok bool, reason string) {
	s := &w.s
	var snaktype, datatype, kind []byte
	at := -1
	for in := s.object(); in && s.more('}'); {
		switch string(s.key()) {
		case "snaktype":
			snaktype = s.text()
		case "datatype":
			datatype = s.text()
		case "datavalue":
			for in := s.object(); in && s.more('}'); {
				switch string(s.key()) {
				case "value":
					s.blanks()
					at = s.i
					s.skip()
				case "type":
					kind = s.text()
				default:
					s.skip()
				}
			}
		default:
			s.skip()
		}
	}
	if s.f != nil {
		return value{}, false, ""
	}
	if string(snaktype) == "somevalue" || string(snaktype) == "novalue" {
		return value{}, false, "statement whose value is unknown or none"
	}
	if at < 0 {
		return value{}, false, "statement without a value"
	}
	if main {
		switch string(datatype) { // identifiers elsewhere and files tell nothing about the world
		case "external-id", "commonsMedia", "math", "musical-notation", "geo-shape", "tabular-data", "entity-schema", "url":
			return value{}, false, "value of datatype " + string(datatype)
		}
	}
	after := s.i
	s.i = at
	v, ok, reason = w.value(kind)
	s.i = after
	s.fresh = false
	return v, ok, reason
}

// value reads a datavalue of a kind; the scanner stands at it.
func (w *wikidata) value(kind []byte) (v value, ok bool, reason string) {
	s := &w.s
	switch string(kind) {
	case "wikibase-entityid":
		var id, typ, number []byte
		for in := s.object(); in && s.more('}'); {
			switch string(s.key()) {
			case "id":
				id = s.text()
			case "entity-type":
				typ = s.text()
			case "numeric-id":
				number = s.raw()
			default:
				s.skip()
			}
		}
		v.id = entityID(id, typ, number)
		v.name = v.id
		if len(v.id) == 0 {
			s.fail("expected an entity value with \"id\" or \"numeric-id\", found neither")
		}
		return v, s.f == nil, ""
	case "time":
		return w.time()
	case "quantity":
		return w.quantity()
	case "monolingualtext":
		var text, lang []byte
		for in := s.object(); in && s.more('}'); {
			switch string(s.key()) {
			case "text":
				text = s.text()
			case "language":
				lang = s.text()
			default:
				s.skip()
			}
		}
		switch {
		case len(text) > maxText:
			return v, false, leftText
		case rankOf(lang) == langOther:
			return v, false, leftOther
		}
		return w.compose(TypeText, text, append([]byte{'@'}, lang...)), s.f == nil, ""
	case "string":
		text := s.text()
		if len(text) > maxText {
			return v, false, leftText
		}
		return w.compose(TypeText, text, nil), s.f == nil && len(text) > 0, "statement without a value"
	}
	return v, false, "value of kind " + string(kind)
}

func (w *wikidata) time() (v value, ok bool, reason string) {
	s := &w.s
	var time, precision []byte
	for in := s.object(); in && s.more('}'); {
		switch string(s.key()) {
		case "time":
			time = s.text()
		case "precision":
			precision = s.raw()
		default:
			s.skip()
		}
	}
	if s.f != nil {
		return v, false, ""
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(precision)))
	if err != nil {
		s.fail("expected a time with a precision, found %q", precision)
		return v, false, ""
	}
	text, exact, ok := wikiTime(time, n)
	if !ok {
		s.fail("expected a time such as +1952-03-11T00:00:00Z, found %q", time)
		return v, false, ""
	}
	v = w.compose(TypeTime, []byte(text), nil)
	v.exact = exact
	return v, true, ""
}

func (w *wikidata) quantity() (v value, ok bool, reason string) {
	s := &w.s
	var amount, unit []byte
	for in := s.object(); in && s.more('}'); {
		switch string(s.key()) {
		case "amount":
			if s.is('"') {
				amount = s.str()
			} else { // a plain number in old dumps
				amount = bytes.TrimSpace(s.raw())
			}
		case "unit":
			unit = s.text()
		default:
			s.skip()
		}
	}
	if s.f != nil {
		return v, false, ""
	}
	amount = bytes.TrimPrefix(amount, []byte("+"))
	if _, err := strconv.ParseFloat(string(amount), 64); err != nil {
		s.fail("expected a quantity with a decimal amount, found %q", amount)
		return v, false, ""
	}
	if len(unit) > 0 && string(unit) != "1" {
		if i := bytes.LastIndexByte(unit, '/'); i >= 0 {
			unit = unit[i+1:]
		}
		amount = append(append(bytes.Clone(amount), ' '), unit...)
	}
	return w.compose(TypeNum, amount, nil), true, ""
}
