package wording

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/kg/worldgen"
)

// picker draws numbers below n, from a seed or from rapid.
type picker func(n int) int

// wiki are the demo's relations, world those of generated worlds, paths labels as FB15k-237 has them.
func wiki(t testing.TB) []Relation {
	t.Helper()
	b, err := os.ReadFile("../../examples/wiki/relations.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []Relation
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		f := strings.Split(line, "\t")
		out = append(out, Relation{ID: f[0], Label: f[1], LabelZH: f[2]})
	}
	return NewLexicon().Relations(out)
}

func world() []Relation {
	var out []Relation
	for _, r := range worldgen.Relations() {
		out = append(out, Relation{ID: r.ID, Label: r.Label, LabelZH: r.LabelZH, Forward: Phrase(r.Forward), Inverse: Phrase(r.Inverse)})
	}
	return NewLexicon(out...).Relations(out)
}

func paths() []Relation {
	var out []Relation
	for _, id := range strings.Fields(`/people/person/nationality /film/film/genre /award/award_nominee/award_nominations./award/award_nomination/award
		/film/actor/film./film/performance/film /film/director/film /location/location/contains /people/person/profession
		/music/artist/origin /education/educational_institution/students_graduates./education/education/student
		/sports/sports_team/sport /location/hud_county_place/place /base/popstra/celebrity/friendship./base/popstra/friendship/participant
		/organization/organization/headquarters./location/mailing_address/citytown /tv/tv_program/country_of_origin`) {
		out = append(out, Relation{ID: id})
	}
	for _, l := range []string{"owned by", "member of", "influenced by", "birthPlace", "http://example.org/ontology/almaMater", "first performance"} {
		out = append(out, Relation{ID: l})
	}
	return NewLexicon().Relations(out)
}

var names = strings.Split("Bob Stone|Paris|St. Louis|University of Paris|The Song of Ralen|J. R. R. Tolkien|Tom and Jerry|Who?|Will and Grace, Inc.|Anna|Ann|New York City|"+
	"Yes Minister. Yes!|the year 1953|Return to Momiv|13 March 1963|1,204,511|O'Neil, Ed and Co.|東京|巴贝恩|Is it you?", "|")

var namesZH = strings.Split("巴贝恩|达德·迪多夫|拉勒利大学|来自塔特莉的信|北京|张三|张三丰|的里雅斯特|人民的名义|Paris|谁是谁|1963年3月13日|1204511|这个杀手不太冷|第一个人|一个陌生女人的来信|并且", "|")

// draw is a random plan: a tree of variables, names at its leaves and elsewhere, sometimes a cycle, marks.
func draw(pick picker, rels []Relation, names []string) Plan {
	n := 1 + pick(6)
	p := Plan{Kinds: make([]Kind, n)}
	for i := range n {
		p.Kinds[i] = Kind(pick(int(kinds)))
	}
	join := func(a, b Term) {
		if pick(2) == 0 {
			a, b = b, a
		}
		p.Atoms = append(p.Atoms, Atom{a, rels[pick(len(rels))], b})
	}
	for i := 1; i < n; i++ {
		up := i - 1
		if pick(3) == 0 {
			up = pick(i)
		}
		join(Var(up), Var(i))
	}
	p.Answer = pick(n)
	for i := range n {
		for k := pick(4) - 1; k > 0; k-- {
			join(Var(i), Name(names[pick(len(names))]))
		}
	}
	if len(p.Atoms) == 0 || n > 1 && pick(3) > 0 {
		join(Var(n-1), Name(names[pick(len(names))]))
	}
	if n > 2 && pick(5) == 0 {
		if a, b := pick(n), pick(n); a != b {
			join(Var(a), Var(b))
		}
	}
	for k := pick(3); k > 0; k-- {
		p.Marks = append(p.Marks, drawMark(pick, pick(n)))
	}
	if len(p.about(p.Answer)) == 0 {
		join(Var(p.Answer), Name(names[0]))
	}
	return p
}

func drawMark(pick picker, v int) Mark {
	y := int64(10 * pick(202))
	classes := [][2]string{{"city", "城市"}, {"novelist", "小说家"}, {"American film", "美国电影"}, {"opera", "歌剧"}}
	switch pick(7) {
	case 0:
		c := classes[pick(len(classes))]
		return Mark{Var: v, Kind: IsClass, Class: c[0], ClassZH: c[1]}
	case 1:
		return Mark{Var: v, Kind: InYears, From: y, To: y + 9}
	case 2:
		return Mark{Var: v, Kind: InYears, From: y - 30, To: y + int64(pick(5))}
	case 3:
		return Mark{Var: v, Kind: Between, From: y, To: y * 10}
	case 4:
		return Mark{Var: v, Kind: BeginsWith, Text: []string{"B", "巴", "St"}[pick(3)]}
	case 5:
		return Mark{Var: v, Kind: HasLetters, From: 1 + int64(pick(5)), To: 8}
	}
	return Mark{Var: v, Kind: Between, From: NoLeast, To: y}
}

func (a Atom) String() string {
	t := func(t Term) string {
		if t.Name != "" {
			return t.Name
		}
		return fmt.Sprintf("?%d", t.Var)
	}
	return t(a.Subject) + " -" + firstOf(a.Relation.ID, a.Relation.Label) + "-> " + t(a.Object)
}
