package near

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/quarry-rl/quarry"
)

// Verdict says what became of an item: kept when Twin is empty, else dropped for a kept item of a lower id.
type Verdict struct {
	ID         string  `json:"id"`
	Twin       string  `json:"twin,omitempty"`
	Rule       Rule    `json:"rule,omitempty"`
	Similarity float64 `json:"similarity,omitempty"` // exact Jaccard similarity of the texts when Rule is text
}

// Kept says whether the item stays.
func (v Verdict) Kept() bool { return v.Twin == "" }

// Set decides which of the items added so far are kept: in ascending order of ids, an item is kept unless it is the
// twin of a kept one. That is a function of the set of items, so neither the order of Add nor a stop and a replay in
// between changes it. A verdict is final as long as only higher ids follow; a lower one makes the next verdict pass
// over all items again (about 25 s a million). Safe for concurrent use.
type Set struct {
	o    Options
	h    *Hasher
	skip map[Rule]bool
	pool sync.Pool // of *sketcher

	mu       sync.Mutex
	items    map[string]*entry
	last     string // highest id that was decided
	stale    bool   // an item came that is lower than last
	index    *index // of the kept texts
	owner    []string
	exact    map[string]string // normal text -> kept item
	keys     map[Rule]map[string]string
	verdicts map[string]Verdict
}

type entry struct {
	Item
	normal string
}

// NewSet gives an empty set.
func NewSet(o Options) (*Set, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Set{o: o, h: NewHasher(o.Permutations, o.Seed), skip: map[Rule]bool{}, items: map[string]*entry{}}
	for _, r := range o.Skip {
		s.skip[r] = true
	}
	s.pool.New = func() any { return newSketcher(s.o, s.h) }
	s.reset()
	return s, nil
}

func (s *Set) reset() {
	s.last, s.stale = "", false
	s.index, s.owner = newIndex(s.o, s.h), nil
	s.exact, s.keys, s.verdicts = map[string]string{}, map[Rule]map[string]string{}, map[string]Verdict{}
	for _, r := range rules {
		s.keys[r] = map[string]string{}
	}
}

// Add takes an item in. The same item again changes nothing; another one under the same id is a conflict.
func (s *Set) Add(it Item) error {
	if it.ID == "" {
		return &quarry.Error{Op: "near-duplicates", Kind: quarry.KindInvalid, Subject: "item", Msg: "an id is needed: twins are decided by ids"}
	}
	e := &entry{Item: it, normal: Normal(it.Text)}
	k := s.pool.Get().(*sketcher)
	defer s.pool.Put(k)
	var sk sketch // outside the lock: this is most of the work
	if !s.skip[RuleText] {
		k.sketch(&sk, e.normal)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.items[it.ID]; ok {
		if same(&old.Item, &it) {
			return nil
		}
		return &quarry.Error{Op: "near-duplicates", Kind: quarry.KindConflict, Subject: "question " + it.ID, Msg: "was added before with other content",
			Hint: "ids must be unique"}
	}
	s.items[it.ID] = e
	if it.ID < s.last {
		s.stale = true
	}
	if !s.stale {
		s.decide(e, &sk)
	}
	return nil
}

// decide gives the verdict on an item higher than all decided ones, and indexes it when it is kept.
func (s *Set) decide(e *entry, sk *sketch) {
	s.last = e.ID
	v := Verdict{ID: e.ID}
	take := func(twin string, r Rule, similarity float64) {
		if v.Twin == "" || twin < v.Twin {
			v.Twin, v.Rule, v.Similarity = twin, r, similarity
		}
	}
	text := !s.skip[RuleText] && e.normal != ""
	if text {
		if twin, ok := s.exact[e.normal]; ok {
			take(twin, RuleText, 1)
		} else {
			s.index.candidates(sk, func(t uint32) {
				if v.Twin != "" && s.owner[t] >= v.Twin {
					return
				}
				if sim := s.index.similarity(sk, t); sim >= s.o.Jaccard {
					take(s.owner[t], RuleText, sim)
				}
			})
		}
	}
	keys := e.keys()
	for _, r := range rules {
		if twin, ok := s.keys[r][keys[r]]; ok && !s.skip[r] {
			take(twin, r, 0)
		}
	}
	s.verdicts[e.ID] = v
	if !v.Kept() {
		return
	}
	if text {
		s.exact[e.normal] = e.ID
		s.index.put(sk)
		s.owner = append(s.owner, e.ID)
	}
	for r, key := range keys {
		s.keys[r][key] = e.ID
	}
}

// settle decides all items anew when one came out of order.
func (s *Set) settle() {
	if !s.stale {
		return
	}
	s.reset()
	k := s.pool.Get().(*sketcher)
	defer s.pool.Put(k)
	var sk sketch
	for _, e := range s.sorted() {
		if !s.skip[RuleText] {
			k.sketch(&sk, e.normal)
		}
		s.decide(e, &sk)
	}
}

func (s *Set) sorted() []*entry {
	out := make([]*entry, 0, len(s.items))
	for _, e := range s.items {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Verdict is what became of an item as of now; ok is false for an unknown id.
func (s *Set) Verdict(id string) (v Verdict, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	v, ok = s.verdicts[id]
	return v, ok
}

// Verdicts are all verdicts as of now, in ascending order of ids.
func (s *Set) Verdicts() []Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	out := make([]Verdict, 0, len(s.verdicts))
	for _, v := range s.verdicts {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Verdict) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
