package near_test

import (
	"math"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry/synth/near"
)

func TestNormal(t *testing.T) {
	for in, want := range map[string]string{
		"  Who\r\n was  born\tin 1913? ": "who was born in 0000?",
		"Ｗｈｏ　ｗａｓ　ＢＯＲＮ　ｉｎ　１９１３？":          "who was born in 0000?",
		"STRASSE Straße":    "strasse strasse",
		"ΟΔΥΣΣΕΥΣ οδυσσευς": "οδυσσευσ οδυσσευσ",
		"长 江 在 哪里？":         "长江在哪里?",
		"长江 River 有 多长":     "长江river有多长",
		"e\u0301 and é":     "é and é",
		"zero\u200bwidth":   "zerowidth",
		"":                  "",
		" \n":               "",
	} {
		if got := near.Normal(in); got != want {
			t.Errorf("Normal(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShinglesGolden(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
	}{{"", 0}, {"abc", 1}, {"abcde", 1}, {"abcdefgh", 4}, {"长江在", 1}, {"长江", 1}, {"长江在哪里", 3}, {"abc长江在", 3}} {
		if got := near.AppendShingles(nil, tc.text, 1); len(got) != tc.n {
			t.Errorf("%q: %d shingles, want %d", tc.text, len(got), tc.n)
		}
	}
	// files hold what is derived from these hashes
	if got := near.AppendShingles(nil, "who wrote 长江之歌", 7)[:2]; !slices.Equal(got, []uint64{0x5cf72df668a4842c, 0xa89a16ab66f18a1e}) {
		t.Errorf("hashes changed: %#x", got)
	}
}

// TestShinglesAreTheDefinition compares the similarity of hash sets with that of sets of strings.
func TestShinglesAreTheDefinition(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab c1É长江é？ㄅßﬁ　")), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		want := jaccard(shingles(a), shingles(b))
		got := near.Jaccard(hashes(a), hashes(b))
		if math.Abs(got-want) > 1e-12 {
			t.Fatalf("Jaccard(%q, %q) = %v, want %v", a, b, got, want)
		}
	})
}

func hashes(text string) []uint64 {
	h := near.AppendShingles(nil, near.Normal(text), 3)
	slices.Sort(h)
	return slices.Compact(h)
}

func FuzzNormal(f *testing.F) {
	for _, s := range []string{"Who?", "Ｗｈｏ　长 江", "\xff\xfe", "ǰ̇İẞς", "가각 각"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := near.Normal(s)
		if utf8.ValidString(s) && near.Normal(n) != n {
			t.Fatalf("Normal(%q) = %q is not its own normal form: %q", s, n, near.Normal(n))
		}
		near.AppendShingles(nil, n, 0)
		near.AppendShingles(nil, s, 0)
	})
}
