package english

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// TestNames lists the names of a sentence as text:shape, with what is special about each: + opening, / a part, & holds
// "and", ~ holds a connector, and < = > for the places of a chain.
func TestNames(t *testing.T) {
	shapes := []string{"date", "year", "number", "one", "two", "long", "quote", "acronym"}
	for _, tc := range []struct{ text, want string }{
		{"It was released in August 1996 .", "August 1996:date"},
		{"born 13 March 1963 in Oto", "13 March 1963:date Oto:one"},
		{"born 13 March 1963 in Oto, Xania", "13 March 1963:date Oto:one< Xania:one>"},
		{"He died on 3rd May , 1900.", "3rd May , 1900:date"},
		{"Xan Oto ( 1882 – 1949 ) painted .", "Xan Oto:two 1882 – 1949:number~ 1882:year/ 1949:year/"},
		{"She met President Xan Oto in 1999.", "President Xan Oto in 1999:long~ President Xan Oto:long/ 1999:year/"},
		{"Dr. Xan Oto Jr. won 3,500 votes (20%).", "Dr. Xan Oto Jr:long 3,500:number 20%:number"},
		{"It lies in Møre og Romsdal county.", "Møre og Romsdal:long"},
		{`The single " Red Sky " came out in 2012.`, "Red Sky:quote 2012:year"},
		{`His "Red Sky" and the B-side`, "Red Sky:quote B-side:one"},
		{"The town of Oto, Xan County, North Xania, is old.", "Oto:one< Xan County:two= North Xania:two>"},
		{"Oto, Xan County and Ota, Xania", "Oto:one+< Xan County and Ota:long&= Xan County:two/ Ota:one/ Xania:one>"},
		{"Oto's brother met Xan Ota’s son.", "Oto:one+ Xan Ota:two"},
		{"the University of Xan and the Bank of Oto merged", "University of Xan:long~ University:one/ Xan:one/ Bank of Oto:long~ Bank:one/ Oto:one/"},
		{"Simon and Xan Oto wrote it.", "Simon and Xan Oto:long& Simon:one/ Xan Oto:two/"},
		{"the 2012 Xan Open", "2012 Xan Open:long 2012:year/ Xan Open:two/"},
		{"In May 1850 he left.", "May 1850:date"},
		{"The Xans played with NASA.", "Xans:one NASA:acronym"},
		{"O'Neil and Xan-Oto", "O'Neil and Xan-Oto:long& O'Neil:one/ Xan-Oto:one/"},
		{"nothing here", ""},
		{"", ""},
		{"He . It , The", ""},
	} {
		var got []string
		for _, n := range Names(tc.text) {
			s := n.Text + ":" + shapes[n.Shape]
			s += []string{"", "/", "&", "~", "+"}[n.Form] + []string{"", "<", "=", ">"}[n.Chain]
			got = append(got, s)
		}
		if g := strings.Join(got, " "); g != tc.want {
			t.Errorf("%q\n got %s\nwant %s", tc.text, g, tc.want)
		}
	}
}

func TestNamePlaces(t *testing.T) {
	for text, want := range map[string]string{
		"He was born in Oto and lives with Xan Ota .": "Oto@4-5 before in; Xan Ota@8-10 before with; ",
		"( Oto )": "Oto@1-2 before (; ",
		"by Oto":  "Oto@1-2 before by; ",
		"met Oto": "Oto@1-2 before another word; ",
	} {
		got := ""
		for i, n := range Names(text) {
			before := "another word"
			if n.Before < len(beforeWords) {
				before = beforeWords[n.Before]
			}
			if n.First != (i == 0) || n.Before >= NBefore || n.Norm != quarry.Normalize(n.Text) {
				t.Errorf("%q: %+v", text, n)
			}
			got += fmt.Sprintf("%s@%d-%d before %s; ", n.Text, n.At, n.End, before)
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestTitleName(t *testing.T) {
	for title, want := range map[string]string{"Xan Oto (skeleton racer)": "xan oto", "The Xans": "xans", "Oto": "oto", "(What's the Story)": "what s the story", "The": "", "": ""} {
		got := ""
		for _, n := range TitleName(title) {
			got += n.Norm
			if !n.Title || n.At != -1 || n.End != -1 || n.Form == FormOpening {
				t.Errorf("%q: %+v is no title", title, n)
			}
		}
		if got != want {
			t.Errorf("%q names %q, want %q", title, got, want)
		}
	}
}

func TestSameName(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"schneider", "xan schneider", true}, {"xan schneider", "schneider", true}, {"red sky", "red sky part two", true},
		{"schneid", "xan schneider", false}, {"ota", "xan ota", false}, {"ota", "ota", true}, {"xan schneider", "oto schneider", false},
		{"", "", true},
	} {
		if got := SameName(tc.a, tc.b); got != tc.want {
			t.Errorf("SameName(%q, %q) is %v", tc.a, tc.b, got)
		}
	}
}

// FuzzNames: no panic, and every name is a piece of the sentence with sane places.
func FuzzNames(f *testing.F) {
	for _, s := range []string{`Wilfried " Willi " Oto (born 13 March 1963 in Oto, Xania) is a racer.`, "1882 – 1949s Xan: The Oto - of Ota", "'s ’s Jr.,\xff\xfe É. İ", `"" " x "`, "2012 Xan"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := len(strings.Fields(text))
		for _, n := range slices.Concat(Names(text), TitleName(text)) {
			if !strings.Contains(text, n.Text) || n.Text == "" || n.Norm == "" {
				t.Fatalf("%q is no piece of %q", n.Text, text)
			}
			if utf8.ValidString(text) && !utf8.ValidString(n.Text) {
				t.Fatalf("%q cuts a letter of %q", n.Text, text)
			}
			if n.Shape < 0 || n.Shape >= NShape || n.Form < 0 || n.Form >= NForm || n.Before < 0 || n.Before >= NBefore || n.Head < 0 || n.Head >= NHead || n.Chain < 0 || n.Chain >= NChain {
				t.Fatalf("a class of %+v is out of range", n)
			}
			if !n.Title && (n.At < 0 || n.At > words || n.End <= n.At) {
				t.Fatalf("%q stands at words %d to %d of %d", n.Text, n.At, n.End, words)
			}
		}
	})
}
