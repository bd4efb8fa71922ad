package leak

import (
	"crypto/sha256"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Folded is a text in the form in which surfaces are compared, with the way back to the text it was made from.
type Folded struct {
	Text  string
	start []int32 // by byte of Text: where the character it came from begins
	end   []int32 // and ends
}

// Range is the bytes of the original that Text[i:j] came from; i < j.
func (f *Folded) Range(i, j int) (start, end int) { return int(f.start[i]), int(f.end[j-1]) }

// Fold brings a text into the form surfaces are compared in: NFKC (full width), case folded, Latin and Greek letters
// without their marks, common traditional Chinese characters as simplified ones, and one blank for every run of other
// characters. White space and the dots within names leave no blank beside characters of scripts without spaces.
func Fold(text string) *Folded {
	w := folder{out: &Folded{}}
	w.out.start, w.out.end = make([]int32, 0, len(text)), make([]int32, 0, len(text))
	segments(text, func(from, to int, segment string) {
		w.from, w.to = int32(from), int32(to)
		for _, r := range segment {
			w.rune(r)
		}
	})
	w.out.Text = w.b.String()
	return w.out
}

type folder struct {
	b        strings.Builder
	out      *Folded
	from, to int32 // of the segment
	last     rune  // last character put, 0 before any
	gap      gap
}

type gap int

const (
	none  gap = iota
	loose     // white space, middle dots
	hard      // anything else
)

func (w *folder) rune(r rune) {
	switch {
	case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
		w.put(r)
	case 'A' <= r && r <= 'Z':
		w.put(r + 'a' - 'A')
	case unicode.Is(unicode.Mn, r):
		// a mark that does not compose: on Latin and Greek it goes like those that do
		if w.gap == none && w.last != 0 && !unicode.In(w.last, unicode.Latin, unicode.Greek) {
			w.put(r)
		}
	case unicode.IsLetter(r):
		w.letter(r)
	case unicode.IsNumber(r) || unicode.IsMark(r):
		w.put(r)
	case unicode.Is(unicode.Cf, r): // zero-width
	case unicode.IsSpace(r) || middleDot(r):
		w.gap = max(w.gap, loose)
	default:
		w.gap = hard
	}
}

func middleDot(r rune) bool { return strings.ContainsRune("·•‧∙⋅・･", r) }

func (w *folder) letter(r rune) {
	if Unbroken(r) {
		if s, ok := simplified[r]; ok {
			r = s
		}
		w.put(r)
		return
	}
	r = unicode.ToLower(r)
	if r >= utf8.RuneSelf && unicode.In(r, unicode.Latin, unicode.Greek) {
		if s, ok := ligatures[r]; ok {
			for _, x := range s {
				w.put(x)
			}
			return
		}
		base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		if s, ok := ligatures[base]; ok {
			for _, x := range s {
				w.put(x)
			}
			return
		}
		r = base
	}
	w.put(r)
}

// ligatures are letters that no decomposition takes apart.
var ligatures = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŧ': "t", 'ŋ': "n", 'ς': "σ"}

func (w *folder) put(r rune) {
	if w.last != 0 && (w.gap == hard || w.gap == loose && !Unbroken(w.last) && !Unbroken(r)) {
		w.write(' ')
	}
	w.gap, w.last = none, r
	w.write(r)
}

func (w *folder) write(r rune) {
	n, _ := w.b.WriteRune(r)
	for range n {
		w.out.start, w.out.end = append(w.out.start, w.from), append(w.out.end, w.to)
	}
}

// Unbroken says whether r is a letter of a script whose text shows no reliable word boundaries.
func Unbroken(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return r == 'ー' || r == '々' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// worded says whether r, of a folded text, belongs to a word that has boundaries.
func worded(r rune) bool { return r != ' ' && !Unbroken(r) }

// compatible is text after NFKC with the way back: what residue of templates is looked for in.
func compatible(text string) *Folded {
	f := &Folded{}
	var b strings.Builder
	segments(text, func(from, to int, segment string) {
		b.WriteString(segment)
		for range len(segment) {
			f.start, f.end = append(f.start, int32(from)), append(f.end, int32(to))
		}
	})
	f.Text = b.String()
	return f
}

// segments calls f with each part of a text that normalises by itself, and its NFKC.
func segments(text string, f func(from, to int, segment string)) {
	for at := 0; at < len(text); {
		n := 1 // ASCII before ASCII stands alone
		if text[at] >= utf8.RuneSelf || at+1 < len(text) && text[at+1] >= utf8.RuneSelf {
			if n = norm.NFKC.NextBoundaryInString(text[at:], true); n <= 0 {
				n = len(text) - at
			}
			f(at, at+n, norm.NFKC.String(text[at:at+n]))
		} else {
			f(at, at+n, text[at:at+n])
		}
		at += n
	}
}

// FoldHash is of the tables Fold depends on: files that hold hashes of folded text keep it.
func FoldHash() [32]byte {
	return sha256.Sum256([]byte("fold/1\x00" + unicode.Version + "\x00" + norm.Version + "\x00" + hanziPairs))
}
