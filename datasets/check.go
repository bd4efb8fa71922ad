package datasets

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// checker walks the values of one row: it keeps the first violation, the raw size and the nulls per optional column.
type checker struct {
	at     []step // where in the row; made into text for a violation only
	bytes  int64
	tokens int64
	nulls  []string
	bad    *violation
}

type step struct {
	name  string
	index int // -1 for a struct
}

type violation struct {
	column string
	value  string
	want   string
}

func (v *violation) error(subject, id string) *quarry.Error {
	return &quarry.Error{
		Op:      "check row",
		Kind:    quarry.KindInvalid,
		Subject: fmt.Sprintf("%s (id %s) column %s", subject, shown(id), v.column),
		Msg:     fmt.Sprintf("got %s, want %s", v.value, v.want),
		Hint:    fmt.Sprintf("correct %s where the row is made, or leave the row out", v.column),
	}
}

// note describes a value in an error instead of quoting it.
type note string

// shown quotes a value for an error, cut to a readable length.
func shown(v any) string {
	s, ok := v.(string)
	if !ok {
		return fmt.Sprint(v)
	}
	if len(s) > 80 {
		return fmt.Sprintf("%q... (%d bytes)", s[:80], len(s))
	}
	return fmt.Sprintf("%q", s)
}

func (c *checker) fail(column string, value any, want string) {
	if c.bad != nil {
		return
	}
	var b strings.Builder
	for _, s := range append(c.at, step{column, -1}) {
		if b.Len() > 0 && s.name != "" {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		if s.index >= 0 {
			fmt.Fprintf(&b, "[%d]", s.index)
		}
	}
	c.bad = &violation{column: b.String(), value: shown(value), want: want}
}

func (c *checker) enter(name string, index int) { c.at = append(c.at, step{name, index}) }
func (c *checker) leave()                       { c.at = c.at[:len(c.at)-1] }

// text is any valid UTF-8.
func (c *checker) text(column, s string) {
	c.bytes += int64(len(s))
	switch {
	case len(s) > maxValue:
		c.fail(column, s, fmt.Sprintf("at most %d bytes", maxValue))
	case !utf8.ValidString(s):
		c.fail(column, s, fmt.Sprintf("valid UTF-8 (bad byte at offset %d)", badByte(s)))
	}
}

func badByte(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

// short is text of a column with statistics.
func (c *checker) short(column, s string) {
	if len(s) > maxShort {
		c.fail(column, s, fmt.Sprintf("at most %d bytes", maxShort))
	}
	c.text(column, s)
}

// id is a short text that must be there.
func (c *checker) id(column, s string) {
	if s == "" {
		c.fail(column, s, "a non-empty text")
	}
	c.short(column, s)
}

func (c *checker) filled(column, s string) {
	if s == "" {
		c.fail(column, s, "a non-empty text")
	}
	c.text(column, s)
}

// optional is text where "" is stored as null.
func (c *checker) optional(column, s string) {
	if s == "" {
		c.null(column)
	}
	c.text(column, s)
}

func (c *checker) oneOf(column, s string, allowed ...string) {
	if !slices.Contains(allowed, s) {
		c.fail(column, s, "one of "+strings.Join(allowed, ", "))
	}
	c.bytes += int64(len(s))
}

// sha256 is 64 lower-case hex digits.
func (c *checker) sha256(column, s string) {
	if b, err := hex.DecodeString(s); err != nil || len(b) != 32 || strings.ToLower(s) != s {
		c.fail(column, s, "64 lower-case hex digits")
	}
	c.bytes += int64(len(s))
}

// json is JSON text whose first byte is one of open; any JSON when open is empty.
func (c *checker) json(column, s, open string) {
	c.text(column, s)
	want := map[string]string{"": "JSON text", "{": "JSON object text", "[": "JSON array text"}[open]
	trimmed := bytes.TrimLeft([]byte(s), " \t\r\n")
	if !json.Valid([]byte(s)) || open != "" && trimmed[0] != open[0] {
		c.fail(column, s, want)
	}
}

func (c *checker) finite(column string, v float64) {
	c.bytes += 8
	if math.IsNaN(v) || math.IsInf(v, 0) {
		c.fail(column, v, "a finite number")
	}
}

func (c *checker) maybe(column string, v *float64) {
	if v == nil {
		c.null(column)
		return
	}
	c.finite(column, *v)
}

func (c *checker) maybe32(column string, v *float32) {
	if v == nil {
		c.null(column)
		return
	}
	c.finite(column, float64(*v))
}

func (c *checker) atLeast(column string, v, low int64) {
	c.bytes += 4
	if v < low {
		c.fail(column, v, fmt.Sprintf("a number >= %d", low))
	}
}

func (c *checker) maybeInt(column string, v *int32) {
	if v == nil {
		c.null(column)
		return
	}
	c.atLeast(column, int64(*v), 0)
}

// null records a null of an optional column for the count in the finished file. Columns inside lists are left out:
// their count in the footer includes the nulls of empty lists.
func (c *checker) null(column string) {
	for _, s := range c.at {
		if s.index >= 0 {
			return
		}
		column = s.name + "." + column
	}
	c.nulls = append(c.nulls, column)
}

// int32Of narrows a noun's int; what does not fit becomes -1, which every check refuses.
func int32Of(n int) int32 {
	if n < 0 || n > math.MaxInt32 {
		return -1
	}
	return int32(n)
}
