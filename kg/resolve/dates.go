package resolve

import (
	"regexp"
	"strconv"
	"strings"
)

// date is a day, a month or a year; 0 is not given.
type date struct{ year, month, day int }

var (
	isoDate     = regexp.MustCompile(`^(-?\d{1,6})(?:-(\d{1,2}))?(?:-(\d{1,2}))?$`)
	dayFirst    = regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th)? (?:of )?([a-z]+)\.?,? (\d{3,4})$`)
	monthFirst  = regexp.MustCompile(`^([a-z]+)\.?(?: (\d{1,2})(?:st|nd|rd|th)?)?,? (\d{3,4})$`)
	chineseDate = regexp.MustCompile(`^(\d{1,4})年(?:(\d{1,2})月)?(?:(\d{1,2})[日号])?$`)
)

// parseDate reads the forms dates have in texts; ok is false for anything else, an era or a decade among it.
func parseDate(s string) (d date, ok bool) {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	n := func(s string) int { v, _ := strconv.Atoi(s); return v } // at most 6 digits, or "" for none
	if m := isoDate.FindStringSubmatch(s); m != nil {
		d = date{n(m[1]), n(m[2]), n(m[3])}
	} else if m := chineseDate.FindStringSubmatch(s); m != nil {
		d = date{n(m[1]), n(m[2]), n(m[3])}
	} else if m := dayFirst.FindStringSubmatch(s); m != nil && month(m[2]) > 0 {
		d = date{n(m[3]), month(m[2]), n(m[1])}
	} else if m := monthFirst.FindStringSubmatch(s); m != nil && month(m[1]) > 0 {
		d = date{n(m[3]), month(m[1]), n(m[2])}
	} else {
		return d, false
	}
	return d, d.year != 0 && d.month <= 12 && d.day <= 31
}

func month(s string) int {
	if len(s) < 3 {
		return 0
	}
	for i, m := range []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"} {
		if strings.HasPrefix(m, s) || s == "sept" && i == 8 {
			return i + 1
		}
	}
	return 0
}

// agrees says whether two dates may be one, as far as both are given.
func (d date) agrees(e date) bool {
	return d.year == e.year && (d.month == 0 || e.month == 0 || d.month == e.month && (d.day == 0 || e.day == 0 || d.day == e.day))
}

// conflict says whether two values of a functional relation cannot be one: dates that differ, or names without a common word.
// A place may be named by its town in one text and by its country in another, which is a conflict too: two are kept apart
// rather than joined wrongly.
func conflict(x, y value) string {
	a, aok := parseDate(x.text)
	b, bok := parseDate(y.text)
	if aok && bok {
		if a.agrees(b) {
			return ""
		}
		return VetoDate
	}
	if x.literal || y.literal { // a decade, a season, an age: not certain
		return ""
	}
	words := map[string]bool{}
	for w := range strings.FieldsSeq(fold(x.text)) {
		words[w] = true
	}
	for w := range strings.FieldsSeq(fold(y.text)) {
		if words[w] {
			return ""
		}
	}
	if len(words) == 0 || fold(y.text) == "" {
		return ""
	}
	return VetoValue
}
