package certify

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Date is a day, a month of unknown day (Day 0), a year of unknown month (Month 0), or unknown (Year 0). Years before the
// common era are negative; there is no year 0.
type Date struct{ Year, Month, Day int }

// ParseDate reads YYYY, YYYY-MM or YYYY-MM-DD, with a leading - before the common era; "" is unknown.
func ParseDate(s string) (Date, error) {
	if s == "" {
		return Date{}, nil
	}
	bad := &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("date %q", s), Msg: "YYYY, YYYY-MM or YYYY-MM-DD is expected",
		Hint: "with a leading - before the common era; there is no year 0"}
	body, before := strings.CutPrefix(s, "-")
	parts := strings.Split(body, "-")
	var n [3]int
	for i, p := range parts {
		if i > 2 || i == 0 && len(p) < 4 || i > 0 && len(p) != 2 || strings.TrimLeft(p, "0123456789") != "" {
			return Date{}, bad
		}
		v, err := strconv.Atoi(p)
		if err != nil || v == 0 {
			return Date{}, bad
		}
		n[i] = v
	}
	if n[1] > 12 || n[2] > 31 || n[2] > 0 && n[2] > daysIn(n[0], n[1]) {
		return Date{}, bad
	}
	if before {
		n[0] = -n[0]
	}
	return Date{n[0], n[1], n[2]}, nil
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// first and last are the range a date may stand for, as numbers that order as days do.
func (d Date) first() int { return d.Year*10000 + d.Month*100 + d.Day }

func (d Date) last() int {
	m, day := d.Month, d.Day
	if m == 0 {
		m = 12
	}
	if day == 0 {
		day = 31
	}
	return d.Year*10000 + m*100 + day
}

// Validity is the time of one statement, from its qualifiers.
type Validity struct {
	Start, End, At Date
	Functional     bool // the relation has one object at a time, such as a head of government
}

// Times is what a question's statements are at its as-of date.
type Times struct {
	Ended   []int // statements, by place in the question, that ended before
	Ahead   []int // that begin later
	Stale   []int // functional, begun more than the given years ago, without an end: may have changed unseen
	Several []int // functional but with several objects and no end to tell them apart; set by the caller's objects
}

// Valid says that no statement ended before or begins later. Stale ones and those with several objects are flags, not refusals.
func (t Times) Valid() bool { return len(t.Ended) == 0 && len(t.Ahead) == 0 }

// TimesAt checks statements against an as-of date. Dates of a month or a year count as the whole of it: a statement ends
// with its end's last day and begins with its start's first. edges are passed to at for qualifiers and to objects for how
// many objects the subject has by that relation; objects may be nil. years is how old an open functional statement may be.
func TimesAt(edges []uint32, asOf Date, years int, at func(edge uint32) Validity, objects func(edge uint32) int) Times {
	var t Times
	for i, e := range edges {
		v := at(e)
		if v.End.Year != 0 && v.End.last() < asOf.first() {
			t.Ended = append(t.Ended, i)
		}
		if v.Start.Year != 0 && v.Start.first() > asOf.last() {
			t.Ahead = append(t.Ahead, i)
		}
		if !v.Functional || v.End.Year != 0 {
			continue
		}
		since := v.Start
		if since.Year == 0 {
			since = v.At
		}
		if since.Year != 0 && (Date{since.Year + years, since.Month, since.Day}).last() < asOf.first() {
			t.Stale = append(t.Stale, i)
		}
		if objects != nil && objects(e) > 1 {
			t.Several = append(t.Several, i)
		}
	}
	return t
}
