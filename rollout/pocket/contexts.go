package pocket

import (
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// contextKey is a 128-bit hash of a context and the guesses it was enumerated with.
type contextKey [2]uint64

// contextCache keeps the choices of recent contexts. Choices do not depend on weights, so it outlives updates.
type contextCache struct {
	seeds [2]maphash.Seed

	mu    sync.Mutex
	limit int
	order *list.List // most recent first
	at    map[contextKey]*list.Element
}

type cachedContext struct {
	key     contextKey
	choices *Choices
}

func newContextCache(limit int) *contextCache {
	return &contextCache{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, limit: limit,
		order: list.New(), at: map[contextKey]*list.Element{}}
}

func (c *contextCache) key(ids []int32, guesses []string) contextKey {
	buf := make([]byte, 0, 2*len(ids)+64)
	for _, id := range ids {
		buf = binary.LittleEndian.AppendUint16(buf, uint16(id))
	}
	for _, g := range guesses {
		buf = binary.LittleEndian.AppendUint16(buf, 0xffff) // no id: keeps guesses apart from ids and each other
		buf = append(buf, g...)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(g)))
	}
	return contextKey{maphash.Bytes(c.seeds[0], buf), maphash.Bytes(c.seeds[1], buf)}
}

func (c *contextCache) get(k contextKey) *Choices {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedContext).choices
}

func (c *contextCache) put(k contextKey, choices *Choices) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit <= 0 || c.at[k] != nil {
		return
	}
	if len(c.at) >= c.limit {
		oldest := c.order.Back()
		delete(c.at, c.order.Remove(oldest).(*cachedContext).key)
	}
	c.at[k] = c.order.PushFront(&cachedContext{k, choices})
}

func (c *contextCache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Init()
	clear(c.at)
}
