package near

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Characters of a shingle: one that begins with a character of a script without spaces has 3, any other 5.
const (
	shingleSpaced = 5
	shingleCJK    = 3
)

// Normal is the text shingles are cut from: NFKC, case folded, every digit 0, white space collapsed to one blank and
// left out beside CJK characters. Normal of it is itself.
func Normal(text string) string {
	if n, ok := normalASCII(text); ok {
		return n
	}
	var b strings.Builder
	b.Grow(len(text))
	blank, last := false, ' '
	put := func(r rune) {
		if blank && last != ' ' && !CJK(last) && !CJK(r) {
			b.WriteByte(' ')
		}
		blank, last = false, r
		b.WriteRune(r)
	}
	// NFKC again after folding: lower-casing can leave marks that compose or stand in another order
	for _, r := range norm.NFKC.String(foldCase(norm.NFKC.String(text))) {
		switch {
		case unicode.IsSpace(r):
			blank = true
		case unicode.Is(unicode.Cf, r): // zero-width
		default:
			put(r)
		}
	}
	return b.String()
}

// foldCase lower-cases runes, sharp s becomes ss, final sigma the other one, digits become 0.
func foldCase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			b.WriteByte('0')
		case r == 'ß' || r == 'ẞ':
			b.WriteString("ss")
		case r == 'ς':
			b.WriteRune('σ')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func normalASCII(text string) (string, bool) {
	out := make([]byte, 0, len(text))
	blank := false
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			return "", false
		case c == ' ' || '\t' <= c && c <= '\r':
			blank = true
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case '0' <= c && c <= '9':
			c = '0'
		}
		if blank && len(out) > 0 {
			out = append(out, ' ')
		}
		blank = false
		out = append(out, c)
	}
	return string(out), true
}

// CJK says whether r is a letter of a script that is written without spaces between words.
func CJK(r rune) bool {
	if r < 0x2E80 {
		return false
	}
	return r == 'ー' || r == '々' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo)
}

// AppendShingles appends the 64-bit hashes of the shingles of a normal text to dst, with repetitions. A text too short
// for any is one shingle, the empty text has none. Different seeds give unrelated hashes.
func AppendShingles(dst []uint64, normal string, seed uint64) []uint64 {
	before := len(dst)
	for i := 0; i < len(normal); {
		c := normal[i]
		end, size := i+shingleSpaced, 1
		if c >= utf8.RuneSelf || !asciiRun(normal, i) {
			end, size = window(normal, i)
		}
		if end < 0 || end > len(normal) {
			i += size
			continue
		}
		dst = append(dst, hash(normal, i, end, seed))
		i += size
	}
	if len(dst) == before && normal != "" {
		dst = append(dst, hash(normal, 0, len(normal), seed))
	}
	return dst
}

// asciiRun says whether the shingle that begins at i is of 5 bytes.
func asciiRun(s string, i int) bool {
	if i+8 <= len(s) {
		return word(s, i)&0x8080808080 == 0
	}
	for j := i; j < min(i+shingleSpaced, len(s)); j++ {
		if s[j] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// window is the end of the shingle that begins at i, -1 when the text ends before, and the size of its first character.
func window(s string, i int) (end, size int) {
	r, size := utf8.DecodeRuneInString(s[i:])
	n := shingleSpaced
	if CJK(r) {
		n = shingleCJK
	}
	end = i + size
	for range n - 1 {
		if end >= len(s) {
			return -1, size
		}
		_, k := utf8.DecodeRuneInString(s[end:])
		end += k
	}
	return end, size
}

func word(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// hash is of the bytes s[i:end]: words of 8, each mixed into the one before.
func hash(s string, i, end int, seed uint64) uint64 {
	h := seed ^ uint64(end-i)<<56
	for ; end-i > 8; i += 8 {
		h = mix(h ^ word(s, i))
	}
	var w uint64
	if n := end - i; i+8 <= len(s) {
		w = word(s, i) << (64 - 8*n) >> (64 - 8*n)
	} else {
		var b [8]byte
		copy(b[:], s[i:end])
		w = binary.LittleEndian.Uint64(b[:])
	}
	return mix(h ^ w)
}

// mix is a bijection that spreads every bit over all: the finisher of SplitMix64 behind a rotation.
func mix(x uint64) uint64 {
	x = bits.RotateLeft64(x, 23) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
