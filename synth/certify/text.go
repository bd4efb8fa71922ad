package certify

import "slices"

// TextNecessity is level N4 of a walk: no document but the last hop's names the answer together with an earlier vertex
// than the last before it. mentions lists the documents that name an entity or an alias of it, ascending. It also
// returns the first document that does, by number.
func TextNecessity(w Walk, last uint32, mentions func(entity uint32) []uint32) (ok bool, shortcut uint32) {
	answer := mentions(w.Answer())
	ok = true
	for i := range len(w.Hops) - 1 {
		for _, d := range mentions(w.At(i)) {
			if d == last || !ok && d >= shortcut {
				continue
			}
			if _, both := slices.BinarySearch(answer, d); both {
				ok, shortcut = false, d
			}
		}
	}
	return ok, shortcut
}
