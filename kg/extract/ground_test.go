package extract

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

const annText = `Ann Lee (Li An) was born on 3 May 1970 in Bern, says the register. She moved to Rome in 1999. Her paintings sell well there. Bo Ek met Lee. The town has 1,200 people. 李安生于台湾。他住在纽约。`

func TestJudge(t *testing.T) {
	ann := end{Name: "Ann Lee", Type: "PER", Aliases: []string{"Lee", "Li An", "Annie", "She"}}
	good := candidate{Subject: ann, Predicate: "residence", Object: end{Name: "Rome", Type: "loc"}, Statement: "Ann Lee moved to Rome.", Span: "She moved to Rome in 1999", Mention: "She", Start: "1999"}
	d := Document{ID: "d", Title: "Ann", Text: annText}
	s := newSource(&d)
	p := passage{store.Span{Start: 0, End: len(annText)}, 0}
	for _, c := range []struct {
		name   string
		change func(*candidate)
		want   string // reason, or how it is grounded
	}{
		{"as it is", func(c *candidate) {}, ByName},
		{"no subject", func(c *candidate) { c.Subject.Name = " " }, Incomplete},
		{"predicate without object", func(c *candidate) { c.Object.Name = "" }, Incomplete},
		{"no span", func(c *candidate) { c.Span = "" }, Incomplete},
		{"bare", func(c *candidate) { c.Object.Name, c.Predicate = "", "" }, ByName},
		{"span with another case", func(c *candidate) { c.Span = "she moved to Rome in 1999" }, SpanMissing},
		{"span with other blanks", func(c *candidate) { c.Span = "She  moved to Rome in 1999" }, SpanMissing},
		{"two sentences after the name", func(c *candidate) { c.Span = "Her paintings sell well there"; c.Mention = ""; c.Start = "" }, SubjectMissing},
		{"a pronoun that leads back", func(c *candidate) { c.Span = "Her paintings sell well there"; c.Mention = "Her"; c.Start = "" }, ByPronoun},
		{"a pronoun that is not there", func(c *candidate) { c.Span = "Her paintings sell well there"; c.Mention = "his" }, SubjectMissing},
		{"a pronoun that is no pronoun", func(c *candidate) { c.Span = "Her paintings sell well there"; c.Mention = "paintings" }, SubjectMissing},
		{"an alias", func(c *candidate) {
			c.Span = "Bo Ek met Lee"
			c.Mention = ""
			c.Object = end{Name: "Bo Ek"}
			c.Start = ""
		}, ByAlias},
		{"a name of nowhere", func(c *candidate) { c.Subject.Name = "Ann Marie Lee" }, SubjectMissing},
		{"part of a word", func(c *candidate) { c.Subject.Name = "An"; c.Span = "She moved to Rome in 1999" }, ByName}, // of Li An
		{"part of another word", func(c *candidate) { c.Subject = end{Name: "ea"} }, SubjectMissing},
		{"object elsewhere", func(c *candidate) { c.Object.Name = "Bo Ek" }, ObjectMissing},
		{"object is subject", func(c *candidate) { c.Object = c.Subject }, SelfLoop},
		{"time in words", func(c *candidate) { c.Start = "May 1999" }, BadTime},
		{"end before start", func(c *candidate) { c.Start, c.End = "1999", "1970" }, BadTime},
		{"year of nowhere", func(c *candidate) { c.Start = "1998" }, QualifierMissing},
		{"year of a sentence far off", func(c *candidate) { c.Span, c.Object = "Bo Ek met Lee", end{Name: "Bo Ek"}; c.Start = "1970" }, QualifierMissing},
		{"method", func(c *candidate) { c.Method = "the register" }, ByName},
		{"method of nowhere", func(c *candidate) { c.Method = "a census" }, QualifierMissing},
		{"long name", func(c *candidate) { c.Object.Name = strings.Repeat("Rome ", 50) }, TooLong},
		{"date", func(c *candidate) {
			c.Span, c.Start = "born on 3 May 1970", ""
			c.Object = end{Name: "1970-05-03", Type: "TIME"}
		}, ByName},
		{"another date", func(c *candidate) {
			c.Span, c.Start = "born on 3 May 1970", ""
			c.Object = end{Name: "1971-05-03", Type: "TIME"}
		}, ObjectMissing},
		{"number", func(c *candidate) {
			c.Subject = end{Name: "Bo Ek"}
			c.Span, c.Start = "has 1,200 people", ""
			c.Object = end{Name: "1200", Type: "NUM"}
		}, ByName},
		{"Chinese", func(c *candidate) {
			c.Subject = end{Name: "李安", Type: "PER"}
			c.Object = end{Name: "纽约", Type: "LOC"}
			c.Span, c.Start, c.Mention = "他住在纽约", "", ""
		}, ByName},
		{"Chinese part of a name", func(c *candidate) {
			c.Subject = end{Name: "李安平", Type: "PER"}
			c.Object = end{Name: "纽约"}
			c.Span, c.Start = "他住在纽约", ""
		}, SubjectMissing},
		{"words that are a symbol", func(c *candidate) { c.Subject.Name = "(" }, SubjectMissing},
	} {
		x := good
		c.change(&x)
		r, why := (&Options{}).judge(s, p, p, &x)
		if r != nil {
			why = r.Grounding
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify(line, d); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if why != c.want {
			t.Errorf("%s: %s, want %s", c.name, why, c.want)
		}
	}
	o := Options{Relations: []store.Relation{{ID: "P551", Label: "Residence", LabelZH: "居住地"}}}
	for words, want := range map[string]string{"residence": "P551", "P551": "P551", "居住地": "P551", "home": UnknownRelation} {
		x := good
		x.Predicate = words
		r, why := o.judge(s, p, p, &x)
		if r != nil {
			why = r.Predicate.ID
		}
		if why != want {
			t.Errorf("%s: %s, want %s", words, why, want)
		}
	}
	half := passage{store.Span{Start: 67, End: len(annText)}, 0}
	x := good
	x.Span = "born on 3 May 1970"
	if _, why := (&Options{}).judge(s, half, half, &x); why != SpanOutside {
		t.Errorf("a span of the passage before: %s", why)
	}
}

// Change any one character of a source and each of its records is invalid.
func TestMutation(t *testing.T) {
	dir := t.TempDir()
	docs := []Document{town("d1", 7), {ID: "d2", Title: "x", Text: "An Lee was born in Bern. 😀字 Then she left. He lives in Rome since 1950."}}
	if _, err := Run(context.Background(), &reader{}, each(docs), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range lines(t, dir) {
		var r record
		if err := json.Unmarshal(l, &r); err != nil {
			t.Fatal(err)
		}
		d := docs[0]
		if r.DocID == "d2" {
			d = docs[1]
		}
		if err := Verify(l, d); err != nil {
			t.Fatal(err)
		}
		for i, c := range d.Text {
			size := utf8.RuneLen(c)
			for _, to := range []string{"", "#", string(c + 1), string(c) + string(c)} {
				m := d
				m.Text = d.Text[:i] + to + d.Text[i+size:]
				n++
				if err := Verify(l, m); quarry.KindOf(err) != quarry.KindInvalid {
					t.Fatalf("%q for %q at %d: %v", to, c, i, err)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d mutations", n)
	}
	// a record that lies is found too
	line := string(lines(t, dir)[0])
	for from, to := range map[string]string{`"start":0`: `"start":1`, `"passage_at":0`: `"passage_at":1`, `"name":"Ana Lee"`: `"name":"Bob Lee"`, `"name":"Bern"`: `"name":"Rom"`,
		`"grounding":"name"`: `"grounding":"alias"`, `"doc_id":"d1"`: `"doc_id":"d3"`, `"title":"Title of d1"`: `"title":""`, `"shown_from":0`: `"shown_from":-1`} {
		changed := strings.Replace(line, from, to, 1)
		if changed == line {
			t.Errorf("%s is not in %s", from, line)
		}
		if err := Verify([]byte(changed), docs[0]); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestSentences(t *testing.T) {
	for in, want := range map[string]string{
		"A b. C d! E f? G":          "A b.|C d!|E f?|G",
		`He said "no." Then (x.) Y`: `He said "no."|Then (x.)|Y`,
		"approx. five. Six":         "approx. five.|Six",
		"3.5 is a number.":          "3.5 is a number.",
		"中文。也是！“好。”对":               "中文。|也是！|“好。”|对",
		"Head\n\nText\nmore":        "Head|Text\nmore",
		"  ":                        "",
	} {
		var got []string
		for _, s := range sentences(in) {
			got = append(got, in[s.Start:s.End])
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// Passages cover all text but white space, in order, without overlap, within the size; what is shown before belongs to it.
func TestPassages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("([a-cA.!?\") \n字。😀]){0,80}").Draw(t, "text")
		size, overlap := rapid.IntRange(8, 40).Draw(t, "size"), rapid.IntRange(0, 3).Draw(t, "overlap")
		sents := sentences(text)
		ps := passages(text, sents, size, overlap)
		at := 0
		for _, p := range ps {
			if p.Start < at || p.End <= p.Start || p.End-p.Start > size || p.context > p.Start || p.context < 0 {
				t.Fatalf("%q: passages %v of at most %d", text, ps, size)
			}
			if strings.TrimSpace(text[at:p.Start]) != "" || !utf8.ValidString(text[p.Start:p.End]) || !utf8.ValidString(text[p.context:p.Start]) {
				t.Fatalf("%q: lost %q, or a character cut", text, text[at:p.Start])
			}
			at = p.End
			if a, b, ok := halve(p, sents); ok && (a.Start != p.Start || b.End != p.End || a.End > b.Start || strings.TrimSpace(text[a.End:b.Start]) != "") {
				t.Fatalf("%v is halved into %v and %v", p, a, b)
			}
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("%q: lost %q at the end", text, text[at:])
		}
	})
}

func FuzzJudge(f *testing.F) {
	f.Add("Ann Lee was born in Bern in 1970. She left.", "She left", "Ann Lee", "Bern", "1970", "She")
	f.Add("李安生于台湾。", "生于台湾", "李安", "台湾", "", "")
	f.Add("", "", "", "", "-0044", "")
	f.Fuzz(func(t *testing.T, text, span, subject, object, start, mention string) {
		d := Document{ID: "d", Text: text}
		if d.check() != nil {
			return
		}
		s := newSource(&d)
		for _, p := range passages(text, s.sents, 50, 1) {
			c := candidate{Subject: end{Name: subject, Aliases: []string{object, mention}}, Predicate: "p", Object: end{Name: object, Type: "TIME"}, Statement: "s", Span: span, Start: start, Mention: mention}
			r, reason := (&Options{}).judge(s, p, p, &c)
			if (r == nil) == (reason == "") {
				t.Fatalf("record %v and reason %q", r, reason)
			}
			if r == nil || !utf8.ValidString(span+subject+object+start+mention) {
				continue
			}
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify(line, d); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}
