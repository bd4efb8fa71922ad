// Package obfuscate weakens a question's atoms so that more has to be found out: a name becomes its class or its first
// letter, a date its decade, a number a range, an entity a description of it. Every weakening only adds entities, and it
// is taken back when the question no longer has one answer.
package obfuscate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/wording"
)

// Entities is what must be known of a graph's entities. store.Graph is one.
type Entities interface {
	Name(e uint32) string
	NameZH(e uint32) string // "" when unknown
	Type(e uint32) string   // TIME and NUM are values
}

// Operator is a way to weaken an atom.
type Operator string

// The operators.
const (
	Class    Operator = "class"    // an entity becomes some entity of its class
	Interval Operator = "interval" // a date becomes five years
	Decade   Operator = "decade"
	Century  Operator = "century"
	Range    Operator = "range"   // a number becomes a range from 1, 2 or 5 times a power of ten to the next of these
	Band     Operator = "band"    // a number becomes its order of magnitude
	Initial  Operator = "initial" // a name becomes its first letter
	Length   Operator = "length"  // a name becomes its number of letters, within three
	Nested   Operator = "nested"  // an entity becomes what a statement says of it
	Drop     Operator = "drop"    // an atom that says little goes
	Merge    Operator = "merge"   // two atoms of one relation become one about what both their entities share
)

// Operators lists all operators in the order of their names' table.
func Operators() []Operator {
	return []Operator{Class, Interval, Decade, Century, Range, Band, Initial, Length, Nested, Drop, Merge}
}

// Catalogue are the entity sets that constants can be weakened to, with how each is said. Set numbers begin at First:
// the sets before belong to the caller.
type Catalogue struct {
	First int
	Sets  [][]uint32 // ascending
	marks []wording.Mark
	ops   []Operator
	of    [][]int // sets of each entity, in order
}

// NewCatalogue sorts n entities into sets. first is how many sets of the caller's come before; lang decides whose
// letters are counted.
func NewCatalogue(e Entities, n, first int, lang wording.Lang) *Catalogue {
	c := &Catalogue{First: first, of: make([][]int, n)}
	known := map[string]int{}
	put := func(v uint32, op Operator, key string, m wording.Mark) {
		key = string(op) + " " + key
		i, ok := known[key]
		if !ok {
			i = len(c.Sets)
			known[key] = i
			c.Sets, c.marks, c.ops = append(c.Sets, nil), append(c.marks, m), append(c.ops, op)
		}
		c.Sets[i] = append(c.Sets[i], v)
		c.of[v] = append(c.of[v], i)
	}
	span := func(v uint32, op Operator, kind wording.MarkKind, from, to int64) {
		put(v, op, fmt.Sprint(from, " ", to), wording.Mark{Kind: kind, From: from, To: to})
	}
	for v := range uint32(n) {
		typ, name := e.Type(v), e.Name(v)
		switch wording.KindOf(typ) {
		case wording.Date:
			lo, hi, ok := Years(name)
			if !ok {
				continue
			}
			for _, b := range []struct {
				op      Operator
				n, base int64
			}{{Interval, 5, 0}, {Decade, 10, 0}, {Century, 100, 1}} {
				if from := floor(lo-b.base, b.n) + b.base; lo > 0 && hi < from+b.n {
					span(v, b.op, wording.InYears, from, from+b.n-1)
				}
			}
			continue
		case wording.Number:
			if x, ok := Value(name); ok && x >= 1 {
				from, to := steps(x)
				span(v, Range, wording.Between, from, to)
				from, to = magnitude(x)
				span(v, Band, wording.Between, from, to)
			}
			continue
		}
		if typ != "" {
			en, zh := ClassName(typ)
			put(v, Class, typ, wording.Mark{Kind: wording.IsClass, Class: en, ClassZH: zh})
		}
		if zh := e.NameZH(v); lang == wording.Chinese && zh != "" {
			name = zh
		}
		if first, _ := utf8.DecodeRuneInString(name); unicode.IsLetter(first) {
			first = unicode.ToUpper(first)
			put(v, Initial, string(first), wording.Mark{Kind: wording.BeginsWith, Text: string(first)})
		}
		if k := int64(letters(name)); k > 0 {
			from := floor(k-1, 3) + 1
			span(v, Length, wording.HasLetters, from, from+2)
		}
	}
	return c
}

// All is the caller's sets and then the catalogue's: what certify.NewIndex takes.
func (c *Catalogue) All(callers [][]uint32) ([][]uint32, error) {
	if len(callers) != c.First {
		return nil, &quarry.Error{Op: "obfuscate", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%d sets", len(callers)),
			Msg: fmt.Sprintf("the catalogue was made to follow %d", c.First), Hint: "make it with the number of sets that come before"}
	}
	return append(slices.Clone(callers), c.Sets...), nil
}

// Mark is how a set of the catalogue is said, by its number in All; false for a caller's.
func (c *Catalogue) Mark(set int) (wording.Mark, bool) {
	if set < c.First || set-c.First >= len(c.marks) {
		return wording.Mark{}, false
	}
	return c.marks[set-c.First], true
}

// with are the sets an operator can weaken an entity to, by number in All.
func (c *Catalogue) with(v uint32, op Operator) []int {
	var out []int
	for _, i := range c.of[v] {
		if c.ops[i] == op {
			out = append(out, c.First+i)
		}
	}
	return out
}

// ClassName is a type in words, in both languages.
func ClassName(typ string) (en, zh string) {
	switch wording.KindOf(typ) {
	case wording.Person:
		return "person", "人"
	case wording.Place:
		return "place", "地方"
	case wording.Organisation:
		return "organisation", "机构"
	case wording.Work:
		return "work", "作品"
	case wording.Event:
		return "event", "活动"
	}
	if typ == "MISC" {
		return "named thing", "事物"
	}
	return strings.ToLower(strings.ReplaceAll(typ, "_", " ")), typ
}

// Years are the first and last year of a date as sources write it: "13 March 1963", "1963-03-13", "1990s", "1990 to 1994".
// Every number of four digits is a year; false when there is none, or letters say that it is not of the common era.
func Years(s string) (from, to int64, ok bool) {
	low := strings.ToLower(s)
	if strings.HasPrefix(s, "-") || strings.Contains(low, "bc") || strings.Contains(s, "公元前") || strings.Contains(low, "centur") {
		return 0, 0, false
	}
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j-i == 4 {
			y, _ := strconv.ParseInt(s[i:j], 10, 64)
			last := y
			if j < len(s) && s[j] == 's' || strings.HasPrefix(s[j:], "年代") {
				last = y + 9
			}
			if !ok || y < from {
				from = y
			}
			to, ok = max(to, last), true
		}
		i = max(j, i+1)
	}
	return from, to, ok && from > 0
}

// Value is a number as sources write it: digits, with commas or blanks between groups. Units and signs make it none.
func Value(s string) (int64, bool) {
	s = strings.NewReplacer(",", "", " ", "", "\u00a0", "").Replace(s)
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s != "" && s[0] != '+' && s[0] != '-'
}

func floor(x, n int64) int64 {
	if x < 0 {
		return -((-x + n - 1) / n) * n
	}
	return x / n * n
}

// steps is the range of 1, 2, 5, 10, 20, ... that x >= 1 is in, both ends included.
func steps(x int64) (from, to int64) {
	p, _ := magnitude(x)
	for _, k := range []int64{2, 5, 10} {
		if x/p < k {
			to = most(p, k)
			break
		}
		from = k * p
	}
	return max(from, p), to
}

// magnitude is the range from a power of ten to before the next that x >= 1 is in.
func magnitude(x int64) (from, to int64) {
	p := int64(1)
	for x/p >= 10 {
		p *= 10
	}
	return p, most(p, 10)
}

func most(p, k int64) int64 {
	if p > math.MaxInt64/k {
		return math.MaxInt64
	}
	return k*p - 1
}

func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}
