package resolve

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/quarry-rl/quarry"
)

// block is the entities that share a key. Score is what the rule alone is worth.
type block struct {
	rule    Rule
	key     string
	score   float64
	members []int32
}

// fold is a surface form for comparison: compatibility forms, without marks and case, words between single blanks.
func fold(s string) string {
	s = norm.NFD.String(norm.NFKC.String(s))
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
	return norm.NFC.String(quarry.Normalize(s))
}

// weight is how much an equal surface form says: a name of one word is shared by many people, less often by places. CJK
// names are written without blanks: three characters are a full name.
func weight(folded, typ string) float64 {
	words, letters := 0, 0
	for w := range strings.FieldsSeq(folded) {
		n, cjk := 0, false
		for _, r := range w {
			n++
			cjk = cjk || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
		}
		letters += n
		switch {
		case cjk && n >= 3:
			words += 2
		case n > 1:
			words++
		}
	}
	switch {
	case letters < 3 && words < 2:
		return 0.2
	case words >= 3:
		return 0.97
	case words == 2:
		return 0.93
	case typ == "PER":
		return 0.35
	case typ == "":
		return 0.6
	}
	return 0.8
}

// blocks lists the keys that two entities or more share, best first.
func (r *resolver) blocks() []block {
	type slot struct { // entities by how they bear a form
		names, aliases []int32
	}
	full := map[string]*slot{} // by folded form
	words := map[string][]int32{}
	initials := map[string][]int32{}
	short := map[string][]int32{} // acronyms: the long forms by their initials
	for i := range r.ents {
		e := &r.ents[i]
		if r.shut[i] {
			continue
		}
		seen := map[string]bool{}
		for k, s := range append([]string{e.Name}, e.Aliases...) {
			f := fold(s)
			if f == "" || seen[f] {
				continue
			}
			seen[f] = true
			x := full[f]
			if x == nil {
				x = &slot{}
				full[f] = x
			}
			if k == 0 {
				x.names = append(x.names, int32(i))
			} else {
				x.aliases = append(x.aliases, int32(i))
			}
			r.moreKeys(int32(i), f, k == 0, words, initials, short)
		}
	}
	var out []block
	for key, x := range full {
		if len(x.names)+len(x.aliases) < 2 {
			continue
		}
		w := r.weight(key, x.names, x.aliases)
		if len(x.names) > 1 {
			out = append(out, block{RuleName, key, w, x.names})
		}
		if len(x.aliases) == 0 {
			continue
		}
		all := slices.Concat(x.names, x.aliases)
		if len(x.names) > 0 {
			out = append(out, block{RuleAlias, key, w * 0.85, all})
		} else {
			out = append(out, block{RuleAliases, key, w * 0.75, all})
		}
	}
	add := func(rule Rule, keys map[string][]int32, score float64) {
		for key, m := range keys {
			m = slices.Compact(m)
			if len(m) > 1 {
				out = append(out, block{rule, key, score, m})
			}
		}
	}
	add(RuleWords, words, 0.85)
	add(RuleInitial, initials, 0.5)
	for key, long := range short {
		if x := full[key]; x != nil {
			out = append(out, block{RuleAcronym, key, 0.6, slices.Concat(x.names, x.aliases, long)})
		}
	}
	for i := range out {
		slices.Sort(out[i].members)
		out[i].members = slices.Compact(out[i].members)
	}
	slices.SortFunc(out, func(a, b block) int {
		switch {
		case a.score != b.score:
			return int((b.score - a.score) * 1e6)
		case a.rule != b.rule:
			return compare(string(a.rule), string(b.rule))
		}
		return compare(a.key, b.key)
	})
	return out
}

// weight is that of the weakest type among those that share a form.
func (r *resolver) weight(key string, lists ...[]int32) float64 {
	w := 1.0
	for _, l := range lists {
		for _, i := range l {
			w = min(w, weight(key, r.ents[i].Type))
		}
	}
	return w
}

// moreKeys are those of names that are alike but not the same. Their words must be few enough to be a name.
func (r *resolver) moreKeys(i int32, folded string, name bool, words, initials, short map[string][]int32) {
	w := strings.Fields(folded)
	if len(w) < 2 || len(w) > 8 {
		return
	}
	var long []string
	for _, x := range w {
		if len([]rune(x)) > 1 {
			long = append(long, x)
		}
	}
	if name && len(long) > 1 {
		sorted := slices.Sorted(slices.Values(long))
		k := strings.Join(sorted, " ")
		words[k] = append(words[k], i)
	}
	typ := r.ents[i].Type
	if r.opt.Initials && name && (typ == "PER" || typ == "") {
		k := string([]rune(w[0])[:1]) + " " + w[len(w)-1]
		initials[k] = append(initials[k], i)
	}
	if r.opt.Acronyms && len(w) >= 3 && typ != "PER" {
		var b strings.Builder
		for _, x := range w {
			if !slices.Contains([]string{"of", "the", "and", "for", "de", "in"}, x) {
				b.WriteString(string([]rune(x)[:1]))
			}
		}
		if k := b.String(); len([]rune(k)) >= 3 {
			short[k] = append(short[k], i)
		}
	}
}
