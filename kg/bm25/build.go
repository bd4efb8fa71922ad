package bm25

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Options are set when an index is built; the file records K1 and B.
type Options struct {
	K1, B float64 // saturation of a term, weight of a passage's length. K1 0 takes 0.9 and 0.4 for both

	// RunPostings is how many (term, passage) pairs are held in memory, at 10 bytes each, before they go to a temporary
	// file; 0 is 1<<25. The index is the same for any value.
	RunPostings int
	TempDir     string // of the temporary files, "" for the system's
}

func (o Options) filled() (Options, error) {
	if o.K1 == 0 {
		o.K1, o.B = 0.9, 0.4
	}
	if !(o.K1 > 0 && o.K1 <= 100 && o.B >= 0 && o.B <= 1) {
		return o, &quarry.Error{Op: "bm25 build", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("k1 %g, b %g", o.K1, o.B),
			Msg: "expected 0 < k1 <= 100 and 0 <= b <= 1", Hint: "leave both out for 0.9 and 0.4"}
	}
	if o.RunPostings <= 0 {
		o.RunPostings = 1 << 25
	}
	o.RunPostings = min(o.RunPostings, 1<<30)
	return o, nil
}

// maxTF is the largest count of a term in a passage that is told apart: its impact is above 0.99 of the limit at K1 0.9.
const maxTF = 255

// Builder takes passages in the order of their numbers, from 0. It is not safe for concurrent use.
type Builder struct {
	opt    Options
	err    error // first failure; WriteTo and WriteFile return it
	dict   dict
	lens   []uint32 // terms of each passage
	tokens uint64   // their sum
	last   []uint32 // by term: passage + 1 that it was last seen in
	at     []uint32 // by term: where in the run that passage's pair stands

	// The run in memory: pairs in the order of passages.
	terms []uint32
	tfs   []uint8
	first uint32   // first passage of the run
	ends  []uint32 // by passage of the run: end of its pairs
	files []*os.File
}

// New returns an empty builder. Options that make no sense are reported by WriteFile.
func New(opt Options) *Builder {
	opt, err := opt.filled()
	return &Builder{opt: opt, err: err}
}

// Len is the number of passages added.
func (b *Builder) Len() int { return len(b.lens) }

// Add adds the next passage. Terms of the title count like those of the text. After a failure it does nothing.
func (b *Builder) Add(title, text string) {
	if b.err != nil {
		return
	}
	if len(b.lens) >= math.MaxUint32-1 {
		b.err = tooLarge("passages")
		return
	}
	n := uint32(0)
	for _, part := range [2]string{title, text} {
		for s := newScanner(part); ; n++ {
			term := s.next()
			if term == nil {
				break
			}
			t, ok := b.dict.number(term)
			if !ok {
				b.err = tooLarge("distinct terms")
				return
			}
			b.count(t)
		}
	}
	b.lens = append(b.lens, n)
	b.tokens += uint64(n)
	b.ends = append(b.ends, uint32(len(b.terms)))
	if len(b.terms) >= b.opt.RunPostings {
		b.spill()
	}
}

func tooLarge(what string) error {
	return &quarry.Error{Op: "bm25 build", Kind: quarry.KindInvalid, Msg: "too many " + what + " for one index", Hint: "split the corpus"}
}

// count adds one occurrence of t to the passage that is being added.
func (b *Builder) count(t uint32) {
	if int(t) == len(b.last) {
		b.last, b.at = append(b.last, 0), append(b.at, 0)
	}
	if p := uint32(len(b.lens)) + 1; b.last[t] != p {
		b.last[t], b.at[t] = p, uint32(len(b.terms))
		b.terms, b.tfs = append(b.terms, t), append(b.tfs, 1)
	} else if i := b.at[t]; b.tfs[i] < maxTF {
		b.tfs[i]++
	}
}

// Close removes temporary files. WriteFile and WriteTo do so too.
func (b *Builder) Close() error {
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	b.files = nil
	if b.err == nil {
		b.err = &quarry.Error{Op: "bm25 build", Kind: quarry.KindInvalid, Msg: "this builder is used up: an index is written once"}
	}
	return errors.Join(errs...)
}

// WriteFile publishes the index at path, whole or not at all, and ends the builder.
func (b *Builder) WriteFile(path string) error {
	defer b.Close()
	if b.err != nil {
		return b.err
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := b.write(f); err != nil {
		return err
	}
	return f.Commit()
}

// WriteTo writes the index and ends the builder.
func (b *Builder) WriteTo(w io.Writer) (int64, error) {
	defer b.Close()
	if b.err != nil {
		return 0, b.err
	}
	c := &counter{w: w}
	err := b.write(c)
	return c.n, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// sorted is the run in memory by term, then passage: pairs of term t stand at starts[t] to starts[t+1].
func (b *Builder) sorted() (starts []uint32, passages []uint32, tfs []uint8) {
	starts = make([]uint32, b.dict.len()+2)
	for _, t := range b.terms {
		starts[t+2]++
	}
	for t := 2; t < len(starts); t++ {
		starts[t] += starts[t-1]
	}
	passages, tfs = make([]uint32, len(b.terms)), make([]uint8, len(b.terms))
	i := uint32(0)
	for k, end := range b.ends {
		for ; i < end; i++ {
			j := &starts[b.terms[i]+1]
			passages[*j], tfs[*j] = b.first+uint32(k), b.tfs[i]
			*j++
		}
	}
	return starts, passages, tfs
}

// spill writes the run in memory to a temporary file: for each of its terms term, count, passages, counts in a passage.
func (b *Builder) spill() {
	f, err := os.CreateTemp(b.opt.TempDir, "quarry-bm25-*.run")
	if err != nil {
		b.err = atomicfile.Classify("bm25 build", "temporary run", err)
		return
	}
	b.files = append(b.files, f)
	starts, passages, tfs := b.sorted()
	w := bufio.NewWriterSize(f, 1<<20)
	var word [8]byte
	for t := range b.dict.len() {
		from, to := starts[t], starts[t+1]
		if from == to {
			continue
		}
		binary.LittleEndian.PutUint32(word[:], uint32(t))
		binary.LittleEndian.PutUint32(word[4:], to-from)
		w.Write(word[:])
		for _, p := range passages[from:to] {
			binary.LittleEndian.PutUint32(word[:], p)
			w.Write(word[:4])
		}
		w.Write(tfs[from:to])
	}
	if err = w.Flush(); err == nil { // bufio keeps the first error
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		b.err = atomicfile.Classify("bm25 build", f.Name(), err)
	}
	b.terms, b.tfs, b.ends, b.first = b.terms[:0], b.tfs[:0], b.ends[:0], uint32(len(b.lens))
}

// run reads a spilled run, term by term.
type run struct {
	r     *bufio.Reader
	name  string
	term  uint32
	count uint32
	done  bool
}

func (r *run) advance() error {
	var word [8]byte
	_, err := io.ReadFull(r.r, word[:])
	if err == io.EOF {
		r.done = true
		return nil
	}
	r.term, r.count = binary.LittleEndian.Uint32(word[:]), binary.LittleEndian.Uint32(word[4:])
	return r.wrap(err)
}

func (r *run) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &quarry.Error{Op: "bm25 build", Kind: quarry.KindCorrupt, Subject: r.name, Msg: "the temporary run cannot be read back",
		Hint: "check the disk and that nothing cleans the folder, then build again", Err: err}
}

// take appends the run's pairs of its current term and goes to the next one.
func (r *run) take(passages []uint32, tfs []uint8, buf []byte) ([]uint32, []uint8, []byte, error) {
	n := int(r.count)
	if cap(buf) < 4*n {
		buf = make([]byte, 4*n)
	}
	buf = buf[:4*n]
	if _, err := io.ReadFull(r.r, buf); err != nil {
		return passages, tfs, buf, r.wrap(err)
	}
	for i := 0; i < len(buf); i += 4 {
		passages = append(passages, binary.LittleEndian.Uint32(buf[i:]))
	}
	if _, err := io.ReadFull(r.r, buf[:n]); err != nil {
		return passages, tfs, buf, r.wrap(err)
	}
	tfs = append(tfs, buf[:n]...)
	return passages, tfs, buf, r.advance()
}

// postings calls use with each term's pairs in the order of passages, terms in the order of their numbers. The slices
// are good until use returns.
func (b *Builder) postings(use func(t uint32, passages []uint32, tfs []uint8) error) error {
	if len(b.files) == 0 {
		starts, passages, tfs := b.sorted()
		for t := range uint32(b.dict.len()) {
			if err := use(t, passages[starts[t]:starts[t+1]], tfs[starts[t]:starts[t+1]]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(b.terms) > 0 {
		if b.spill(); b.err != nil {
			return b.err
		}
	}
	b.terms, b.tfs, b.ends = nil, nil, nil
	runs := make([]*run, len(b.files))
	for i, f := range b.files {
		runs[i] = &run{r: bufio.NewReaderSize(f, 1<<20), name: f.Name()}
		if err := runs[i].advance(); err != nil {
			return err
		}
	}
	var passages []uint32
	var tfs []uint8
	var buf []byte
	var err error
	for t := range uint32(b.dict.len()) {
		passages, tfs = passages[:0], tfs[:0]
		for _, r := range runs {
			if r.done || r.term != t {
				continue
			}
			if passages, tfs, buf, err = r.take(passages, tfs, buf); err != nil {
				return err
			}
		}
		if err := use(t, passages, tfs); err != nil {
			return err
		}
	}
	return nil
}
