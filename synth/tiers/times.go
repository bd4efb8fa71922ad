package tiers

import (
	"strconv"
	"strings"
	"unicode"
)

// span is the days that a date as written may mean, as year*10000 + month*100 + day.
type span struct{ from, to int }

func months() []string {
	return []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
}

// parseTime reads YYYY, YYYY-MM, YYYY-MM-DD (with a leading - before the common era), 3 May 1850, May 3, 1850, May 1850,
// 1850s, 44 BC and 1850年5月3日. ok is false for everything else.
func parseTime(s string) (t span, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	sign := 1
	if rest, cut := strings.CutPrefix(s, "-"); cut {
		s, sign = rest, -1
	}
	for _, era := range []string{" bc", " bce", "前"} {
		if rest, cut := strings.CutSuffix(s, era); cut {
			s, sign = rest, -1
		}
	}
	if rest, cut := strings.CutPrefix(s, "公元前"); cut {
		s, sign = rest, -1
	}
	if i := strings.IndexByte(s, 't'); i > 0 && s[i-1] >= '0' && s[i-1] <= '9' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
		s = s[:i] // the hour of a timestamp
	}
	if rest, cut := strings.CutSuffix(s, "0s"); cut && len(rest) == 3 {
		y, err := strconv.Atoi(rest)
		if err != nil || y < 0 {
			return span{}, false
		}
		return span{y*100000 + 101, (y*10+9)*10000 + 1231}, true
	}
	parts := strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-,./年月日号", r) })
	year, month, day := -1, 0, 0
	var numbers []int
	for _, p := range parts {
		if m := monthNo(p); m > 0 {
			if month > 0 {
				return span{}, false
			}
			month = m
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 99999 || p[0] == '+' {
			return span{}, false
		}
		numbers = append(numbers, n)
	}
	switch {
	case month > 0 && len(numbers) == 1:
		year = numbers[0]
	case month > 0 && len(numbers) == 2: // the day stands first
		day, year = numbers[0], numbers[1]
	case month == 0 && len(numbers) >= 1 && len(numbers) <= 3:
		year = numbers[0]
		if len(numbers) > 1 {
			month = numbers[1]
		}
		if len(numbers) > 2 {
			day = numbers[2]
		}
		if len(numbers) > 1 && month == 0 || len(numbers) > 2 && day == 0 { // 1850-00-00 of some exports
			month, day = 0, 0
		}
	}
	if year < 0 || month > 12 || day > 31 || day > 0 && month == 0 {
		return span{}, false
	}
	t = span{101, 1231}
	if month > 0 {
		t = span{month*100 + 1, month*100 + 31}
	}
	if day > 0 {
		t = span{month*100 + day, month*100 + day}
	}
	t.from += sign * year * 10000
	t.to += sign * year * 10000
	return t, true
}

func monthNo(s string) int {
	for i, m := range months() {
		if s == m || len(s) == 3 && s == m[:3] {
			return i + 1
		}
	}
	return 0
}
