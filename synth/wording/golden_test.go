package wording

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shapes are a chain, a star, a tree and a cycle on a generated world's relations.
func shapes() (map[string]Plan, []string) {
	rel := map[string]Relation{}
	for _, r := range world() {
		rel[r.ID] = r
	}
	at := func(s Term, r string, o Term) Atom { return Atom{s, rel[r], o} }
	return map[string]Plan{
		"chain": {Kinds: []Kind{Person, Organisation, Place, Place}, Answer: 3, Atoms: []Atom{
			at(Name("The House of Ralen"), "created_by", Var(0)), at(Var(0), "worked_for", Var(1)), at(Var(1), "based_in", Var(2)), at(Var(2), "located_in", Var(3))}},
		"star": {Kinds: []Kind{Work, Place, Person}, Answer: 2, Atoms: []Atom{
			at(Var(0), "published_by", Name("Lefiwix Press")), at(Var(0), "created_by", Var(2)), at(Var(1), "located_in", Name("Ralenia")), at(Var(2), "born_in", Var(1))}},
		"tree": {Kinds: []Kind{Person, Organisation, Date, Number, Place}, Answer: 0, Atoms: []Atom{
			at(Var(0), "studied_at", Var(1)), at(Var(1), "based_in", Var(4)), at(Var(4), "population", Var(3)), at(Var(0), "born_on", Var(2)), at(Var(1), "led_by", Name("Munu Jawesk"))},
			Marks: []Mark{{Var: 1, Kind: IsClass, Class: "university", ClassZH: "大学"}, {Var: 2, Kind: InYears, From: 1950, To: 1959}, {Var: 3, Kind: Between, From: 100000, To: 199999}}},
		"cycle": {Kinds: []Kind{Person, Person, Place}, Answer: 1, Atoms: []Atom{
			at(Var(0), "married_to", Var(1)), at(Var(0), "born_in", Var(2)), at(Var(1), "born_in", Var(2)), at(Var(0), "worked_for", Name("Toledo Institute"))}},
	}, []string{"chain", "star", "tree", "cycle"}
}

// TestGolden pins what the texts are like: frames 0 to 5 in turn, both languages.
func TestGolden(t *testing.T) {
	ps, order := shapes()
	var got []string
	for i, name := range order {
		for _, f := range []int{i, i + 2} {
			for _, l := range []Lang{English, Chinese} {
				text, err := Write(ps[name], l, f)
				if err != nil {
					t.Fatal(name, f, err)
				}
				if want := golden[len(got)]; text != want {
					t.Errorf("%s, frame %d:\n got %q\nwant %q", name, f, text, want)
				}
				got = append(got, text)
			}
		}
	}
}

var golden = []string{
	"Consider an organisation that a person who created The House of Ralen worked for. Think of the city where that organisation is based. What is the country in which that city is located?",
	"来看The House of Ralen的作者任职过的机构。请看这个机构总部所在的城市。我想知道这个城市所在的国家叫什么名字。",
	"I have in mind a place that is the country in which a certain city is located. That city is the city where a certain organisation is based. That organisation is an organisation that a certain person worked for. That person created The House of Ralen. Which place is it?",
	"有一个地方，是某个城市所在的国家。这个城市是某个机构总部所在的城市。这个机构是某个人任职过的机构。这个人是The House of Ralen的作者。请问这是哪里？",
	"Consider a work published by Lefiwix Press. Think of a city located in Ralenia. Can you tell me who created that work and was born in that city?",
	"来看一个由Lefiwix Press出版的作品。请看一个位于Ralenia的城市。请问谁是这个作品的作者，并且出生于这个城市？",
	"Can you tell me who created a work published by Lefiwix Press and was born in a city located in Ralenia?",
	"请问谁是一个由Lefiwix Press出版的作品的作者，并且出生于一个位于Ralenia的城市？",
	"I have in mind a person who was born in the 1950s and studied at a university. That university is based in a certain city and was led by Munu Jawesk. That city is a place with a population of between 100,000 and 199,999. Who is it?",
	"有一个人，在20世纪50年代出生，并且就读于一个大学。这个大学总部位于某个城市，并且由Munu Jawesk领导过。这个城市人口为100000到199999之间。请问这是谁？",
	"I am looking for a person who was born in the 1950s and studied at a university. That university was led by Munu Jawesk and is based in a place with a population of between 100,000 and 199,999. Who is it?",
	"我在找一个人，在20世纪50年代出生，并且就读于一个大学。这个大学由Munu Jawesk领导过，并且总部位于一个人口为100000到199999之间的地方。请问这是谁？",
	"Think of a person who worked for Toledo Institute. Take the city where that person was born. Who was born in that city and is the person whom that person married?",
	"请看一个任职于Toledo Institute的人。考虑这个人出生的城市。谁出生于这个城市，并且是这个人的配偶？",
	"Think of a certain city. Take a person who was born in that city. That person worked for Toledo Institute. Who is the person whom that person married and was born in that city?",
	"请看某个城市。考虑一个出生于这个城市的人。这个人任职于Toledo Institute。谁是这个人的配偶，并且出生于这个城市？",
}

// TestClassWordsStandBeforeNames: "lies on the continent Europe", but "lies on that continent".
func TestClassWordsStandBeforeNames(t *testing.T) {
	rels := wiki(t)
	rel := func(id string) Relation {
		return rels[slices.IndexFunc(rels, func(r Relation) bool { return r.ID == id })]
	}
	p := Plan{Kinds: []Kind{Place, Place, Place}, Answer: 2, Atoms: []Atom{
		{Name("Spain"), rel("P30"), Var(0)}, {Var(1), rel("P30"), Var(0)}, {Var(1), rel("P17"), Var(2)}, {Var(2), rel("P30"), Name("Europe")}}}
	for _, c := range []struct {
		lang        Lang
		named, said string
		doubled     []string
	}{
		{English, "the continent Europe", "on that continent", []string{"continent that", "continent the", "continent a certain"}},
		{Chinese, "大洲Europe", "于这个大洲", []string{"大洲这个", "大洲某个", "大洲Spain"}},
	} {
		var all string
		for frame := range Frames {
			text, err := Write(p, c.lang, frame)
			if err != nil {
				t.Fatal(c.lang, frame, err)
			}
			for _, d := range c.doubled {
				if strings.Contains(text, d) {
					t.Errorf("%s, frame %d: %q in %q", c.lang, frame, d, text)
				}
			}
			all += text + "\n"
		}
		if !strings.Contains(all, c.said) || !strings.Contains(all, c.named) {
			t.Errorf("%s: %q and %q are expected in:\n%s", c.lang, c.said, c.named, all)
		}
	}
}

func TestValuesInWords(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		en, zh   string
	}{{1950, 1959, "the 1950s", "20世纪50年代"}, {1900, 1909, "the years 1900 to 1909", "1900年至1909年间"}, {1901, 2000, "the 20th century", "20世纪"},
		{1, 100, "the 1st century", "1世纪"}, {1101, 1200, "the 12th century", "12世纪"}, {2001, 2100, "the 21st century", "21世纪"}, {1953, 1953, "the year 1953", "1953年"},
		{-50, -10, "the years 50 BC to 10 BC", "公元前50年至公元前10年间"}, {1950, 1954, "the years 1950 to 1954", "1950年至1954年间"}} {
		if en, zh := years(c.from, c.to, English), years(c.from, c.to, Chinese); en != c.en || zh != c.zh {
			t.Errorf("%d to %d: %s, %s", c.from, c.to, en, zh)
		}
	}
	for _, c := range []struct {
		from, to int64
		en, zh   string
	}{{100000, 199999, "between 100,000 and 199,999", "100000到199999之间"}, {NoLeast, 999, "at most 999", "不超过999"}, {1000, NoMost, "at least 1,000", "不少于1000"},
		{7, 7, "exactly 7", "恰好7"}, {-1234, 5, "between -1,234 and 5", "-1234到5之间"}} {
		if en, zh := number(c.from, c.to, English), number(c.from, c.to, Chinese); en != c.en || zh != c.zh {
			t.Errorf("%d to %d: %s, %s", c.from, c.to, en, zh)
		}
	}
}

func TestPhrasesOfLabels(t *testing.T) {
	for _, c := range []struct{ label, forward, inverse string }{
		{"place of birth", "the place of birth of {x}", "something whose place of birth is {x}"},
		{"/people/person/nationality", "the nationality of {x}", "a person whose nationality is {x}"},
		{"/award/award_nominee/award_nominations./award/award_nomination/award", "the award of {x}", "an award nominee whose award is {x}"},
		{"http://example.org/ontology/birthPlace", "the birth place of {x}", "something whose birth place is {x}"},
		{"owned by", "the one that {x} was owned by", "something that was owned by {x}"},
		{"member of", "the one that {x} is member of", "something that is member of {x}"},
		{"/location/location/contains", "the one that {x} contains", "a location that contains {x}"},
		{"a {x} label", "the a x label of {x}", "something whose a x label is {x}"},
	} {
		f, i := generic(Relation{Label: c.label})
		if f.EN != c.forward || i.EN != c.inverse {
			t.Errorf("%s: %q, %q", c.label, f.EN, i.EN)
		}
	}
	f, i := generic(Relation{ID: "P1", Label: "citizenship", LabelZH: "国籍"})
	if f.ZH != "{x}的国籍" || i.ZH != "国籍为{x}的事物" {
		t.Error(f, i)
	}
	l := NewLexicon(Relation{ID: "own", Forward: Phrase{"the own {x}", "自己的{x}"}}, Relation{ID: "P57", Forward: Phrase{EN: "not this {x}"}})
	if r := l.Relation(Relation{ID: "P57", Label: "director"}); r.Forward.EN != "the director of {x}" || r.Inverse.ZH != "由{x}执导的影片" {
		t.Errorf("the table comes first: %+v", r)
	}
	if r := l.Relation(Relation{ID: "own", Label: "x"}); r.Forward.EN != "the own {x}" || r.Inverse.EN != "something whose x is {x}" {
		t.Errorf("then the graph's: %+v", r)
	}
	if r := l.Relation(Relation{ID: "P57", Forward: Phrase{EN: "a maker of {x}"}}); r.Forward.EN != "a maker of {x}" {
		t.Errorf("an override stays: %+v", r)
	}
	out := l.Relations([]Relation{{ID: "/film/director/film"}, {ID: "/film/actor/film./film/performance/film"}, {ID: "/people/person/nationality"}})
	if out[0].Forward.EN != "the director film of {x}" || out[1].Forward.EN != "the performance film of {x}" || out[2].Forward.EN != "the nationality of {x}" {
		t.Errorf("%q %q %q", out[0].Forward.EN, out[1].Forward.EN, out[2].Forward.EN)
	}
}

// TestLabelsAreKeptApart: whatever the labels, no two relations that only have labels are said in the same way.
func TestLabelsAreKeptApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`(/[ab]{1,2}){1,4}|[ab] [ab]`), 1, 12, rapid.ID[string]).Draw(t, "ids")
		var all []Relation
		for _, id := range ids {
			all = append(all, Relation{ID: id})
		}
		seen := map[string]string{}
		for _, r := range NewLexicon().Relations(all) {
			if other, ok := seen[r.Forward.EN]; ok {
				t.Fatalf("%s and %s: %s", other, r.ID, r.Forward.EN)
			}
			seen[r.Forward.EN] = r.ID
		}
	})
}

// TestTable: every relation of the demo has a phrase with one slot both ways in both languages, and only relations that
// are each other's inverse, or their own, share one.
func TestTable(t *testing.T) {
	inverse := map[string]string{"P527": "P361", "P1344": "P710", "P674": "P1441", "P156": "P155", "P355": "P749", "P1376": "P36", "P1366": "P1365", "P190": "P190", "P26": "P26", "P3373": "P3373"}
	for a, b := range inverse {
		inverse[b] = a
	}
	rels := wiki(t)
	for _, l := range []Lang{English, Chinese} {
		by := map[string][]string{}
		for _, r := range rels {
			for i, p := range []Phrase{r.Forward, r.Inverse} {
				s := p.in(l)
				if s == "" {
					t.Errorf("%s %s side %d: %+v", r.ID, l, i, p)
				}
				by[s] = append(by[s], r.ID)
			}
		}
		for s, ids := range by {
			for _, id := range ids[1:] {
				if inverse[ids[0]] != id {
					t.Errorf("%s: %q is %v", l, s, ids)
				}
			}
		}
	}
}
