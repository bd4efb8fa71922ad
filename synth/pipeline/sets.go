package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/store"
)

// Set is a weakened condition: entities of a type, or those with a date of some relation within a decade.
type Set struct {
	Type     string // "" for a decade
	Relation int    // of the date
	Decade   int    // first year
}

func (s Set) String() string {
	if s.Type != "" {
		return "type " + s.Type
	}
	return fmt.Sprintf("%ds", s.Decade)
}

// anything is the type of what has no type in graphs with the classes of named entity recognition.
const anything = "MISC"

// setsOf lists the sets of a graph that hold at least so many entities, with their members ascending: types first, then
// decades by relation.
func setsOf(g *kg.Mapped, least int) ([]Set, [][]uint32) {
	types := make([][]uint32, g.Types())
	dates := map[Set][]uint32{}
	for v := range uint32(g.Entities()) {
		if !g.Literal(v) {
			types[g.TypeNo(v)] = append(types[g.TypeNo(v)], v)
			continue
		}
		decade, ok := decadeOf(g, v)
		if !ok {
			continue
		}
		for p := g.Off[v] + g.Out[v+1] - g.Out[v]; p < g.Off[v+1]; p++ {
			k := Set{Relation: g.Steps[p].Relation(), Decade: decade}
			dates[k] = append(dates[k], g.Targets[p])
		}
	}
	var sets []Set
	var members [][]uint32
	for t, m := range types {
		if t > 0 && g.TypeName(uint32(t)) != anything && len(m) >= least {
			sets, members = append(sets, Set{Type: g.TypeName(uint32(t))}), append(members, m)
		}
	}
	var keys []Set
	for k, m := range dates {
		slices.Sort(m)
		if m = slices.Compact(m); len(m) >= least {
			dates[k] = m
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b Set) int {
		return cmp.Or(cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.Decade, b.Decade))
	})
	for _, k := range keys {
		sets, members = append(sets, k), append(members, dates[k])
	}
	return sets, members
}

// decadeOf is the decade of a date's one year: four digits that no digit touches, from 1000 to 2099. A name with two
// years, or one before the common era, has none.
func decadeOf(g *kg.Mapped, v uint32) (int, bool) {
	if g.Type(v) != store.TypeTime {
		return 0, false
	}
	name, year := g.Name(v), 0
	for i := 0; i < len(name); {
		j := i
		for j < len(name) && name[j] >= '0' && name[j] <= '9' {
			j++
		}
		if j-i == 4 && (i != 1 || name[0] != '-') {
			if y, err := strconv.Atoi(name[i:j]); err == nil && y >= 1000 && y < 2100 {
				if year != 0 && year != y {
					return 0, false
				}
				year = y
			}
		}
		i = max(j, i+1)
	}
	return year / 10 * 10, year != 0
}

// dated is a statement that puts v into a decade, one that a text carries before others.
func dated(g *kg.Mapped, v uint32, s Set) (edge uint32, ok bool) {
	lo, hi := g.By(v, csr.Along(s.Relation))
	for p := lo; p < hi; p++ {
		if d, is := decadeOf(g, g.Targets[p]); is && d == s.Decade {
			if e := g.EdgeAt(v, p); !ok || g.Docs[edge] == csr.NoDoc && g.Docs[e] != csr.NoDoc {
				edge, ok = e, true
			}
		}
	}
	return edge, ok
}
