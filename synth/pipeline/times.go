package pipeline

import (
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/synth/certify"
)

// timesOf checks the statements of a question, hops before conditions, against the as-of date.
func (s *Space) timesOf(p *proof) certify.Times {
	var edges []uint32
	for _, h := range p.walk.Hops {
		edges = append(edges, h.Edge)
	}
	for _, e := range p.edges {
		if e != csr.NoDoc {
			edges = append(edges, e)
		}
	}
	return certify.TimesAt(edges, s.asOf, s.o.StaleYears, s.validity, func(e uint32) int {
		edge := s.g.Edge(e)
		return len(s.g.Neighbours(edge.Subject, csr.Along(int(edge.Relation))))
	})
}

// validity is the time of a statement: of several, such as terms of office, one that holds at the as-of date, else the
// last given. What is no date counts as unknown.
func (s *Space) validity(edge uint32) certify.Validity {
	functional := s.single[s.g.Edge(edge).Relation]
	last := certify.Validity{Functional: functional}
	for _, set := range s.g.Qualifiers(edge) {
		v := certify.Validity{Functional: functional}
		for _, q := range set.Qualifiers {
			d, err := certify.ParseDate(q.Value)
			if err != nil {
				continue
			}
			switch q.Property {
			case store.QualStart:
				v.Start = d
			case store.QualEnd:
				v.End = d
			case store.QualAt:
				v.At = d
			}
		}
		if last = v; v.Start == (certify.Date{}) && v.End == (certify.Date{}) && v.At == (certify.Date{}) {
			continue
		}
		if certify.TimesAt([]uint32{edge}, s.asOf, s.o.StaleYears, func(uint32) certify.Validity { return v }, nil).Valid() {
			return v
		}
	}
	return last
}
