package worldgen

import (
	"slices"
	"strings"
)

// Names by syllables: a consonant, a vowel, a character. Words are syllables and an ending that only one kind of entity
// has, so that no name is part of another's, in either script, and each reads back into its syllables in one way only.
const (
	onsets  = "b d f g h k l m n p r s t v z j sh ch y w"
	vowels  = "aeiou"
	symbols = "巴贝比博布" + "达德迪多杜" + "法费菲福富" + "加格吉戈古" + "哈赫希霍胡" + "卡克基科库" + "拉勒利洛卢" + "马梅米莫穆" + "纳内尼诺努" + "帕佩皮波普" +
		"莱雷里罗鲁" + "萨塞西索苏" + "塔特蒂托图" + "瓦维威沃乌" + "扎泽齐佐祖" + "贾杰季乔朱" + "沙舍什肖舒" + "查切奇绰楚" + "亚耶伊约尤" + "华韦卫翁吴"
)

// ending closes a made-up word.
type ending struct{ en, zh string }

// endings by kind; those of people close their family names. Countries have one.
var endings = [kinds][]ending{
	country:      {{"nia", "尼娅"}},
	city:         {{"n", "恩"}, {"r", "尔"}, {"m", "姆"}, {"ng", "昂"}},
	organisation: {{"k", "凯"}, {"x", "锡"}, {"t", "忒"}, {"p", "珀"}},
	person:       {{"v", "夫"}, {"sk", "斯"}, {"ld", "耳"}, {"nd", "登"}},
	work:         {{"l", "莉"}, {"th", "丝"}, {"sh", "许"}, {"d", "笛"}},
	event:        {{"b", "柏"}, {"g", "葛"}, {"f", "孚"}, {"z", "滋"}},
}

// class is a kind within a kind: what it is called, and the frame its names have around {w}.
type class struct{ noun, en, zh string }

// classes by kind; entities have them in turn.
var classes = [kinds][]class{
	country: {{"country", "{w}", "{w}"}},
	city:    {{"city", "{w}", "{w}"}},
	organisation: {{"university", "{w} University", "{w}大学"}, {"publisher", "{w} Press", "{w}出版社"}, {"company", "{w} Company", "{w}公司"},
		{"institute", "{w} Institute", "{w}研究所"}},
	person: {{"person", "{w}", "{w}"}},
	work: {{"novel", "The House of {w}", "{w}之家"}, {"film", "Return to {w}", "重返{w}"}, {"opera", "The Song of {w}", "{w}之歌"}, {"poem", "Letters from {w}", "来自{w}的信"},
		{"painting", "Winter in {w}", "{w}的冬天"}, {"play", "The Last {w}", "最后的{w}"}},
	event: {{"festival", "{w} Festival", "{w}艺术节"}, {"congress", "{w} Congress", "{w}大会"}, {"fair", "{w} Fair", "{w}博览会"}, {"contest", "{w} Contest", "{w}比赛"}},
}

func classOf(k kind, n int) *class { return &classes[k][n%len(classes[k])] }

func describe(k kind, n int) string { return classOf(k, n).noun }

const sylCount = 100

// unfit are given names that search passes over as stop words, or that would offend.
const unfit = "been before have here more same some there were nazi rape homo pedo puta kuso hoho caca kaka jude gaza kike yobo negi peni pusi titi"

type syllable struct{ en, zh string }

func syllables() []syllable {
	out := make([]syllable, 0, sylCount)
	zh := []rune(symbols)
	for i, c := range strings.Fields(onsets) {
		for j, v := range vowels {
			out = append(out, syllable{c + string(v), string(zh[i*len(vowels)+j])})
		}
	}
	return out
}

// namer gives entities their names: a shuffle of all that their kind can have.
type namer struct {
	syl   []syllable
	given []int // two syllables each: a*sylCount + b
	by    [kinds]shuffle
	count [kinds]int

	first, second []string // words:2
	pairs         shuffle
}

func newNamer(o Options, entities int, count [kinds]int) namer {
	w := World{o: o}
	m := namer{syl: syllables(), count: count}
	if o.Names == TwoWords {
		m.first, m.second = twoWords(entities)
		m.pairs = newShuffle(uint64(len(m.first)*len(m.second)), w.stream(0, aboutNames))
		return m
	}
	bad := strings.Fields(unfit)
	for c := range sylCount * sylCount {
		if !slices.Contains(bad, m.syl[c/sylCount].en+m.syl[c%sylCount].en) {
			m.given = append(m.given, c)
		}
	}
	for k := range kinds {
		size := uint64(sylCount * sylCount * len(endings[k]))
		switch k {
		case country:
		case person:
			size *= uint64(len(m.given))
		default:
			size *= sylCount
		}
		m.by[k] = newShuffle(size, w.stream(int(k), aboutNames))
	}
	return m
}

// of is a name of entity n of a kind; the second one is its alias.
func (m *namer) of(w *World, k kind, n int, second bool) (en, zh string) {
	if w.o.Names == TwoWords {
		p := int(m.pairs.at(uint64(w.first[k] + n)))
		en = m.first[p/len(m.second)] + " " + m.second[p%len(m.second)]
		return en, en
	}
	x := n
	if second {
		x += m.count[k]
	}
	code := int(m.by[k].at(uint64(x)))
	end := endings[k][code%len(endings[k])]
	code /= len(endings[k])
	var e, z []byte
	syl := func(c int) {
		e, z = append(e, m.syl[c].en...), append(z, m.syl[c].zh...)
	}
	if k == person {
		g := m.given[code%len(m.given)]
		code /= len(m.given)
		syl(g / sylCount)
		syl(g % sylCount)
		capital(e)
		e, z = append(e, ' '), append(z, "·"...)
	}
	from := len(e)
	for range 2 {
		syl(code % sylCount)
		code /= sylCount
	}
	if k != person && k != country {
		syl(code)
	}
	capital(e[from:])
	e, z = append(e, end.en...), append(z, end.zh...)
	c := classOf(k, n)
	return strings.Replace(c.en, "{w}", string(e), 1), strings.Replace(c.zh, "{w}", string(z), 1)
}

func capital(word []byte) { word[0] -= 'a' - 'A' }
