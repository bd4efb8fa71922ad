package leak

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nodeIDs are the shapes of ids: Wikidata items but Q1 to Q4, which are also quarters, numbered entities, documents and
// blank nodes, and Freebase machine ids.
var nodeIDs = regexp.MustCompile(`\bQ(?:[1-9]\d+|[5-9])\b|\b[Ee]\d{4,}\b|\bd\d{4,}\b|_:[A-Za-z]\w*|/[mg]/0\w+|\bwikidata\.org/\S+`)

// ids reports ids by shape, and the given ones in their own spelling where no letter or digit goes on.
func (c *checker) ids(plain *Folded, ids []string) {
	for _, m := range nodeIDs.FindAllStringIndex(plain.Text, -1) {
		start, end := plain.Range(m[0], m[1])
		c.add(KindNodeID, start, end, plain.Text[m[0]:m[1]])
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		for at := 0; ; {
			i := strings.Index(plain.Text[at:], id)
			if i < 0 {
				break
			}
			i += at
			at = i + len(id)
			before, _ := utf8.DecodeLastRuneInString(plain.Text[:i])
			after, _ := utf8.DecodeRuneInString(plain.Text[at:])
			if !goesOn(before) && !goesOn(after) {
				start, end := plain.Range(i, at)
				c.add(KindNodeID, start, end, id)
			}
		}
	}
}

func goesOn(r rune) bool {
	return r == '_' || r != utf8.RuneError && worded(r) && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// residues are what templates, prompts and de-duplicators leave behind, by name.
var residues = []struct {
	name string
	re   *regexp.Regexp
}{
	{"placeholder", regexp.MustCompile(`\$?\{[^{}]{0,80}\}|\[[A-Z][A-Z0-9_]{2,}\]|\b[A-Z]{2,}_[A-Z0-9_]+\b`)},
	{"tag", regexp.MustCompile(`</?[\pL_|][^<>]{0,80}>`)},
	{"format verb", regexp.MustCompile(`(?:^|[^\d%])%[sdvq]\b`)},
	{"variable", regexp.MustCompile(`(?:^|[\s(])\?[a-z]\w*`)},
	{"step label", regexp.MustCompile(`(?i)\b(?:step|hop)[ -]?\d+\b|步[骤驟]\s*[\d一二三四五六七八九十]+|第\s*[\d一二三四五六七八九十]+\s*[步跳]\s*:`)},
	{"answer label", regexp.MustCompile(`(?i)\bthe (?:final |correct )?answer is\b|\b(?:final )?answer\s*:|\bquestion\s*:|答案\s*[是为為:]|[问問][题題]\s*:`)},
	{"id suffix", regexp.MustCompile(`-[0-9a-f]{6,64}\b`)},
}

const brackets = "()[]{}【】《》「」『』〔〕〖〗"

func (c *checker) residue(plain *Folded) {
	for _, r := range residues {
		for _, m := range r.re.FindAllStringIndex(plain.Text, -1) {
			match := plain.Text[m[0]:m[1]]
			if r.name == "id suffix" && !(strings.ContainsAny(match, "0123456789") && strings.ContainsAny(match, "abcdef")) {
				continue // a year, or a word such as -facade
			}
			start, end := plain.Range(m[0], m[1])
			c.add(KindResidue, start, end, r.name)
		}
	}
	c.unbalanced(plain)
}

// unbalanced reports every bracket without its partner.
func (c *checker) unbalanced(plain *Folded) {
	pairs := []rune(brackets)
	type open struct {
		at   int
		kind int
	}
	var stack []open
	report := func(at int) {
		_, n := utf8.DecodeRuneInString(plain.Text[at:])
		start, end := plain.Range(at, at+n)
		c.add(KindResidue, start, end, "unbalanced bracket")
	}
	for at, r := range plain.Text {
		for i, b := range pairs {
			switch {
			case r != b:
			case i%2 == 0:
				stack = append(stack, open{at, i})
			case len(stack) > 0 && stack[len(stack)-1].kind == i-1:
				stack = stack[:len(stack)-1]
			default:
				report(at)
			}
		}
	}
	for _, o := range stack {
		report(o.at)
	}
}
