package rewards

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/quarry-rl/quarry"
)

// Matcher finds the entities a text names. Forms and text are compared after NFKC, case folding and white space
// collapsed to one space. A form that begins or ends in a letter or digit of a script with spaces must stand at a word
// boundary there ("Ur" is not in "our"); scripts without spaces have no boundaries, and their forms need two
// characters. It is an Aho-Corasick automaton over bytes and safe for concurrent use.
type Matcher struct {
	entities int
	classes  [256]uint8 // byte -> column of next; 0 for bytes no form has
	width    uint32     // columns
	next     []uint32   // state*width -> following state*width, with hitBit when a form ends there
	hits     [][]hit    // by state
}

// hitBit marks a transition into a state in which some form ends.
const hitBit = 1 << 31

// hit is a form that ends in a state.
type hit struct {
	entity             int
	length             int // bytes of the folded form
	wordStart, wordEnd bool
}

// NewMatcher compiles the names and aliases of entities. Forms without a letter or digit, and lone characters of a
// script without spaces, are not used.
func NewMatcher(entities []quarry.Named) *Matcher {
	m := &Matcher{entities: len(entities)}
	b := builder{children: []map[byte]int{{}}, hits: [][]hit{nil}}
	for i, e := range entities {
		b.add(i, e.Name)
		for _, alias := range e.Aliases {
			b.add(i, alias)
		}
	}
	b.compile(m)
	return m
}

// Find returns the indices of the entities that text names, ascending, each once.
func (m *Matcher) Find(text string) []int {
	if len(m.hits) < 2 {
		return nil
	}
	folded := fold(make([]byte, 0, len(text)+8), text)
	found := make([]bool, m.entities)
	var out []int
	state := uint32(0)
	for i, c := range folded {
		state = m.next[state+uint32(m.classes[c])]
		if state&hitBit == 0 {
			continue
		}
		state &^= hitBit
		for _, h := range m.hits[state/m.width] {
			if !found[h.entity] && h.stands(folded, i+1) {
				found[h.entity] = true
				out = append(out, h.entity)
			}
		}
	}
	slices.Sort(out)
	return out
}

// stands checks the word boundaries of a form that ends before text[end].
func (h hit) stands(text []byte, end int) bool {
	if h.wordStart {
		if r, n := utf8.DecodeLastRune(text[:end-h.length]); n > 0 && spaced(r) {
			return false
		}
	}
	if h.wordEnd {
		if r, n := utf8.DecodeRune(text[end:]); n > 0 && spaced(r) {
			return false
		}
	}
	return true
}

// builder is the trie before its transitions are complete.
type builder struct {
	children []map[byte]int
	hits     [][]hit
}

// add puts one form of an entity into the trie.
func (b *builder) add(entity int, form string) {
	text := fold(nil, form)
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	for len(text) > 0 && text[len(text)-1] == ' ' {
		text = text[:len(text)-1]
	}
	words, others := 0, 0
	for _, r := range string(text) {
		if spaced(r) {
			words++
		} else if unicode.IsLetter(r) {
			others++
		}
	}
	if words == 0 && others < 2 {
		return
	}
	state := 0
	for _, c := range text {
		to, ok := b.children[state][c]
		if !ok {
			to = len(b.children)
			b.children = append(b.children, map[byte]int{})
			b.hits = append(b.hits, nil)
			b.children[state][c] = to
		}
		state = to
	}
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	h := hit{entity: entity, length: len(text), wordStart: spaced(first), wordEnd: spaced(last)}
	if !slices.Contains(b.hits[state], h) {
		b.hits[state] = append(b.hits[state], h)
	}
}

// compile fills m with complete transitions, breadth first, each state inheriting those of its longest suffix.
func (b *builder) compile(m *Matcher) {
	used := 0
	for _, edges := range b.children {
		for c := range edges {
			if m.classes[c] == 0 {
				used++ // at most 244 bytes occur in UTF-8
				m.classes[c] = uint8(used)
			}
		}
	}
	m.width = uint32(used + 1)
	m.next = make([]uint32, len(b.children)*int(m.width))
	m.hits = b.hits
	suffix := make([]int, len(b.children))
	queue := []int{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		row := m.next[state*int(m.width):][:m.width]
		if state != 0 {
			copy(row, m.next[suffix[state]*int(m.width):][:m.width])
			m.hits[state] = append(m.hits[state], m.hits[suffix[state]]...)
		}
		for c, to := range b.children[state] {
			column := m.classes[c]
			if state != 0 {
				suffix[to] = int((row[column] &^ hitBit) / m.width)
			}
			row[column] = uint32(to) * m.width
			queue = append(queue, to)
		}
	}
	for i, to := range m.next {
		if len(m.hits[(to&^hitBit)/m.width]) > 0 {
			m.next[i] |= hitBit
		}
	}
}

// fold appends text to dst after NFKC, simple case folding (and sharp s as ss) and white space collapsed.
func fold(dst []byte, text string) []byte {
	var scratch []byte
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if f := asciiFold[c]; f != ' ' || len(dst) == 0 || dst[len(dst)-1] != ' ' {
				dst = append(dst, f)
			}
			i++
			continue
		}
		// A run outside ASCII may compose with the character before it, never with the ASCII one after it.
		start, end := i, i
		for end < len(text) && text[end] >= utf8.RuneSelf {
			end++
		}
		if i > 0 && len(dst) > 0 && dst[len(dst)-1] != ' ' {
			start, dst = i-1, dst[:len(dst)-1]
		}
		scratch = norm.NFKC.AppendString(scratch[:0], text[start:end])
		dst = foldRunes(dst, scratch)
		i = end
	}
	return dst
}

func foldRunes(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case unicode.IsSpace(r):
			if len(dst) == 0 || dst[len(dst)-1] != ' ' {
				dst = append(dst, ' ')
			}
		case r == 'ß' || r == 'ẞ':
			dst = append(dst, 's', 's')
		default:
			dst = utf8.AppendRune(dst, foldRune(r))
		}
	}
	return dst
}

// foldRune is one representative of the characters that differ from r in case only; the ASCII letter if there is one.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(asciiFold[r])
	}
	if r >= 0x2E80 && r < 0xA000 { // CJK has no case
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least < utf8.RuneSelf {
		return rune(asciiFold[least])
	}
	return least
}

// asciiFold lower-cases letters and turns white space into a blank.
var asciiFold = func() (t [utf8.RuneSelf]byte) {
	for i := range t {
		switch r := rune(i); {
		case unicode.IsSpace(r):
			t[i] = ' '
		default:
			t[i] = byte(unicode.ToLower(r))
		}
	}
	return t
}()

// spaced says whether r is a letter, digit or mark of a script that puts spaces between words.
func spaced(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if r == utf8.RuneError || !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
		return false
	}
	return !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
