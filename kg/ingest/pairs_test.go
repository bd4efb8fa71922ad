package ingest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const pairLines = `{"entity":{"id":"Q1","name":"Ann Lee","aliases":["A. Lee"],"type":"PER"},"statement":"Ann Lee was born in Bern.","subject":"Q1","predicate":{"id":"P19","label":"place of birth","label_zh":"出生地"},"object":"Bern","doc_id":"d1","title":"Ann Lee","url":"http://a/b","section":"Life","passage":"Ann Lee was born in Bern. She moved\nto Rome in 1999.","qualifiers":{"method":"register","at":"1970-02"}}
{"subject":"Q1","predicate":"P551","object":"Rome","statement":"Lee lived in Rome from 1999","doc_id":"d1","passage":"Ann Lee was born in Bern. She moved\nto Rome in 1999.","span":{"text":"moved\nto Rome in 1999"},"qualifiers":{"start":"1999"}}
{"entity":"Q1","statement":"Lee painted.","doc_id":"d1","passage":"Later: Lee painted. A lot.","span":{"start":7,"end":19}}
{"entity":"Q2","statement":"朴树是歌手。","doc_id":"d2","passage":"朴树是歌手。生于南京。"}
`

func TestPairs(t *testing.T) {
	got, stats, err := read(t, "x.jsonl", pairLines, Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got,
		"E Q1|Ann Lee||A. Lee|PER|",
		"R P19|place of birth|出生地|",
		"R statement|statement|陈述|what a source says of the entity",
		"E TEXT:Lee painted.|Lee painted.|||TEXT|",
		"D d1|Ann Lee|http://a/b|Ann Lee was born in Bern./She moved to Rome in 1999./Later: Lee painted./A lot.",
		"S Q1|P19|Bern|d1|[{0 25}]|[{at 1970-02} {method register} {section Life}]",
		"S Q1|P551|Rome|d1|[{30 51}]|[{start 1999} {statement Lee lived in Rome from 1999}]",
		"S Q1|statement|TEXT:Lee painted.|d1|[{60 72}]|[]",
		"E TEXT:朴树是歌手。|朴树是歌手。|||TEXT|",
		"D d2|d2||朴树是歌手。生于南京。",
		"S Q2|statement|TEXT:朴树是歌手。|d2|[{0 18}]|[]",
	)
	if stats.Documents != 2 || stats.Statements != 4 {
		t.Errorf("stats %+v", stats)
	}
}

func TestPairsBad(t *testing.T) {
	good := `{"entity":"Q1","statement":"Lee painted.","doc_id":"d1","passage":"Lee painted. A lot."}`
	for _, c := range []struct{ from, to, msg string }{
		{`"statement":"Lee painted."`, `"statement":"Lee sang."`, "expected a statement without span to stand in the passage word for word"},
		{`"doc_id"`, `"span":{"text":"lee painted"},"doc_id"`, "expected span.text to stand in the passage word for word"},
		{`"doc_id"`, `"span":{"start":0,"end":3,"text":"Leo"},"doc_id"`, `span: expected "Lee", as the passage has it there, found "Leo"`},
		{`"doc_id"`, `"span":{"start":4,"end":99},"doc_id"`, "expected byte offsets of whole characters within the passage of 19 bytes"},
		{`"doc_id"`, `"span":{"start":4,"end":4},"doc_id"`, "found 4 to 4"},
		{`"doc_id"`, `"span":{"start":4},"doc_id"`, "start and end together"},
		{`"doc_id"`, `"span":{},"doc_id"`, "expected text, or start and end"},
		{`"doc_id"`, `"subject":"a","object":"b","doc_id"`, "together or none, found 2"},
		{`"entity":"Q1"`, `"entity":""`, "expected an entity"},
		{`"entity":"Q1"`, `"entity":{"type":"x"}`, "an object without id and name"},
		{`"doc_id":"d1"`, `"doc_id":""`, "expected a doc_id"},
		{`Lee painted. A lot.`, ` `, "expected a passage"},
		{`"statement":"Lee painted."`, `"statement":""`, "expected a statement"},
		{`"doc_id"`, `"qualifiers":{"start":"May 1999"},"doc_id"`, "qualifier start: expected YYYY"},
		{`{`, ``, "expected an object"},
	} {
		_, _, err := read(t, "x.jsonl", "\n"+strings.Replace(good, c.from, c.to, 1), Options{Format: Statements})
		wrong(t, err, "x.jsonl:2", c.msg)
	}
	apart := good + "\n" + strings.ReplaceAll(good, "d1", "d2") + "\n" + good
	_, _, err := read(t, "x.jsonl", apart, Options{})
	wrong(t, err, "x.jsonl:3", `doc_id "d1" came before`)
}

func TestSentences(t *testing.T) {
	for in, want := range map[string]string{
		"A b. C d! E f? G":          "A b./C d!/E f?/G",
		`He said "no." Then (x.) Y`: `He said "no."/Then (x.)/Y`,
		"One.  Two.":                "One.  Two.",
		"3.5 is a number.":          "3.5 is a number.",
		"Ends. ":                    "Ends. ",
		" . a":                      " ./a",
		"中文。也是。":                    "中文。也是。",
	} {
		if got := strings.Join(sentencesOf(in), "/"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("([a-c.!?\") \n字]){1,40}").Draw(t, "text")
		s := sentencesOf(text)
		if got := strings.Join(s, " "); got != strings.ReplaceAll(text, "\n", " ") {
			t.Fatalf("%q gives %q", text, got)
		}
		for _, x := range s {
			if x == "" {
				t.Fatalf("%q gives an empty sentence: %q", text, s)
			}
		}
	})
}

func FuzzPairs(f *testing.F) {
	for _, line := range strings.SplitAfter(pairLines, "\n") {
		f.Add([]byte(line))
	}
	f.Add([]byte(pairLines))
	f.Fuzz(func(t *testing.T, data []byte) { feed(t, "x.jsonl", data, Options{Format: Statements}) })
}
