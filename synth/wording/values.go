package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Ends of an open range.
const (
	NoLeast = math.MinInt64
	NoMost  = math.MaxInt64
)

// years words an interval: the 1950s, the 20th century, the year 1953, the years 1950 to 1954.
func years(from, to int64, l Lang) string {
	decade := from > 0 && from%10 == 0 && to == from+9 && from%100 != 0
	century := from > 0 && from%100 == 1 && to == from+99
	if l == Chinese {
		switch {
		case decade:
			return fmt.Sprintf("%d世纪%d年代", from/100+1, from%100)
		case century:
			return fmt.Sprintf("%d世纪", from/100+1)
		case from == to:
			return yearZH(from)
		}
		return yearZH(from) + "至" + yearZH(to) + "间"
	}
	switch {
	case decade:
		return fmt.Sprintf("the %ds", from)
	case century:
		return "the " + ordinal(from/100+1) + " century"
	case from == to:
		return "the year " + yearEN(from)
	}
	return "the years " + yearEN(from) + " to " + yearEN(to)
}

func yearEN(y int64) string {
	if y < 0 {
		return strconv.FormatInt(-y, 10) + " BC"
	}
	return strconv.FormatInt(y, 10)
}

func yearZH(y int64) string {
	if y < 0 {
		return "公元前" + strconv.FormatInt(-y, 10) + "年"
	}
	return strconv.FormatInt(y, 10) + "年"
}

func ordinal(n int64) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.FormatInt(n, 10) + suffix
}

// number words a range of numbers.
func number(from, to int64, l Lang) string {
	a, b := grouped(from), grouped(to)
	if l == Chinese {
		a, b = strconv.FormatInt(from, 10), strconv.FormatInt(to, 10)
	}
	pick := func(en, zh string) string {
		if l == Chinese {
			return zh
		}
		return en
	}
	switch {
	case from == NoLeast && to == NoMost:
		return pick("any number", "任意数值")
	case from == NoLeast:
		return pick("at most "+b, "不超过"+b)
	case to == NoMost:
		return pick("at least "+a, "不少于"+a)
	case from == to:
		return pick("exactly "+a, "恰好"+a)
	}
	return pick("between "+a+" and "+b, a+"到"+b+"之间")
}

func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// letters words a number of letters.
func letters(from, to int64, l Lang) string {
	switch {
	case l == Chinese && from == to:
		return fmt.Sprintf("%d个字", from)
	case l == Chinese && to == NoMost:
		return fmt.Sprintf("至少%d个字", from)
	case l == Chinese:
		return fmt.Sprintf("%d到%d个字", from, to)
	case to == NoMost:
		return fmt.Sprintf("at least %d letters", from)
	case from == to && from == 1:
		return "1 letter"
	case from == to:
		return fmt.Sprintf("%d letters", from)
	}
	return fmt.Sprintf("%d to %d letters", from, to)
}

// own words a mark on a name as a predicate; joined to a noun it is a clause.
func (m Mark) own(l Lang) (predicate, clause string) {
	switch m.Kind {
	case BeginsWith:
		if l == Chinese {
			return "名字以“" + m.Text + "”开头", "名字以“" + m.Text + "”开头的"
		}
		return "has a name that begins with “" + m.Text + "”", " whose name begins with “" + m.Text + "”"
	case HasLetters:
		n := letters(m.From, m.To, l)
		if l == Chinese {
			return "名字有" + n, "名字有" + n + "的"
		}
		return "has a name of " + n, " whose name has " + n
	case InYears:
		if l == Chinese {
			return "在" + years(m.From, m.To, l), ""
		}
		return "falls in " + years(m.From, m.To, l), ""
	case Between:
		if l == Chinese {
			return "数值为" + number(m.From, m.To, l), ""
		}
		return "amounts to " + number(m.From, m.To, l), ""
	}
	if l == Chinese {
		return "是一个" + m.class(l), ""
	}
	return "is " + withArticle(m.class(l)), ""
}

// marks of a plan by the texts they may have: the reader looks texts up instead of parsing values.
type markTexts struct {
	years, numbers, preds, clauses, classes map[string]Mark
}

func newMarkTexts(marks []Mark, l Lang) markTexts {
	t := markTexts{map[string]Mark{}, map[string]Mark{}, map[string]Mark{}, map[string]Mark{}, map[string]Mark{}}
	for _, m := range marks {
		m = m.plain()
		p, c := m.own(l)
		t.preds[p] = m
		if c != "" {
			t.clauses[c] = m
		}
		switch m.Kind {
		case IsClass:
			t.classes[m.class(l)] = m
		case InYears:
			t.years[years(m.From, m.To, l)] = m
		case Between:
			t.numbers[number(m.From, m.To, l)] = m
		}
	}
	return t
}

// plain is a mark without its variable and what its kind does not use.
func (m Mark) plain() Mark {
	p := Mark{Kind: m.Kind}
	switch m.Kind {
	case IsClass:
		p.Class, p.ClassZH = m.Class, m.ClassZH
	case BeginsWith:
		p.Text = m.Text
	default:
		p.From, p.To = m.From, m.To
	}
	return p
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
