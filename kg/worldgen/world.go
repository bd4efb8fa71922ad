// Package worldgen makes a world that does not exist: people, places, organisations, works and events, statements about
// them with times, and an article about each, in English and Chinese. No model has read about it, every answer can be
// counted, and it is of any size (the idea of PhantomWiki's generated universes).
//
// What is said of entity i depends on the options and i alone, so that batches, order and concurrency change nothing and
// nothing needs to be kept: a world of a million articles streams through bounded memory.
package worldgen

import (
	"fmt"
	"strconv"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

// Lang is the language of the articles. Entities and relations carry both names in any case.
type Lang string

// The languages.
const (
	English Lang = "en" // "" too
	Chinese Lang = "zh"
	Both    Lang = "both" // each entity has an English and a Chinese article
)

// Names is how entities are named.
type Names string

// The ways to name.
const (
	Syllables Names = "syllables" // made-up words, written in Latin and in Chinese characters; "" too
	TwoWords  Names = "words:2"   // two common English words of a closed list, in articles of both languages; no aliases
)

// Bounds of the options.
const (
	MinDocuments   = 100
	MaxDocuments   = 1_000_000
	MaxExtra       = 24
	MaxDistractors = 8
)

// Options describe a world. Equal options make equal worlds.
type Options struct {
	Seed      uint64
	Documents int // articles, MinDocuments to MaxDocuments; with TwoWords at most MaxTwoWords entities
	Lang      Lang
	Names     Names

	// Extra is how many statements more than its 4 to 8 an article has, 0 to MaxExtra: a denser world with the same
	// entities. In small worlds there may be fewer, for an article says nothing twice.
	Extra int
	// Distractors is how many sentences of an article carry no statement, 0 to MaxDistractors. They name its entity and
	// sometimes another one.
	Distractors int
}

// kind is what an entity is.
type kind int

const (
	country kind = iota
	city
	organisation
	person
	work
	event
	kinds
)

// The types of entities, as store.Entity.Type; dates are store.TypeTime, counts store.TypeNumber.
const (
	TypePerson       = "PER"
	TypePlace        = "LOC"
	TypeOrganisation = "ORG"
	TypeWork         = "WORK"
	TypeEvent        = "EVENT"
)

var typeOf = [kinds]string{TypePlace, TypePlace, TypeOrganisation, TypePerson, TypeWork, TypeEvent}

// World is a plan: which entities there are. It is read-only and safe for concurrent use.
type World struct {
	o         Options
	entities  int
	first     [kinds + 1]int // entities of kind k are first[k] to first[k+1]-1, the better known ones first
	eras      int            // people are born in so many periods, in turn
	eraYears  int
	names     namer
	reflect   [twinRounds + 1]uint64 // constants of the pairings: marriages, then twin towns
	relations []wording
}

// New plans a world. Errors are invalid: an option out of its bounds.
func New(o Options) (*World, error) {
	if o.Lang == "" {
		o.Lang = English
	}
	if o.Names == "" {
		o.Names = Syllables
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	w := &World{o: o, entities: o.Documents, relations: wordings()}
	if o.Lang == Both {
		w.entities = (o.Documents + 1) / 2
	}
	if o.Names == TwoWords && w.entities > MaxTwoWords {
		return nil, refuse("names "+string(o.Names), fmt.Sprintf("%d entities, but there are %d pairs of words", w.entities, MaxTwoWords),
			fmt.Sprintf("ask for at most %d entities, or for names %s", MaxTwoWords, Syllables))
	}
	n := w.entities
	share := [kinds]int{country: max(3, root(n)/2), city: n / 10, organisation: n * 15 / 100, work: n / 5, event: n / 10}
	share[person] = n
	for k, c := range share {
		if kind(k) != person {
			share[person] -= c
		}
	}
	for k, c := range share {
		w.first[k+1] = w.first[k] + c
	}
	w.eras = min(maxEras, share[person])
	w.eraYears = (lastBirth - firstBirth + 1) / w.eras
	for i := range w.reflect {
		r := w.stream(0, aboutWorld+purpose(i))
		w.reflect[i] = r.next()
	}
	w.names = newNamer(o, n, share)
	return w, nil
}

func (o Options) check() error {
	switch {
	case o.Documents < MinDocuments || o.Documents > MaxDocuments:
		return refuse(fmt.Sprintf("%d documents", o.Documents), fmt.Sprintf("expected %d to %d", MinDocuments, MaxDocuments), "for more statements ask for extra ones in each article")
	case o.Lang != English && o.Lang != Chinese && o.Lang != Both:
		return refuse(fmt.Sprintf("language %q", string(o.Lang)), "unknown", "use en, zh or both")
	case o.Names != Syllables && o.Names != TwoWords:
		return refuse(fmt.Sprintf("names %q", string(o.Names)), "unknown", "use syllables or words:2")
	case o.Extra < 0 || o.Extra > MaxExtra:
		return refuse(fmt.Sprintf("%d extra statements", o.Extra), fmt.Sprintf("expected 0 to %d", MaxExtra), "use 15 for 20 million statements in a million articles")
	case o.Distractors < 0 || o.Distractors > MaxDistractors:
		return refuse(fmt.Sprintf("%d distractors", o.Distractors), fmt.Sprintf("expected 0 to %d", MaxDistractors), "use 0 for articles of nothing but statements")
	}
	return nil
}

func refuse(subject, msg, hint string) error {
	return &quarry.Error{Op: "kg generate", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
}

func root(n int) int {
	r := 0
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}

// Entities is how many entities the world has, dates and counts left out.
func (w *World) Entities() int { return w.entities }

// EntityID is the id of entity i, 0 to Entities()-1.
func EntityID(i int) string { return pad('e', i) }

func pad(prefix byte, i int) string {
	b := strconv.AppendInt(append(make([]byte, 0, 12), prefix), int64(10_000_000+i), 10)
	b[1] = prefix // the 1 that kept the zeros
	return string(b[1:])
}

func (w *World) count(k kind) int { return w.first[k+1] - w.first[k] }

// kindOf is the kind of entity i and its number among them.
func (w *World) kindOf(i int) (k kind, n int) {
	for i >= w.first[k+1] {
		k++
	}
	return k, i - w.first[k]
}

func (w *World) entity(k kind, n int) *store.Entity {
	i := w.first[k] + n
	en, zh := w.names.of(w, k, n, false)
	e := &store.Entity{ID: EntityID(i), Name: en, NameZH: zh, Type: typeOf[k], Description: describe(k, n)}
	if w.o.Names == TwoWords {
		e.NameZH = ""
	} else if w.hasAlias(i) {
		en, zh := w.names.of(w, k, n, true)
		e.Aliases = []string{en, zh}
	}
	return e
}

// hasAlias says whether entity i has a second name; one in four.
func (w *World) hasAlias(i int) bool {
	r := w.stream(i, aboutAlias)
	return w.o.Names == Syllables && r.intn(4) == 0
}
