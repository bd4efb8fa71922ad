package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// scan reads all statements of a line in the form KIND:value@lang^type, parts by blanks.
func scan(line string, graphs bool) (out []string, f *fault) {
	var x rdfScanner
	var q quad
	if !x.start([]byte(line)) {
		return nil, x.fault
	}
	for x.next(&q, graphs) {
		var s []string
		for _, t := range []term{q.s, q.p, q.o, q.g} {
			if t.kind == 0 {
				continue
			}
			v := fmt.Sprintf("%d:%s", t.kind, t.value)
			if t.lang != nil {
				v += "@" + string(t.lang)
			}
			if t.datatype != nil {
				v += "^" + string(t.datatype)
			}
			s = append(s, v)
		}
		out = append(out, strings.Join(s, " "))
	}
	return out, x.fault
}

func TestScanAccepts(t *testing.T) {
	const sp = "1:http://e/s 1:http://e/p "
	for in, want := range map[string]string{
		`<http://e/s> <http://e/p> <http://e/o> .`:                                   sp + "1:http://e/o",
		`<http://e/s><http://e/p><http://e/o>.`:                                      sp + "1:http://e/o",
		"\t<http://e/s>\t<http://e/p>\t<http://e/o>\t.\t# comment <>":                sp + "1:http://e/o",
		`<http://e/s> <http://e/p> "" .`:                                             sp + "3:",
		`<http://e/s> <http://e/p> "a\tb\bc\nd\re\ff\"g\'h\\i" .`:                    sp + "3:a\tb\bc\nd\re\ff\"g'h\\i",
		`<http://e/s> <http://e/p> "\u00e9\U0001F600\u0041" .`:                       sp + "3:é😀A",
		`<http://e/s> <http://e/p> "\uD83D\uDE00" .`:                                 sp + "3:😀",
		`<http://e/s> <http://e/p> "x'y.z #no" .`:                                    sp + "3:x'y.z #no",
		`<http://e/s> <http://e/p> "tail\\" .`:                                       sp + `3:tail\`,
		`<http://e/s> <http://e/p> "chat"@en-US .`:                                   sp + "3:chat@en-US",
		`<http://e/s> <http://e/p> "5"^^<http://www.w3.org/2001/XMLSchema#integer>.`: sp + "3:5^http://www.w3.org/2001/XMLSchema#integer",
		`<http://e/s> <http://e/p> <http://e/\u00e9\U0001F600> .`:                    sp + "1:http://e/é😀",
		`<http://e/s> <http://e/p> <urn:é> .`:                                        sp + "1:urn:é",
		`_:a <http://e/p> _:b.c .`:                                                   "2:a 1:http://e/p 2:b.c",
		`_:a <http://e/p> _:b.`:                                                      "2:a 1:http://e/p 2:b",
		`_:1-a <http://e/p> _:é_ .`:                                                  "2:1-a 1:http://e/p 2:é_",
		`# only a comment`:                                                           "",
		`   `:                                                                        "",
	} {
		got, f := scan(in, false)
		if f != nil || strings.Join(got, "\n") != want {
			t.Errorf("%s\n got %q, %v\nwant %q", in, got, f, want)
		}
	}
	got, f := scan(`<http://e/s> <http://e/p> "o"@en <http://e/g> .`, true)
	if f != nil || len(got) != 1 || got[0] != sp+"3:o@en 1:http://e/g" {
		t.Errorf("quad: %q, %v", got, f)
	}
	got, f = scan(`<http://e/s> <http://e/p> _:o _:g.`, true)
	if f != nil || len(got) != 1 || got[0] != sp+"2:o 2:g" {
		t.Errorf("quad with a blank graph: %q, %v", got, f)
	}
	got, f = scan("<http://e/s> <http://e/p> _:o .\r#c\r\r<http://e/s> <http://e/p> _:p .", false)
	if f != nil || len(got) != 2 {
		t.Errorf("CR as line end: %q, %v", got, f)
	}
}

// The negative cases of the W3C N-Triples suite, in words of our own, and more.
func TestScanRefuses(t *testing.T) {
	const sp = `<http://e/s> <http://e/p> `
	for _, c := range []struct {
		in  string
		col int
		msg string
	}{
		{`<http://e/ s> <http://e/p> <http://e/o> .`, 11, "which no IRI may hold"},
		{`<http://e/\u00ZZ> <http://e/p> <http://e/o> .`, 11, "4 hex digits"},
		{`<http://e/\U00ZZ1111> <http://e/p> <http://e/o> .`, 11, "8 hex digits"},
		{`<http://e/\n> <http://e/p> <http://e/o> .`, 11, "which no IRI may hold"},
		{`<http://e/\u0020> <http://e/p> <http://e/o> .`, 11, "no IRI may hold"},
		{`<s> <http://e/p> <http://e/o> .`, 1, "absolute IRI"},
		{`<http://e/s> <p> <http://e/o> .`, 14, "absolute IRI"},
		{sp + `<o> .`, 27, "absolute IRI"},
		{sp + `"foo"^^<dt> .`, 34, "absolute IRI"},
		{`@prefix : <http://e/> .`, 1, "Turtle"},
		{`PREFIX : <http://e/>`, 1, "Turtle"},
		{sp + `<http://e/o>, <http://e/o2> .`, 39, `expected "."`},
		{`<http://e/s> <http://e/p> <http://e/o>; <http://e/p2> <http://e/o2> .`, 39, `expected "."`},
		{sp + `"string"@1 .`, 35, "language tag"},
		{sp + `"a\zb" .`, 29, "expected an escape"},
		{sp + `"\uWXYZ" .`, 28, "4 hex digits"},
		{sp + `"\U0000WXYZ" .`, 28, "8 hex digits"},
		{sp + `"\u00e" .`, 28, "4 hex digits"},
		{sp + `"\uD83D" .`, 28, "Unicode character"},
		{sp + `"\uDE00\uD83D" .`, 28, "Unicode character"},
		{sp + `"\U00110000" .`, 28, "Unicode character"},
		{sp + `"abc' .`, 27, "closing quote"},
		{sp + `'abc' .`, 27, "expected an object"},
		{sp + `"""abc""" .`, 29, `expected "."`},
		{sp + `"abc .`, 27, "closing quote"},
		{sp + `"abc\" .`, 27, "closing quote"},
		{sp + `"abc\`, 27, "closing quote"},
		{sp + `1 .`, 27, "expected an object"},
		{sp + `1.0e1 .`, 27, "expected an object"},
		{sp + `"a"^^xsd:string .`, 32, "datatype in < >"},
		{`"s" <http://e/p> <http://e/o> .`, 1, "expected a subject"},
		{`<http://e/s> _:p <http://e/o> .`, 14, "expected a predicate"},
		{`<http://e/s> "p" <http://e/o> .`, 14, "expected a predicate"},
		{`_: <http://e/p> <http://e/o> .`, 1, "label after _:"},
		{`_:-a <http://e/p> <http://e/o> .`, 1, "label after _:"},
		{`_x <http://e/p> <http://e/o> .`, 1, "_: and a label"},
		{`<http://e/s> <http://e/p> <http://e/o>`, 39, "the end of the line"},
		{`<http://e/s> <http://e/p> <http://e/o> <http://e/g> .`, 40, "N-Quads"},
		{sp + `<http://e/o> . x`, 42, "expected the end of the line"},
		{sp, 27, "expected an object"},
		{`<http://e/s`, 1, `expected ">"`},
		{`<< <http://e/s> <http://e/p> <http://e/o> >> <http://e/p> <http://e/o> .`, 2, "RDF-star"},
		{sp + "\"a\rb\" .", 27, "CR"},
		{sp + "\"a\xff\" .", 29, "byte 0xff"},
	} {
		got, f := scan(c.in, false)
		if f == nil {
			t.Errorf("%s: accepted as %q", c.in, got)
		} else if f.col != c.col || !strings.Contains(f.msg, c.msg) {
			t.Errorf("%s: column %d %q, want %d with %q", c.in, f.col, f.msg, c.col, c.msg)
		}
	}
}

// appendTerm writes a term as canonical N-Triples.
func appendTerm(dst []byte, t term, ascii bool) []byte {
	escape := func(s []byte, iri bool) {
		for _, r := range string(s) {
			switch {
			case !iri && r == '\n':
				dst = append(dst, `\n`...)
			case !iri && r == '\r':
				dst = append(dst, `\r`...)
			case !iri && (r == '"' || r == '\\'):
				dst = append(dst, '\\', byte(r))
			case ascii && r > 0xffff:
				dst = fmt.Appendf(dst, `\U%08X`, r)
			case ascii && r >= 0x80:
				dst = fmt.Appendf(dst, `\u%04X`, r)
			default:
				dst = utf8.AppendRune(dst, r)
			}
		}
	}
	switch t.kind {
	case iriTerm:
		dst = append(dst, '<')
		escape(t.value, true)
		return append(dst, '>')
	case blankTerm:
		return append(append(dst, "_:"...), t.value...)
	}
	dst = append(dst, '"')
	escape(t.value, false)
	dst = append(dst, '"')
	if t.lang != nil {
		dst = append(append(dst, '@'), t.lang...)
	} else if t.datatype != nil {
		dst = append(dst, "^^<"...)
		escape(t.datatype, true)
		dst = append(dst, '>')
	}
	return dst
}

func drawIRI(t *rapid.T, name string) term {
	return term{kind: iriTerm, value: []byte("http://" + rapid.StringMatching("[a-zA-Z0-9/#?&=%é字😀.-]{0,12}").Draw(t, name))}
}

func drawNode(t *rapid.T, name string) term {
	if rapid.Bool().Draw(t, name+" is blank") {
		return term{kind: blankTerm, value: []byte(rapid.StringMatching("[a-zA-Z0-9_é](([a-zA-Z0-9_.-]){0,5}[a-zA-Z0-9])?").Draw(t, name))}
	}
	return drawIRI(t, name)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := quad{s: drawNode(t, "s"), p: drawIRI(t, "p"), o: drawNode(t, "o")}
		if rapid.Bool().Draw(t, "literal") {
			q.o = term{kind: literalTerm, value: []byte(rapid.String().Draw(t, "text"))}
			switch rapid.IntRange(0, 2).Draw(t, "tag") {
			case 1:
				q.o.lang = []byte(rapid.StringMatching("[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8}){0,2}").Draw(t, "lang"))
			case 2:
				q.o.datatype = drawIRI(t, "type").value
			}
		}
		graphs := rapid.Bool().Draw(t, "graph")
		if graphs {
			q.g = drawNode(t, "g")
		}
		ascii, tight := rapid.Bool().Draw(t, "ascii"), rapid.Bool().Draw(t, "tight")
		var line []byte
		for _, x := range []term{q.s, q.p, q.o, q.g} {
			if x.kind == 0 {
				continue
			}
			line = appendTerm(line, x, ascii)
			if !tight || x.kind == blankTerm || x.lang != nil {
				line = append(line, ' ')
			}
		}
		line = append(line, '.')
		var x rdfScanner
		var got quad
		if !x.start(line) || !x.next(&got, graphs) {
			t.Fatalf("%s: %v", line, x.fault)
		}
		for i, pair := range [][2]term{{q.s, got.s}, {q.p, got.p}, {q.o, got.o}, {q.g, got.g}} {
			w, g := pair[0], pair[1]
			if w.kind != g.kind || !bytes.Equal(w.value, g.value) || !bytes.Equal(w.lang, g.lang) || !bytes.Equal(w.datatype, g.datatype) {
				t.Fatalf("%s: term %d is %q, want %q", line, i, g, w)
			}
		}
		if x.next(&got, graphs) || x.fault != nil {
			t.Fatalf("%s: more than one statement, %v", line, x.fault)
		}
	})
}

const described1 = `<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "Genf"@de .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "Geneva"@en .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "日內瓦"@zh-hant .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "日内瓦"@zh .
<http://e/a> <http://www.w3.org/2004/02/skos/core#altLabel> "Calvin's city"@en .
<http://e/a> <http://www.w3.org/2004/02/skos/core#altLabel> "Genève"@fr .
<http://e/a> <http://schema.org/description> "ville"@fr .
<http://e/a> <http://schema.org/description> "city in Switzerland"@en .
<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Thing> .
<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://dbpedia.org/ontology/City> .
<http://e/a> <http://e/in> <http://e/b> .
<http://e/b> <http://www.w3.org/2000/01/rdf-schema#label> "Schweiz"@de .
<http://e/b> <http://e/founded> "1291-08-01"^^<http://www.w3.org/2001/XMLSchema#date> .
<http://e/b> <http://e/people> "+8000000"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e/b> <http://e/motto> "Unus pro omnibus"@la .
<http://e/b> <http://e/motto> "One for all"@en .
<http://e/b> <http://e/seen> "2020-01-02T03:04:05Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
_:x <http://e/in> _:y .
<http://e/in> <http://www.w3.org/2000/01/rdf-schema#label> "located in"@en .
<http://e/q> <http://www.w3.org/2000/01/rdf-schema#label> "born"@en .
<http://e/q> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property> .
<http://w/P31> <http://wikiba.se/ontology#directClaim> <http://w/prop/P31> .
<http://w/P31> <http://www.w3.org/2000/01/rdf-schema#label> "instance of"@en .
<http://w/P31> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://wikiba.se/ontology#Property> .
`

func TestRDFDescriptions(t *testing.T) {
	got, stats, err := read(t, "x.nt", described1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got,
		"T http://e/a|http://e/in|http://e/b",
		"E http://e/a|Geneva|日内瓦|日內瓦,Calvin's city|City|city in Switzerland",
		"E TIME:1291-08-01|1291-08-01|||TIME|",
		"T http://e/b|http://e/founded|TIME:1291-08-01",
		"E NUM:8000000|8000000|||NUM|",
		"T http://e/b|http://e/people|NUM:8000000",
		"E TEXT:One for all@en|One for all|||TEXT|",
		"T http://e/b|http://e/motto|TEXT:One for all@en",
		"E TIME:2020-01-02|2020-01-02|||TIME|",
		"T http://e/b|http://e/seen|TIME:2020-01-02",
		"T _:0.x|http://e/in|_:0.y",
		"E http://e/b|Schweiz||||",
		"R http://e/in|located in||",
		"R http://e/q|born||",
		"R http://w/prop/P31|instance of||",
	)
	if stats.Left[leftOther] != 1 || stats.Lines != 24 || stats.Statements != 6 {
		t.Errorf("stats %+v", stats)
	}
	raw, _, err := read(t, "x.nt", described1, Options{RawRDF: true, DropLiterals: true})
	if err != nil {
		t.Fatal(err)
	}
	same(t, raw,
		"T http://e/a|http://www.w3.org/1999/02/22-rdf-syntax-ns#type|http://www.w3.org/2002/07/owl#Thing",
		"T http://e/a|http://www.w3.org/1999/02/22-rdf-syntax-ns#type|http://dbpedia.org/ontology/City",
		"T http://e/a|http://e/in|http://e/b",
		"T _:0.x|http://e/in|_:0.y",
		"T http://e/q|http://www.w3.org/1999/02/22-rdf-syntax-ns#type|http://www.w3.org/1999/02/22-rdf-syntax-ns#Property",
		"T http://w/P31|http://wikiba.se/ontology#directClaim|http://w/prop/P31",
		"T http://w/P31|http://www.w3.org/1999/02/22-rdf-syntax-ns#type|http://wikiba.se/ontology#Property",
	)
}

func TestLanguages(t *testing.T) {
	for lang, want := range map[string]langRank{"": langAny, "mul": langAny, "und": langAny, "en": langEn, "EN": langEn, "en-GB": langEnOther, "zh": langZh, "zh-Hans": langZh,
		"zh-cn": langZh, "zh-TW": langZhOther, "zh-min-nan": langZhOther, "x": langOther, "de": langOther, "enm": langOther, "eng": langOther} {
		if got := rankOf([]byte(lang)); got != want {
			t.Errorf("%q: %d, want %d", lang, got, want)
		}
	}
	// the name by what there is, best first
	all := []struct{ value, lang, name string }{{"other", "de", "other"}, {"zho", "zh-tw", "zho"}, {"zh", "zh", "zh"}, {"any", "", "any"}, {"gb", "en-gb", "gb"}, {"en", "en", "en"}}
	var l labels
	for _, x := range all {
		l.label([]byte(x.value), rankOf([]byte(x.lang)))
		if e := l.entity("id"); e.Name != x.name {
			t.Errorf("after %s the name is %q", x.lang, e.Name)
		}
	}
	if e := l.entity("id"); e.NameZH != "zh" || !slices.Equal(e.Aliases, []string{"gb", "any", "zho"}) {
		t.Errorf("%+v", e)
	}
}

func TestQuadsGiveDocuments(t *testing.T) {
	got, _, err := read(t, "x.nq", "<http://e/a> <http://e/p> <http://e/b> <http://d/1> .\n<http://e/a> <http://e/p> <http://e/c> .\n<http://e/a> <http://e/p> \"5\" _:g .\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got,
		"S http://e/a|http://e/p|http://e/b|http://d/1|[]|[]",
		"T http://e/a|http://e/p|http://e/c",
		"E TEXT:5|5|||TEXT|",
		"S http://e/a|http://e/p|TEXT:5|_:0.g|[]|[]",
	)
}

func FuzzRDF(f *testing.F) {
	for _, line := range strings.SplitAfter(described1, "\n") {
		f.Add([]byte(line))
	}
	f.Add([]byte("<http://e/s> <http://e/p> \"a\\uD83D\\uDE00\\\"\"@en-x <http://g> . # c\r_:a.b <x:y> _:c."))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"x.nt", "x.nq"} {
			feed(t, name, data, Options{})
		}
		var x rdfScanner
		var q quad
		if x.start(data) && x.next(&q, false) && bytes.IndexByte(data, '\n') < 0 {
			line := append(appendTerm(nil, q.s, true), ' ')
			line = append(appendTerm(line, q.p, true), ' ')
			line = append(appendTerm(line, q.o, true), " ."...)
			var y rdfScanner
			var again quad
			if !y.start(line) || !y.next(&again, false) || !bytes.Equal(q.o.value, again.o.value) || !bytes.Equal(q.s.value, again.s.value) {
				t.Fatalf("%q read, written as %q, is not the same: %v", data, line, y.fault)
			}
		}
	})
}
