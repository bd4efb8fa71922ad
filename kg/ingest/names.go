package ingest

import (
	"bytes"

	"github.com/quarry-rl/quarry/kg/store"
)

// labels collects the names of one thing in the languages that are kept: English and Chinese, and texts that are of no
// language or of all of them. Any other language serves only when there is nothing else.
type labels struct {
	en, enOther, any, zh, zhOther, other string
	aliases                              []string
	desc, descZH                         string
	typ                                  string
}

// language ranks.
type langRank int

const (
	langOther langRank = iota
	langAny            // no tag, "mul" or "und"
	langEn
	langEnOther // en-gb and the like
	langZh      // zh, zh-hans, zh-cn
	langZhOther // zh-hant, zh-tw and the like
)

func rankOf(lang []byte) langRank {
	base, rest, region := bytes.Cut(lang, []byte("-"))
	is := func(b []byte, names ...string) bool {
		for _, n := range names {
			if len(b) == len(n) && bytes.EqualFold(b, []byte(n)) {
				return true
			}
		}
		return false
	}
	switch {
	case is(base, "en") && !region:
		return langEn
	case is(base, "en"):
		return langEnOther
	case is(base, "zh") && (!region || is(rest, "hans", "cn")):
		return langZh
	case is(base, "zh"):
		return langZhOther
	case is(lang, "", "mul", "und"):
		return langAny
	}
	return langOther
}

func set(field *string, value []byte) bool {
	if *field == "" {
		*field = string(value)
		return true
	}
	return false
}

// label adds a preferred name; of several in one language the first stays and the others are aliases.
func (l *labels) label(value []byte, rank langRank) {
	if len(value) == 0 {
		return
	}
	kept := false
	switch rank {
	case langEn:
		kept = set(&l.en, value)
	case langEnOther:
		kept = set(&l.enOther, value)
	case langAny:
		kept = set(&l.any, value)
	case langZh:
		kept = set(&l.zh, value)
	case langZhOther:
		kept = set(&l.zhOther, value)
	case langOther:
		set(&l.other, value)
		return
	}
	if !kept {
		l.aliases = append(l.aliases, string(value))
	}
}

func (l *labels) alias(value []byte, rank langRank) {
	if rank != langOther && len(value) > 0 {
		l.aliases = append(l.aliases, string(value))
	}
}

func (l *labels) description(value []byte, rank langRank) {
	switch rank {
	case langEn, langAny, langEnOther:
		set(&l.desc, value)
	case langZh, langZhOther:
		set(&l.descZH, value)
	}
}

func first(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

// entity is what was collected as a record.
func (l *labels) entity(id string) *store.Entity {
	zh := first(l.zh, l.zhOther)
	e := &store.Entity{ID: id, Name: first(l.en, l.enOther, l.any, zh, l.other), NameZH: zh, Type: l.typ, Description: first(l.desc, l.descZH)}
	seen := map[string]bool{e.Name: true, e.NameZH: true, "": true}
	for _, a := range append([]string{l.en, l.enOther, l.any, l.zhOther}, l.aliases...) {
		if !seen[a] {
			seen[a] = true
			e.Aliases = append(e.Aliases, a)
		}
	}
	return e
}

func (l *labels) relation(id string) *store.Relation {
	e := l.entity(id)
	return &store.Relation{ID: id, Label: e.Name, LabelZH: e.NameZH, Description: e.Description}
}
