package pivot

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/quarry-rl/quarry"
)

// hint is what is known at a pivot.
type hint struct {
	q        *quarry.Question
	entities []quarry.Named // the answer last
	seen     []bool         // before the pivot turn
	find     Finder
	start    string
}

// text is the most specific hint that names neither the answer nor an entity not seen yet: where to look again, what is
// still to be found, how to go about it. It is "" when every wording would name one.
func (h hint) text(class quarry.PivotClass) string {
	missing, advice := h.missing(), advice(class)
	wordings := []string{
		fmt.Sprintf("Hint: %s; %s.", missing, advice),
		"Hint: " + missing + ".",
		"Hint: " + advice + ".",
		"Try another way.",
	}
	if at := h.lookAt(); at != "" {
		named := `Hint: look again at "` + at + `"`
		wordings = append([]string{fmt.Sprintf("%s; %s; %s.", named, missing, advice), named + "."}, wordings...)
	}
	for _, w := range wordings {
		if h.safe(w) {
			return w
		}
	}
	return ""
}

// lookAt is the last entity on the way that was seen, or where the question starts.
func (h hint) lookAt() string {
	at := h.start
	for i, e := range h.entities[:len(h.entities)-1] {
		if h.seen[i] {
			at = e.Name
		}
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(at), " "), `"`, "'")
}

func (h hint) missing() string {
	if count(h.seen[:len(h.seen)-1], false) > 0 {
		return "a step on the way to the answer is still to be found"
	}
	return "what the question asks for is still to be found"
}

func advice(class quarry.PivotClass) string {
	switch class {
	case quarry.PivotTool:
		return "call the tool in the form described"
	case quarry.PivotEvidence:
		return "search before you answer"
	case quarry.PivotAssumption:
		return "check what was taken for granted"
	default:
		return "ask something not asked before"
	}
}

// safe says whether a wording names neither the answer nor an entity that was not seen.
func (h hint) safe(wording string) bool {
	last := len(h.entities) - 1
	for _, i := range h.find.Find(wording) {
		if i == last || !h.seen[i] {
			return false
		}
	}
	for i, e := range h.entities {
		if i < last && h.seen[i] {
			continue
		}
		for _, form := range append([]string{e.Name}, e.Aliases...) {
			if names(wording, form) {
				return false
			}
		}
	}
	return true
}

// names says whether form stands in text as whole words, or anywhere when its script does not separate words.
func names(text, form string) bool {
	f := quarry.Normalize(form)
	if f == "" {
		f = strings.TrimSpace(form)
		return f != "" && strings.Contains(text, f)
	}
	t := quarry.Normalize(text)
	for _, r := range f {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
			unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return strings.Contains(t, f)
		}
	}
	return strings.Contains(" "+t+" ", " "+f+" ")
}
