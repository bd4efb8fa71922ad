package bm25

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \t\n": "", "The of and": "", "Who is it?": "",
		"Who is Ahmose-Henutemipet's paternal grandmother?":     "ahmose henutemipet paternal grandmother",
		"Cezaria Jędrzejewiczowa":                               "cezaria jedrzejewiczowa",
		"ÉCOLE Škoda Łódź Straße Ærø İstanbul ĳs":               "ecole skoda lodz strasse aero istanbul ijs",
		"Ά λόγος Ἀθῆναι":                                        "α λογοσ αθηναι",
		"Чайковский Ёлка":                                       "чайковский ёлка", // Cyrillic marks make other letters
		"cities city parties buses class virus ties trees shoe": "city city party buse class virus tie tree shoe",
		"O'Brien's dogs’ d'Arc ROCK'S":                          "o brien dog d arc rock",
		"ＦＵＬＬ　ｗｉｄｔｈ ①２ ﬁlm":                                     "full width 12 film",
		"e\u0301cole z\u0336":                                   "ecole z",
		"北京大学":                                                  "北京 京大 大学",
		"我 爱 北京。":                                               "我 爱 北京",
		"iPhone手机15，价格":                                         "iphone 手机 15 价格",
		"ﾊﾝｶｸ カード ひらがな":                                         "ハン ンカ カク カー ード ひら らが がな",
		"か\u3099く":                                              "がく",
		"서울특별시":                                                 "서울 울특 특별 별시",
		"हिन्दी ไทย":                                            "हिन्दी ไทย",
		"000\xf0½":                                              "000 1 2",
		"x\xffy":                                                "x y",
		strings.Repeat("z", 70) + " b":                          strings.Repeat("z", 64) + " b",
		strings.Repeat("z", 63) + "ж":                           strings.Repeat("z", 63),
		"1994 3.14 C-3PO":                                       "1994 3 14 c 3po",
	} {
		if got := strings.Join(Terms(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "The cities' 's", "北京a大\u0301", "e\u0301\u0336s's", "\xff\u3099", "가각\u1100\u1161", "²½ﬀ’s", "000\xf0½", strings.Repeat("é", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := Terms(text)
		for _, w := range terms {
			if w == "" || len(w) > maxTerm || utf8.ValidString(text) && !utf8.ValidString(w) {
				t.Errorf("%q gives the term %q", text, w)
			}
		}
		if utf8.ValidString(text) {
			if got := Terms(norm.NFD.String(text)); !slices.Equal(got, terms) {
				t.Errorf("%q gives %q, decomposed %q", text, terms, got)
			}
		}
		if got := Terms(text + " . " + text); !slices.Equal(got, slices.Concat(terms, terms)) {
			t.Errorf("%q gives %q, twice %q", text, terms, got)
		}
	})
}
