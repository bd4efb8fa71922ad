package ingest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry/kg/store"
)

// The types of entities that stand for a literal. Their id is the type, a colon and the value, in every format, so that
// the same date of two sources is one entity; their name is the value.
const (
	TypeTime = "TIME" // YYYY, YYYY-MM or YYYY-MM-DD, - before the common era; or "19th century" and the like
	TypeNum  = "NUM"  // decimal, then a blank and the unit's id when there is one
	TypeText = "TEXT" // any other string, with @ and the language in the id when it has one
)

// toldLiterals bounds the set of literals that were told to the sink. Telling one again does no harm.
const toldLiterals = 1 << 16

// literal tells the sink of the literal entity id, unless it did lately. The name is id without type and language.
func (r *run) literal(id, name []byte, typ string) error {
	if _, ok := r.literals[string(id)]; ok {
		return nil
	}
	if len(r.literals) >= toldLiterals {
		clear(r.literals)
	}
	key := string(id)
	r.literals[key] = struct{}{}
	return r.entity(&store.Entity{ID: key, Name: string(name), Type: typ})
}

const xsd = "http://www.w3.org/2001/XMLSchema#"

// literalType sorts the datatypes of XML Schema.
func literalType(datatype []byte) string {
	name, ok := bytes.CutPrefix(datatype, []byte(xsd))
	if !ok {
		return TypeText
	}
	switch string(name) {
	case "date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth":
		return TypeTime
	case "integer", "decimal", "double", "float", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger",
		"nonPositiveInteger", "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte":
		return TypeNum
	}
	return TypeText
}

// literalValue is how a value is written: a date without its time of day and zone, a number without a leading +.
func literalValue(value []byte, typ string) []byte {
	switch typ {
	case TypeTime:
		if i := bytes.IndexByte(value, 'T'); i > 0 {
			value = value[:i]
		}
		value = bytes.TrimSuffix(value, []byte("Z"))
		if n := len(value); n > 6 && value[n-3] == ':' && (value[n-6] == '+' || value[n-6] == '-') { // 2001-01-01+08:00
			value = value[:n-6]
		}
	case TypeNum:
		value = bytes.TrimPrefix(value, []byte("+"))
	}
	return value
}

// wikiTime writes a time of Wikidata by its precision. exact says that it is YYYY, YYYY-MM or YYYY-MM-DD.
func wikiTime(time []byte, precision int) (value string, exact, ok bool) {
	s := string(time)
	sign := ""
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s = "-", s[1:]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	date, _, _ := strings.Cut(s, "T")
	f := strings.Split(date, "-")
	if len(f) != 3 || len(f[1]) != 2 || len(f[2]) != 2 {
		return "", false, false
	}
	year, err := strconv.ParseUint(f[0], 10, 40)
	if err != nil {
		return "", false, false
	}
	month, err1 := strconv.Atoi(f[1])
	day, err2 := strconv.Atoi(f[2])
	if err1 != nil || err2 != nil || month < 0 || month > 12 || day < 0 || day > 31 {
		return "", false, false
	}
	switch {
	case precision >= 11 && month > 0 && day > 0:
		return fmt.Sprintf("%s%04d-%02d-%02d", sign, year, month, day), true, true
	case precision >= 10 && month > 0:
		return fmt.Sprintf("%s%04d-%02d", sign, year, month), true, true
	case precision >= 9:
		return fmt.Sprintf("%s%04d", sign, year), true, true
	}
	era := ""
	if sign != "" {
		era = " BCE"
	}
	switch precision {
	case 8:
		return fmt.Sprintf("%ds%s", year/10*10, era), false, true
	case 7:
		return ordinal((year+99)/100) + " century" + era, false, true
	case 6:
		return ordinal((year+999)/1000) + " millennium" + era, false, true
	}
	return fmt.Sprintf("about %d years%s", year, era), false, true
}

func ordinal(n uint64) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.FormatUint(n, 10) + suffix
}
