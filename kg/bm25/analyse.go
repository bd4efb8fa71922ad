package bm25

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Analyser names how text becomes terms: NFKC, lower case, Latin and Greek letters without their diacritics, English
// possessives and plurals cut, stop words left out, bigrams of CJK characters. It is stored in every index.
const Analyser = "quarry/1"

// maxTerm bounds a term in bytes; longer ones are cut, in passages and queries alike.
const maxTerm = 64

// AnalyserHash is of everything the analyser's outcome depends on: stop words, folded letters, CJK scripts and the
// versions of Unicode. An index built under another hash is refused.
func AnalyserHash() [32]byte { return analyserHash }

var analyserHash = hashTables()

func hashTables() [32]byte {
	h := sha256.New()
	for _, s := range []string{Analyser, stopWords, unicode.Version, norm.Version} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	var b [4]byte
	for r := rune(0x80); r < foldEnd; r++ {
		h.Write([]byte(folded(r)))
		h.Write([]byte{0})
	}
	for _, t := range cjkScripts {
		for _, r := range t.R16 {
			binary.LittleEndian.PutUint32(b[:], uint32(r.Lo)<<16|uint32(r.Hi))
			h.Write(b[:])
		}
	}
	return [32]byte(h.Sum(nil))
}

// stopWords carry no content in a passage or a question.
const stopWords = "a about after all also am an and another any are as at be because been before being both but by can could did do does doing during each either for from further had has have having he her here hers him his how i if in into is it its itself just me more most my no nor not of off on once only or other our out over own same she should so some such than that the their them then there these they this those through to too under until up us very was we were what when where which while who whom whose why will with would you your"

var stops = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(stopWords) {
		m[w] = true
	}
	return m
}()

var cjkScripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

func isCJK(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return r == 'ー' || r == '々' || unicode.In(r, cjkScripts...) && unicode.IsLetter(r)
}

// foldEnd bounds the letters whose diacritics are folded: Latin and Greek blocks end below it.
const foldEnd = 0x2000

const noFold = "" // a rune that stands for itself

var folds = foldTable()

// special letters that no decomposition takes apart.
var special = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŧ': "t", 'ŋ': "n", 'ς': "σ"}

func foldTable() (t [foldEnd]string) {
	for r := rune(0x80); r < foldEnd; r++ {
		t[r] = folded(r)
	}
	return t
}

// folded is a rune in lower case and, when it is a Latin or Greek letter, without its marks; noFold when it stays.
func folded(r rune) string {
	low := unicode.ToLower(r)
	if s, ok := special[low]; ok {
		return s
	}
	base := low
	if d := norm.NFD.String(string(low)); unicode.In(low, unicode.Latin, unicode.Greek) && d != string(low) {
		base, _ = utf8.DecodeRuneInString(d)
	}
	if s, ok := special[base]; ok { // ǿ is ø with a mark
		return s
	}
	if base == r {
		return noFold
	}
	return string(base)
}

// Terms are the terms of a text in order, as passages and queries are indexed and searched by.
func Terms(text string) []string {
	var out []string
	for s := newScanner(text); ; {
		t := s.next()
		if t == nil {
			return out
		}
		out = append(out, string(t))
	}
}

// scanner takes a text apart. Its buffer is used again for each term.
type scanner struct {
	text string
	pos  int
	buf  []byte
	cjk  rune // character before pos when the next one makes a bigram with it, else 0
}

func newScanner(text string) scanner { return scanner{text: normal(text)} }

// normal is the text in NFKC; most texts are so already and cost one look. Bytes that are no UTF-8 part words; they go
// first, for beside them norm takes anything for normal.
func normal(text string) string {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			text = strings.ToValidUTF8(text, " ")
			if norm.NFKC.IsNormalString(text) {
				return text
			}
			return norm.NFKC.String(text)
		}
	}
	return text
}

// next is the next term, nil at the end; it is good until the next call.
func (s *scanner) next() []byte {
	for s.pos < len(s.text) {
		if t := s.word(); t != nil {
			return t
		}
	}
	return nil
}

// word reads on to the end of a term; nil when what it read is none.
func (s *scanner) word() []byte {
	s.buf = s.buf[:0]
	for s.pos < len(s.text) {
		if c := s.text[s.pos]; c < utf8.RuneSelf {
			s.cjk = 0
			f := ascii[c]
			if f == 0 {
				if len(s.buf) > 0 {
					return s.finish()
				}
				s.pos++
				continue
			}
			s.pos++
			s.buf = append(s.buf, f)
			continue
		}
		r, n := utf8.DecodeRuneInString(s.text[s.pos:])
		switch {
		case isCJK(r):
			if len(s.buf) > 0 {
				return s.finish()
			}
			if t := s.bigram(r, n); t != nil {
				return t
			}
			continue
		case 0x300 <= r && r < 0x370:
			// a mark that has no composed form with its letter: left out after the letters that fold
			if len(s.buf) > 0 && s.buf[len(s.buf)-1] < utf8.RuneSelf {
				s.pos += n
				continue
			}
		case !unicode.In(r, unicode.L, unicode.N, unicode.M):
			s.cjk = 0
			if len(s.buf) > 0 {
				return s.finish()
			}
			s.pos += n
			continue
		}
		s.cjk = 0
		s.pos += n
		if r < foldEnd && folds[r] != noFold {
			s.buf = append(s.buf, folds[r]...)
		} else {
			s.buf = utf8.AppendRune(s.buf, unicode.ToLower(r))
		}
	}
	if len(s.buf) > 0 {
		return s.finish()
	}
	return nil
}

// bigram steps over the CJK character r of n bytes. A character with no CJK neighbour is a term of its own.
func (s *scanner) bigram(r rune, n int) []byte {
	before := s.cjk
	s.cjk = r
	s.pos += n
	if before != 0 {
		s.buf = utf8.AppendRune(s.buf, before)
	} else if next, _ := utf8.DecodeRuneInString(s.text[s.pos:]); isCJK(next) {
		return nil
	}
	s.buf = utf8.AppendRune(s.buf, r)
	return s.buf
}

// ascii maps a byte of a word to its lower case, any other to 0.
var ascii = func() (t [utf8.RuneSelf]byte) {
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = c, c
	}
	return t
}()

// finish ends the word in the buffer: nil for a stop word.
func (s *scanner) finish() []byte {
	s.possessive()
	if len(s.buf) > maxTerm {
		n := maxTerm
		for !utf8.RuneStart(s.buf[n]) {
			n--
		}
		s.buf = s.buf[:n]
	}
	if stops[string(s.buf)] {
		return nil
	}
	s.buf = singular(s.buf)
	return s.buf
}

// possessive steps over the 's after a word.
func (s *scanner) possessive() {
	rest := s.text[s.pos:]
	for _, mark := range []string{"'s", "’s", "'S", "’S"} {
		if strings.HasPrefix(rest, mark) {
			after := rest[len(mark):]
			if r, _ := utf8.DecodeRuneInString(after); after == "" || !unicode.In(r, unicode.L, unicode.N, unicode.M) {
				s.pos += len(mark)
			}
			return
		}
	}
}

// singular cuts an English plural (the S stemmer: Harman, How effective is suffixing?, JASIS 1991).
func singular(w []byte) []byte {
	n := len(w)
	if n < 4 || w[n-1] != 's' {
		return w
	}
	switch {
	case w[n-2] == 's' || w[n-2] == 'u':
		return w
	case n >= 5 && w[n-2] == 'e' && w[n-3] == 'i' && w[n-4] != 'e' && w[n-4] != 'a':
		w[n-3] = 'y'
		return w[:n-2]
	}
	return w[:n-1]
}
