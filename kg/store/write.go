package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg/csr"
)

// write publishes the graph file, then the manifest, whose Bytes and Digest it sets. Sections named in streams are
// written by their function and not held in memory.
func write(ctx context.Context, dir string, a *arrays, streams map[string]func(io.Writer) error, m *Manifest) error {
	f, err := atomicfile.Create(filepath.Join(dir, GraphFile))
	if err != nil {
		return err
	}
	defer f.Abort()
	w := &writer{w: bufio.NewWriterSize(f, 1<<20)}
	w.head()
	for _, c := range a.columns() {
		if ctx.Err() != nil {
			return &quarry.Error{Op: "kg build", Kind: quarry.KindCanceled, Msg: "stopped", Err: context.Cause(ctx), Hint: "run the same command again"}
		}
		stream := streams[c.name]
		if stream == nil {
			stream = func(w io.Writer) error { _, err := w.Write(c.bytes()); return err }
		}
		w.section(c.name, stream)
	}
	m.Digest = w.tail()
	m.Bytes = int64(w.at)
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return w.err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	return m.save(dir)
}

// bytes is the content of a column as it stands in the file.
func (c column) bytes() []byte {
	switch v := c.data.(type) {
	case *[]byte:
		return *v
	case *[]uint32:
		return raw(*v)
	case *[]uint64:
		return raw(*v)
	case *[]csr.Step:
		return raw(*v)
	}
	return nil
}

// writer keeps the first error and the table.
type writer struct {
	w     *bufio.Writer
	at    uint64
	table []byte
	first []byte // the head
	err   error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.w.Write(p)
	w.at += uint64(n)
	w.err = err
	return n, err
}

func (w *writer) head() {
	w.first = make([]byte, headLen)
	copy(w.first, magic)
	binary.LittleEndian.PutUint32(w.first[8:], version)
	w.Write(w.first)
}

func (w *writer) section(name string, content func(io.Writer) error) {
	w.pad()
	start, h := w.at, sha256.New()
	if err := content(io.MultiWriter(w, h)); w.err == nil {
		w.err = err
	}
	w.table = appendEntry(w.table, name, start, w.at-start, h.Sum(nil))
}

func (w *writer) pad() {
	var zeros [align]byte
	if n := w.at % align; n > 0 {
		w.Write(zeros[n:])
	}
}

func (w *writer) tail() (digest string) {
	w.pad()
	end := seal(w.first, w.table, w.at+uint64(len(w.table))+tailLen)
	w.Write(w.table)
	w.Write(end)
	return hex.EncodeToString(end[tailLen-sha256.Size:])
}

func appendEntry(table []byte, name string, at, length uint64, sha []byte) []byte {
	e := make([]byte, nameBytes, entryLen)
	copy(e, name)
	e = binary.LittleEndian.AppendUint64(e, at)
	e = binary.LittleEndian.AppendUint64(e, length)
	return append(table, append(e, sha...)...)
}

// seal is the tail of a file of that size.
func seal(head, table []byte, size uint64) []byte {
	t := make([]byte, 0, tailLen)
	t = binary.LittleEndian.AppendUint64(t, size)
	t = binary.LittleEndian.AppendUint32(t, uint32(len(table)/entryLen))
	t = binary.LittleEndian.AppendUint32(t, version)
	t = append(t, endMagic...)
	t = append(t, make([]byte, 8)...)
	h := sha256.New()
	h.Write(head)
	h.Write(table)
	h.Write(t)
	return h.Sum(t)
}
