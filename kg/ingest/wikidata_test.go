package ingest

import (
	"bytes"
	"fmt"

	"strings"
	"testing"
)

var adams = `{"type":"item","id":"Q42","labels":{"fr":{"language":"fr","value":"Adams"},"en":{"language":"en","value":"Douglas Adams"},"zh":{"language":"zh","value":"\u9053\u683c\u62c9\u65af"}},` +
	`"descriptions":{"de":{"language":"de","value":"x"},"en":{"language":"en","value":"English \"writer\""}},` +
	`"aliases":{"en":[{"language":"en","value":"DNA"},{"language":"en","value":"Douglas N. Adams"}],"fr":[{"language":"fr","value":"DNA2"}]},` +
	`"claims":{` +
	`"P31":[` + snakClaim("P31", entityValue("Q5"), "normal", "") + `],` +
	`"P569":[` + snakClaim("P569", timeValue("+1952-03-11T00:00:00Z", 11), "normal", "") + `],` +
	`"P26":[` + snakClaim("P26", entityValue("Q14623681"), "normal", `"qualifiers":{"P580":[`+snakOf("P580", timeValue("+1991-11-25T00:00:00Z", 11))+`],"P582":[`+snakOf("P582", timeValue("+2001-05-00T00:00:00Z", 10))+`],"P585":[`+snakOf("P585", timeValue("+1900-00-00T00:00:00Z", 7))+`],"P2842":[`+snakOf("P2842", entityValue("Q84"))+`],"P459":[`+snakOf("P459", entityValue("Q1"))+`],"P1":[{"snaktype":"novalue","property":"P1"}]},"references":[{"hash":"h","snaks":{"P854":[`+snakOf("P854", `{"value":"http://a.b/c","type":"string"}`)+`],"P813":[`+snakOf("P813", timeValue("+2020-01-01T00:00:00Z", 11))+`]}}],`) + `],` +
	`"P2048":[` + snakClaim("P2048", `{"value":{"amount":"+1.96","unit":"http://www.wikidata.org/entity/Q11573"},"type":"quantity"}`, "preferred", "") + `],` +
	`"P1477":[` + snakClaim("P1477", `{"value":{"text":"Douglas Noel Adams","language":"en"},"type":"monolingualtext"}`, "normal", "") + `],` +
	`"P800":[` + snakClaim("P800", entityValue("Q3"), "deprecated", "") + `,` + snakClaim("P800", `{"value":{"entity-type":"item","numeric-id":25169},"type":"wikibase-entityid"}`, "normal", "") + `],` +
	`"P40":[{"mainsnak":{"snaktype":"somevalue","property":"P40","datatype":"wikibase-item"},"type":"statement","rank":"normal"}],` +
	`"P214":[{"mainsnak":{"snaktype":"value","property":"P214","datavalue":{"value":"113230702","type":"string"},"datatype":"external-id"},"type":"statement","rank":"normal"}],` +
	`"P625":[` + snakClaim("P625", `{"value":{"latitude":1.5,"longitude":2},"type":"globecoordinate"}`, "normal", "") + `]` +
	`},"sitelinks":{"enwiki":{"site":"enwiki","title":"Douglas Adams","badges":[]}},"lastrevid":1}`

func snakOf(p, v string) string {
	return `{"snaktype":"value","property":"` + p + `","datavalue":` + v + `,"datatype":"x"}`
}
func snakClaim(p, v, rank, more string) string {
	return `{"mainsnak":` + snakOf(p, v) + `,"type":"statement",` + more + `"id":"x","rank":"` + rank + `"}`
}
func entityValue(id string) string {
	return `{"value":{"entity-type":"item","numeric-id":1,"id":"` + id + `"},"type":"wikibase-entityid"}`
}
func timeValue(v string, p int) string {
	return fmt.Sprintf(`{"value":{"time":"%s","timezone":0,"before":0,"after":0,"precision":%d,"calendarmodel":"http://www.wikidata.org/entity/Q1985727"},"type":"time"}`, v, p)
}

var adamsCalls = []string{
	`E Q42|Douglas Adams|道格拉斯|DNA,Douglas N. Adams|Q5|English "writer"`,
	"T Q42|P31|Q5",
	"E TIME:1952-03-11|1952-03-11|||TIME|",
	"T Q42|P569|TIME:1952-03-11",
	"S Q42|P26|Q14623681||[]|[{start 1991-11-25} {end 2001-05} {P585 19th century} {P2842 Q84} {method Q1} {P854 http://a.b/c}]",
	"E NUM:1.96 Q11573|1.96 Q11573|||NUM|",
	"T Q42|P2048|NUM:1.96 Q11573",
	"E TEXT:Douglas Noel Adams@en|Douglas Noel Adams|||TEXT|",
	"T Q42|P1477|TEXT:Douglas Noel Adams@en",
	"T Q42|P800|Q25169",
}

func TestWikidata(t *testing.T) {
	property := `{"type":"property","datatype":"wikibase-item","id":"P31","labels":{"en":{"language":"en","value":"instance of"},"zh-hans":{"language":"zh-hans","value":"隶属于"}},"descriptions":[],"aliases":[],"claims":[]}`
	french := `{"id":"Q7","type":"item","labels":{"fr":{"language":"fr","value":"Sept"},"nl":{"language":"nl","value":"Zeven"}},"descriptions":{},"aliases":{},"claims":{}}`
	mul := `{"id":"Q8","type":"item","labels":{"fr":{"language":"fr","value":"Huit"},"mul":{"language":"mul","value":"Eight"}},"claims":{}}`
	got, stats, err := read(t, "latest-all.json", "[\n"+adams+",\n"+property+",\n"+french+",\r\n"+mul+"\n]\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, append(append([]string{}, adamsCalls...), "R P31|instance of|隶属于|", "E Q7|Sept||||", "E Q8|Eight||||")...)
	for _, reason := range []string{"statement of deprecated rank", "statement whose value is unknown or none", "value of datatype external-id", "value of kind globecoordinate"} {
		if stats.Left[reason] != 1 {
			t.Errorf("left out for %q: %d, want 1 (%v)", reason, stats.Left[reason], stats.Left)
		}
	}
	// brackets on the entities' lines, claims before the id
	head, rest, _ := strings.Cut(adams, `"claims":`)
	claims, _, _ := strings.Cut(rest, `,"sitelinks"`)
	moved := `{"claims":` + claims + "," + strings.TrimSuffix(head[1:], ",") + "}"
	got, _, err = read(t, "x.json", "["+moved+"]\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, adamsCalls...)
}

func TestWikidataBadLineSendsNothing(t *testing.T) {
	for _, c := range []struct{ line, msg string }{
		{adams[:len(adams)-1], `expected "," or '}', found the end`},
		{strings.Replace(adams, `"+1952-03-11T00:00:00Z"`, `"yesterday"`, 1), "expected a time such as"},
		{strings.Replace(adams, `"+1.96"`, `"much"`, 1), "expected a quantity"},
		{strings.Replace(adams, `"Q42"`, `""`, 1), `expected an entity with "id"`},
		{strings.Replace(adams, `"labels":{`, `"labels":3,"x":{`, 1), "expected an object"},
		{adams + "x", `expected the end, found "x"`},
		{`"text"`, "expected an entity as a JSON object"},
		{strings.Replace(adams, `\u9053`, `\u90`, 1), "expected a JSON escape"},
	} {
		var side bytes.Buffer
		got, stats, err := read(t, "x.json", "[\n"+c.line+",\n"+adams+"\n]", Options{Format: Wikidata, OnError: Quarantine, Quarantine: &side})
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, adamsCalls...)
		if stats.Bad != 1 || !strings.Contains(side.String(), `"line":2,`) {
			t.Errorf("%d bad, %s", stats.Bad, side.String())
		}
		_, _, err = read(t, "x.json", "[\n"+c.line+",\n", Options{Format: Wikidata})
		wrong(t, err, "x.json:2", c.msg)
	}
}

func TestWikiTime(t *testing.T) {
	for _, c := range []struct {
		time      string
		precision int
		want      string
		exact, ok bool
	}{
		{"+1952-03-11T00:00:00Z", 11, "1952-03-11", true, true},
		{"+1952-03-11T00:00:00Z", 10, "1952-03", true, true},
		{"+1952-03-11T00:00:00Z", 9, "1952", true, true},
		{"+00000001952-03-11T00:00:00Z", 11, "1952-03-11", true, true},
		{"-0044-03-15T00:00:00Z", 11, "-0044-03-15", true, true},
		{"+0079-00-00T00:00:00Z", 9, "0079", true, true},
		{"+1952-00-00T00:00:00Z", 11, "1952", true, true},
		{"+1955-00-00T00:00:00Z", 8, "1950s", false, true},
		{"+1900-00-00T00:00:00Z", 7, "19th century", false, true},
		{"+1901-00-00T00:00:00Z", 7, "20th century", false, true},
		{"-0300-00-00T00:00:00Z", 7, "3rd century BCE", false, true},
		{"+1100-00-00T00:00:00Z", 7, "11th century", false, true},
		{"+2000-00-00T00:00:00Z", 6, "2nd millennium", false, true},
		{"-13798000000-00-00T00:00:00Z", 3, "about 13798000000 years BCE", false, true},
		{"1952", 9, "", false, false},
		{"+1952-13-01T00:00:00Z", 11, "", false, false},
		{"+x-01-01T00:00:00Z", 11, "", false, false},
	} {
		got, exact, ok := wikiTime([]byte(c.time), c.precision)
		if got != c.want || exact != c.exact || ok != c.ok {
			t.Errorf("%s at %d: %q %v %v, want %q %v %v", c.time, c.precision, got, exact, ok, c.want, c.exact, c.ok)
		}
	}
}

func FuzzWikidata(f *testing.F) {
	f.Add([]byte("[\n" + adams + ",\n]"))
	f.Add([]byte(`{"id":"Q1","labels":[],"claims":{"P1":[{"mainsnak":{"snaktype":"value","datavalue":{"value":"\ud83d\ude00","type":"string"}}}]}}`))
	f.Add([]byte(`[{"id":null}]`))
	f.Fuzz(func(t *testing.T, data []byte) { feed(t, "x.json", data, Options{Format: Wikidata}) })
}
