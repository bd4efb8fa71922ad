package store

import (
	"io"
	"os"

	"github.com/quarry-rl/quarry/internal/atomicfile"
)

const inMemory = 64 << 20 // bytes: texts.limit

// texts holds the text of all documents in order of arrival: in memory, or beyond limit in a file.
type texts struct {
	dir   string // for the file; "" keeps all in memory
	limit int    // bytes in memory before they go to the file
	tail  []byte // what is not in the file yet
	file  *os.File
	size  int64 // of the file
}

// add keeps a text and says where.
func (t *texts) add(s string) (at int64, err error) {
	at = t.size + int64(len(t.tail))
	t.tail = append(t.tail, s...)
	if t.dir == "" || len(t.tail) < t.limit {
		return at, nil
	}
	return at, t.flush()
}

func (t *texts) flush() (err error) {
	if t.file == nil {
		if t.file, err = os.CreateTemp(t.dir, ".texts.*.tmp"); err != nil {
			return atomicfile.Classify("kg build", t.dir, err)
		}
	}
	n, err := t.file.Write(t.tail)
	t.size += int64(n)
	t.tail = t.tail[:copy(t.tail, t.tail[n:])]
	return atomicfile.Classify("kg build", t.file.Name(), err)
}

// read is n bytes at a place that add gave, in buf when it is large enough.
func (t *texts) read(buf []byte, at int64, n int) ([]byte, error) {
	if at >= t.size {
		return append(buf[:0], t.tail[at-t.size:at-t.size+int64(n)]...), nil
	}
	if cap(buf) < n {
		buf = make([]byte, n, n+n/2+1) // with room for what is put behind it
	}
	buf = buf[:n]
	if _, err := io.ReadFull(io.NewSectionReader(t.file, at, int64(n)), buf); err != nil {
		return nil, atomicfile.Classify("kg build", t.file.Name(), err)
	}
	return buf, nil
}

func (t *texts) close() error {
	if t.file == nil {
		return nil
	}
	name := t.file.Name()
	err := t.file.Close()
	t.file = nil
	if rm := os.Remove(name); err == nil {
		err = rm
	}
	return atomicfile.Classify("kg build", name, err)
}

const listChunk = 1 << 16

// list grows without copying what it holds.
type list[T any] struct {
	chunks [][]T
	n      int
}

func (l *list[T]) add(v T) {
	if l.n%listChunk == 0 {
		l.chunks = append(l.chunks, make([]T, 0, min(listChunk, max(1024, l.n))))
	}
	c := &l.chunks[l.n/listChunk]
	*c = append(*c, v)
	l.n++
}

func (l *list[T]) at(i int) *T { return &l.chunks[i/listChunk][i%listChunk] }

// flat is a copy of all items.
func (l *list[T]) flat() []T {
	out := make([]T, 0, l.n)
	for _, c := range l.chunks {
		out = append(out, c...)
	}
	return out
}
