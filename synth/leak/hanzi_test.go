package leak

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHanzi(t *testing.T) {
	pairs := strings.Fields(hanziPairs)
	if len(pairs) < 500 || len(simplified) != len(pairs) {
		t.Errorf("%d pairs of %d characters: some stand twice", len(pairs), len(simplified))
	}
	for _, p := range pairs {
		if utf8.RuneCountInString(p) != 2 {
			t.Errorf("%q is no pair", p)
		}
	}
	for trad, simp := range simplified {
		if _, ok := simplified[simp]; ok {
			t.Errorf("%c becomes %c, which becomes another", trad, simp)
		}
	}
}
