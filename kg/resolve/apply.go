package resolve

import (
	"slices"

	"github.com/quarry-rl/quarry/kg/store"
)

// Sink takes records; *store.Builder is one, and what kg/ingest reads into.
type Sink interface {
	Add(store.Record) error
	Triple(subject, predicate, object []byte) error
}

// Applied rewrites ids on the way into a sink. It is not safe for concurrent use.
type Applied struct {
	sink  Sink
	to    map[string][]byte
	Moved int64 // ends of statements and entity records that were rewritten
	Loops int64 // statements that would lead from an entity to itself, and were left out
}

// Apply lets records through with the ids of the mapping. The name of an entity that became another one is kept as an alias, so that the
// name of the one that stays is the name, in whatever order records come.
func Apply(m *Mapping, sink Sink) *Applied {
	a := &Applied{sink: sink, to: make(map[string][]byte, len(m.Links))}
	for i := range m.Links {
		a.to[m.Links[i].From] = []byte(m.Links[i].To)
	}
	return a
}

// Triple passes a statement on.
func (a *Applied) Triple(s, p, o []byte) error {
	ns, smoved := a.to[string(s)]
	no, omoved := a.to[string(o)]
	if !smoved {
		ns = s
	}
	if !omoved {
		no = o
	}
	if (smoved || omoved) && string(ns) == string(no) {
		a.Loops++
		return nil
	}
	a.moved(smoved, omoved)
	return a.sink.Triple(ns, p, no)
}

func (a *Applied) moved(ends ...bool) {
	for _, m := range ends {
		if m {
			a.Moved++
		}
	}
}

// Add passes a record on; it does not change the record it is given.
func (a *Applied) Add(r store.Record) error {
	switch {
	case r.Entity != nil:
		if to, ok := a.to[r.Entity.ID]; ok {
			e := *r.Entity
			if e.Name != "" && e.Name != e.ID {
				e.Aliases = slices.Insert(slices.Clone(e.Aliases), 0, e.Name)
			}
			if e.NameZH != "" {
				e.Aliases = append(slices.Clone(e.Aliases), e.NameZH)
			}
			e.ID, e.Name, e.NameZH = string(to), "", ""
			a.Moved++
			r.Entity = &e
		}
	case r.Statement != nil:
		s := *r.Statement
		subject, smoved := a.to[s.Subject]
		if smoved {
			s.Subject = string(subject)
		}
		object, omoved := a.to[s.Object]
		if omoved {
			s.Object = string(object)
		}
		if (smoved || omoved) && s.Subject == s.Object {
			a.Loops++
			return nil
		}
		a.moved(smoved, omoved)
		r.Statement = &s
	}
	return a.sink.Add(r)
}
