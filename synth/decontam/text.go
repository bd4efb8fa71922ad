package decontam

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/quarry-rl/quarry/synth/leak"
)

// The lengths of n-grams and where they change.
const (
	gramLong  = 13 // words, when both questions have longWords or more
	gramShort = 8  // words
	longWords = 40
	gramCJK   = 20 // characters, when most of the benchmark's question is in a script without spaces
	leastWord = 4  // a question of fewer words is matched by whole questions only
	leastCJK  = 6
)

// wording is the whole text of a question, line breaks and punctuation gone, as tokens: words, and single characters of
// scripts without spaces.
type wording struct {
	folded string
	tokens []string
	cjk    bool
}

func word(text string) wording {
	w := wording{folded: leak.Fold(text).Text}
	single := 0
	for _, field := range strings.Fields(w.folded) {
		from := 0
		for at, r := range field {
			if !leak.Unbroken(r) {
				continue
			}
			if from < at {
				w.tokens = append(w.tokens, field[from:at])
			}
			w.tokens = append(w.tokens, string(r))
			from = at + len(string(r))
			single++
		}
		if from < len(field) {
			w.tokens = append(w.tokens, field[from:])
		}
	}
	w.cjk = 2*single > len(w.tokens)
	return w
}

// grams calls f with every n tokens in a row.
func (w *wording) grams(n int, f func(gram string)) {
	for i := 0; i+n <= len(w.tokens); i++ {
		f(strings.Join(w.tokens[i:i+n], "\x00"))
	}
}

// surface is the form in which answers and entities are compared.
func surface(s string) string {
	text := leak.Fold(s).Text
	if rest, cut := strings.CutPrefix(text, "the "); cut {
		return rest
	}
	return text
}

func surfaces(list []string) []string {
	var out []string
	for _, s := range list {
		if f := surface(s); f != "" {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// linking are small words inside a name.
const linking = " of the de la du van von der den al bin "

// names are the surfaces of what looks like a name: runs of capitalised words and numbers, and what stands in title
// marks. Words of grammar do not begin one.
func names(text string) []string {
	var out, run []string
	flush := func() {
		for len(run) > 0 && strings.Contains(linking, " "+run[len(run)-1]+" ") {
			run = run[:len(run)-1]
		}
		if len(run) > 0 {
			out = append(out, strings.Join(run, " "))
		}
		run = nil
	}
	for _, field := range strings.Fields(text) {
		core := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		before, after, _ := strings.Cut(field, core)
		if before != "" {
			flush()
		}
		first := []rune(core + " ")[0]
		possessive := strings.TrimSuffix(strings.TrimSuffix(core, "'s"), "’s")
		low := strings.ToLower(core)
		switch {
		case (unicode.IsUpper(first) || unicode.IsDigit(first)) && (len(run) > 0 || !leak.Grammar(low)):
			run = append(run, possessive)
		case len(run) > 0 && strings.Contains(linking, " "+low+" "):
			run = append(run, low)
		default:
			flush()
		}
		if after != "" || possessive != core {
			flush()
		}
	}
	flush()
	for rest := text; ; {
		_, after, ok := cutAny(rest, "《「『“")
		if !ok {
			break
		}
		title, tail, ok := cutAny(after, "》」』”")
		if !ok {
			break
		}
		out, rest = append(out, title), tail
	}
	return surfaces(out)
}

func cutAny(s, chars string) (before, after string, ok bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	for _, r := range s[i:] {
		return s[:i], s[i+len(string(r)):], true
	}
	return s, "", false
}

// page is a page's title in comparable form. An address on Wikipedia is its title, any other is host and path.
func page(s string) string {
	if u, err := url.Parse(strings.TrimSpace(s)); err == nil && u.Host != "" {
		if title, ok := strings.CutPrefix(u.Path, "/wiki/"); ok && strings.HasSuffix(u.Host, "wikipedia.org") {
			s = title
		} else {
			s = strings.TrimPrefix(u.Host, "www.") + u.Path
		}
	}
	return leak.Fold(strings.ReplaceAll(s, "_", " ")).Text
}

// pageSet is the set of pages in one string, "" for none.
func pageSet(pages []string) string {
	var out []string
	for _, p := range pages {
		if f := page(p); f != "" {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\x00")
}
