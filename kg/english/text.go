// Package english is the reviewed general English that questions are worded with and that the embedded policy reads
// with: how relations are said, which words signal them, what a name's head noun says about its kind, stop words and a
// light stemmer. It holds no name from any data set (a test checks that) and knows nothing of graphs.
package english

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Analyser names the tokeniser, stop list and stemmer that questions and the policy's features use. Search has its own
// (kg/bm25).
const Analyser = "english/1"

// Version changes with the analyser and with the table of phrases: what was made with another one is made anew.
func Version() string {
	sum := sha256.Sum256([]byte(table))
	return Analyser + "-" + hex.EncodeToString(sum[:8])
}

var stop = set("a an the of in on at by for to from with and or is was are were be been as it its that this which who whom whose when where into there then there has have had he she his her they their also other one behind work person place thing")

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// Stop says whether a lower-case word carries no content.
func Stop(w string) bool { return stop[w] }

// Stem strips light suffixes from a lower-case word, enough to join "released" and "releases".
func Stem(w string) string {
	for _, suf := range []string{"ing", "ed", "es", "er", "or", "s", "e"} {
		if len(w)-len(suf) >= 4 && strings.HasSuffix(w, suf) {
			return w[:len(w)-len(suf)]
		}
	}
	return w
}

// Terms are the stemmed content words of a text in order.
func Terms(s string) []string {
	var out []string
	for _, w := range quarry.Words(s) {
		if !stop[w] {
			out = append(out, Stem(w))
		}
	}
	return out
}

// Head nouns by class: what the first or last word of a name says about its kind.
var nounClasses = []string{
	"county city river lake island islands state province district region mountain mountains sea ocean bay valley town village park street municipality township kingdom republic creek coast peninsula castle",
	"party",
	"university college school academy institute",
	"church abbey diocese",
	"club fc united team",
	"company records corporation inc ltd group studios pictures entertainment games bank press publishing books label",
	"army navy force corps guard marines",
	"war battle campaign revolution rebellion siege",
	"award prize medal order",
	"olympics championship championships cup games tournament contest race series season",
	"league division conference",
	"network channel radio television tv",
	"council parliament assembly congress senate committee house commission union association society organization",
	"album song single film novel book",
	"jr sr ii iii iv",
}

// NHead is the number of head classes HeadClass returns; HeadDemonym is the class of names like "Xanian".
const (
	NHead       = 18
	HeadDemonym = 16
)

var nounClass = func() map[string]int {
	m := map[string]int{}
	for i, l := range nounClasses {
		for _, w := range strings.Fields(l) {
			m[w] = i + 1
		}
	}
	return m
}()

// HeadClass classes a normalised name: 0 unknown, 1..15 by head noun, 16 like a demonym, 17 with a digit.
func HeadClass(normal string) int {
	w := strings.Fields(normal)
	if len(w) == 0 {
		return 0
	}
	if c := nounClass[w[len(w)-1]]; c > 0 {
		return c
	}
	if c := nounClass[w[0]]; c > 0 && len(w) > 1 {
		return c
	}
	if strings.ContainsAny(normal, "0123456789") {
		return 17
	}
	if len(w) == 1 {
		for _, suf := range []string{"ian", "ish", "ese", "ican", "ch", "ean"} {
			if strings.HasSuffix(normal, suf) {
				return HeadDemonym
			}
		}
	}
	return 0
}
