package walk

// prepare marks the neighbours of the vertices that hop i must keep off: all but the one it starts at.
func (s *search) prepare(i int) {
	if s.r.NoShortcuts {
		for j := range min(i, s.plan.vertices()) {
			if j != s.plan.parent[i] {
				s.mark(j)
			}
		}
	}
	if s.plan.closes && i == s.plan.hops-1 {
		s.mark(0)
	}
}

func (s *search) mark(j int) {
	bit := uint64(1) << j
	if s.marked&bit != 0 {
		return
	}
	s.marked |= bit
	if s.marks == nil {
		s.marks = make([]uint64, s.g.Entities())
	}
	v, stamp := s.vertex[j], s.walk<<16
	for _, w := range s.g.Targets[s.g.Off[v]:s.g.Off[v+1]] {
		m := s.marks[w]
		if m>>16 != s.walk {
			m = stamp
		}
		s.marks[w] = m | bit
	}
}

func (s *search) unmark(j int) {
	bit := uint64(1) << j
	if s.marked&bit == 0 {
		return
	}
	s.marked &^= bit
	v := s.vertex[j]
	for _, w := range s.g.Targets[s.g.Off[v]:s.g.Off[v+1]] {
		s.marks[w] &^= bit
	}
}

// joined says whether v as vertex i is adjacent to what it must be and to nothing else that matters.
func (s *search) joined(i int, v uint32) bool {
	last := s.plan.closes && i == s.plan.hops-1
	if !last && !s.r.NoShortcuts {
		return true
	}
	m := s.marksOf(v)
	if last {
		if m&1 == 0 {
			return false
		}
		m &^= 1
	}
	if s.r.NoShortcuts && m&^(1<<s.plan.parent[i]) != 0 {
		s.refused.shortcut = true
		return false
	}
	return true
}

// marksOf is which vertices of the pattern v is adjacent to, of those marked.
func (s *search) marksOf(v uint32) uint64 {
	if s.marks == nil || s.marks[v]>>16 != s.walk {
		return 0
	}
	return s.marks[v] & (1<<16 - 1)
}
