package extract

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

// How a statement's words lead to what it is about.
const (
	ByName    = "name"
	ByAlias   = "alias"
	ByPronoun = "pronoun"
)

// pronouns that may stand for an entity that was named before.
var pronouns = map[string]bool{"he": true, "she": true, "it": true, "they": true, "him": true, "her": true, "them": true, "his": true, "hers": true,
	"its": true, "their": true, "theirs": true, "who": true, "whose": true, "which": true, "this": true, "that": true, "these": true, "i": true, "we": true, "my": true, "our": true,
	"他": true, "她": true, "它": true, "他们": true, "她们": true, "它们": true, "其": true, "该": true, "此": true, "这": true, "我": true, "我们": true}

// source is a document with what grounding needs to know of it.
type source struct {
	doc    *Document
	sents  []store.Span
	folded string // of the whole text
	sha    string
}

func newSource(d *Document) *source {
	sum := sha256.Sum256([]byte(d.Text))
	return &source{doc: d, sents: d.spansOf(), folded: fold(d.Text), sha: hex.EncodeToString(sum[:])}
}

// fold is a text as words between blanks. Han and kana characters are words by themselves, as no blank parts them.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte(' ')
	blank := true
	for _, r := range s {
		alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
		if !alone && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
			continue
		}
		if alone && !blank {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		if blank = alone; alone {
			b.WriteByte(' ')
		}
	}
	if !blank {
		b.WriteByte(' ')
	}
	return b.String()
}

// says says whether folded text holds a name, word by word. A name without letters and digits is nowhere.
func says(folded, name string) bool {
	n := fold(name)
	return len(n) > 1 && strings.Contains(folded, n)
}

// window is the sentences that a span touches, and with before the sentence before them.
func (s *source) window(sp store.Span, before bool) string {
	i := sort.Search(len(s.sents), func(i int) bool { return s.sents[i].End > sp.Start })
	if i == len(s.sents) {
		return ""
	}
	j := max(i, sort.Search(len(s.sents), func(i int) bool { return s.sents[i].Start >= sp.End })-1)
	if before && i > 0 {
		i--
	}
	return s.doc.Text[s.sents[i].Start:max(s.sents[j].End, sp.End)]
}

// ground says how a span leads to an entity: by a name or an alias in the sentences it touches or the one before, or by a
// pronoun in it, when the shown text before names the entity; "" when it does not. The name itself must stand in the document.
func (s *source) ground(sp store.Span, shownFrom int, name string, aliases []string, mention string) string {
	if !says(s.folded, name) {
		return ""
	}
	near := fold(s.window(sp, true))
	named := func(folded string) string {
		if says(folded, name) {
			return ByName
		}
		if slices.ContainsFunc(aliases, func(a string) bool { return !pronoun(a) && says(folded, a) }) {
			return ByAlias
		}
		return ""
	}
	if by := named(near); by != "" {
		return by
	}
	if pronoun(mention) && says(fold(s.window(sp, false)), mention) && named(fold(s.doc.Text[shownFrom:sp.End])) != "" {
		return ByPronoun
	}
	return ""
}

func pronoun(s string) bool { return pronouns[strings.ToLower(strings.TrimSpace(s))] }

// groundValue is ground for dates and numbers, which a teacher writes in a form of its own: the year, or the digits, must
// stand in the window.
func (s *source) groundValue(sp store.Span, typ, value string) bool {
	near := s.window(sp, true)
	if typ == store.TypeTime {
		return says(fold(near), year(value))
	}
	plain := strings.NewReplacer(",", "", "\u202f", "", "\u00a0", "").Replace(near)
	at := strings.Index(plain, strings.TrimLeft(value, "-"))
	return at >= 0
}

// year is the year's digits as texts write them.
func year(time string) string {
	digits, _, _ := strings.Cut(strings.TrimPrefix(time, "-"), "-")
	return strings.TrimLeft(digits, "0")
}

// find lists where a span's words stand in a part of the text, in order, at most 50 places.
func find(text, words string, from, to int) []store.Span {
	var out []store.Span
	for from < to && len(out) < 50 {
		i := strings.Index(text[from:to], words)
		if i < 0 {
			break
		}
		out = append(out, store.Span{Start: from + i, End: from + i + len(words)})
		from += i + 1
		for from < to && text[from]&0xc0 == 0x80 {
			from++
		}
	}
	return out
}

// known keeps the aliases that the document has, without the name and doubles.
func (s *source) known(name string, aliases []string) []string {
	var out []string
	seen := map[string]bool{fold(name): true}
	for _, a := range aliases {
		a = strings.Join(strings.Fields(a), " ")
		if f := fold(a); !seen[f] && len(a) <= maxName && !pronoun(a) && says(s.folded, a) {
			seen[f] = true
			out = append(out, a)
		}
	}
	return out
}

// entityID is the same for equal names of one type in one document, and of no other: joining documents is kg/resolve's.
func entityID(doc, typ, name string) string { return doc + "#" + typ + ":" + key(name) }

func key(name string) string {
	if n := quarry.Normalize(name); n != "" {
		return n
	}
	return name
}
