package world

import (
	"context"
	"sync"
)

// Cache is a Searcher that remembers the answers of another, since the episodes of a group ask alike. It is keyed by
// the query and k, holds between entries/2 and entries answers (at least one), forgets the longest unused ones first,
// and never remembers an error. It is safe for concurrent use; callers must not change the passages.
type Cache struct {
	next Searcher
	half int

	mu         sync.Mutex
	young, old map[cacheKey][]Passage
}

type cacheKey struct {
	query string
	k     int
}

// NewCache puts a cache of at most entries answers before next.
func NewCache(next Searcher, entries int) *Cache {
	return &Cache{next: next, half: max(1, entries/2), young: map[cacheKey][]Passage{}}
}

// Search answers from memory or asks the searcher behind.
func (c *Cache) Search(ctx context.Context, query string, k int) ([]Passage, error) {
	key := cacheKey{query, k}
	if hits, ok := c.get(key); ok {
		return hits, nil
	}
	hits, err := c.next.Search(ctx, query, k)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, hits)
	return hits, nil
}

func (c *Cache) get(key cacheKey) ([]Passage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hits, ok := c.young[key]; ok {
		return hits, true
	}
	hits, ok := c.old[key]
	if ok {
		c.put(key, hits) // used again: young again
	}
	return hits, ok
}

// put adds to the young half; when it is full the old half is dropped and the young one grows old.
func (c *Cache) put(key cacheKey, hits []Passage) {
	if _, ok := c.young[key]; !ok && len(c.young) >= c.half {
		c.old, c.young = c.young, make(map[cacheKey][]Passage, c.half)
	}
	c.young[key] = hits
}
