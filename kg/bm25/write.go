package bm25

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// The layout of the file: docs/formats/bm25.md. Every number is little-endian.
const (
	magic       = "QRYBM25\n"
	Version     = 1 // of the format
	headSize    = 16
	blockSize   = 128                // postings in a block
	postingSize = 6                  // 4 of the passage, 2 of the impact, all passages of a block first
	entrySize   = 32                 // of a term
	metaSize    = 8                  // of a block
	footSize    = 5*24 + 32 + 64 + 8 // sections, counts and parameters, analyser, checksum and end mark
	analyserLen = 32                 // bytes of its name
)

// The sections in the order they stand in.
const (
	secPostings = iota
	secBlocks
	secTerms
	secNames
	secSlots
	sections
)

// unit is what scores are counted in: 1/65536.
const unit = 1 << 16

// impact is tf / (tf + k1*(1-b+b*length/average)) in units of 1/65536, from 1 to 65535. The conversions keep a compiler
// from fusing a product with a sum, which would round differently.
func impact(o Options, tf uint8, length uint32, average float64) uint16 {
	norm := float64(o.K1 * (float64(1-o.B) + float64(o.B*float64(float64(length)/average))))
	return uint16(min(max(1, math.Round(float64(float64(tf)/float64(float64(tf)+norm))*unit)), math.MaxUint16))
}

// weight is (k1+1) * ln(1 + (n-df+0.5)/(df+0.5)) in units, at least 1: what an impact of 1 would give. It is stored, so
// that a file scores alike wherever it is read.
func weight(o Options, n, df int) uint32 {
	idf := math.Log(1 + float64((float64(n-df)+0.5)/(float64(df)+0.5)))
	return uint32(max(1, math.Round(float64((o.K1+1)*idf)*unit)))
}

// part is what an impact adds to a score, rounded up so that a shared term always counts.
func part(weight uint64, impact uint16) uint64 { return (weight*uint64(impact) + unit - 1) / unit }

type section struct {
	off, size uint64
	crc       uint32
}

// writer lays sections out one after the other.
type writer struct {
	w    *bufio.Writer
	off  uint64
	sum  uint32
	secs [sections]section
}

func (w *writer) Write(p []byte) (int, error) {
	w.sum = crc32.Update(w.sum, castagnoli, p)
	w.off += uint64(len(p))
	return w.w.Write(p)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// close ends section s, which began at off from, and pads to 8 bytes.
func (w *writer) close(s int, from uint64) {
	w.secs[s] = section{off: from, size: w.off - from, crc: w.sum}
	for w.off%8 != 0 {
		w.w.WriteByte(0)
		w.off++
	}
	w.sum = 0
}

func (b *Builder) write(to io.Writer) error {
	w := &writer{w: bufio.NewWriterSize(to, 1<<20)}
	head := binary.LittleEndian.AppendUint32([]byte(magic), Version)
	w.Write(binary.LittleEndian.AppendUint32(head, 0))
	w.sum = 0
	entries, blocks, err := b.writePostings(w)
	if err != nil {
		return err
	}
	for s, body := range [][]byte{secBlocks: blocks, secTerms: entries, secNames: b.dict.names} {
		if s == secPostings {
			continue
		}
		from := w.off
		w.Write(body)
		w.close(s, from)
	}
	from := w.off
	if len(b.dict.slots) == 0 {
		b.dict.grow() // a reader need not think of a table without slots
	}
	var word [8]byte
	for _, s := range b.dict.slots {
		binary.LittleEndian.PutUint64(word[:], s)
		w.Write(word[:])
	}
	w.close(secSlots, from)
	w.Write(b.foot(w))
	return w.w.Flush() // bufio keeps the first error
}

// writePostings writes the postings and returns the tables of terms and of blocks.
func (b *Builder) writePostings(w *writer) (entries, blocks []byte, err error) {
	from := w.off
	average := float64(b.tokens) / float64(max(1, len(b.lens)))
	var impacts []uint16
	var block [blockSize * postingSize]byte
	err = b.postings(func(t uint32, passages []uint32, tfs []uint8) error {
		impacts = impacts[:0]
		for i, p := range passages {
			impacts = append(impacts, impact(b.opt, tfs[i], b.lens[p], average))
		}
		start := uint32(0)
		if t > 0 {
			start = b.dict.ends[t-1]
		}
		e := entry{off: w.off - from, block: uint32(len(blocks) / metaSize), df: uint32(len(passages)), weight: weight(b.opt, len(b.lens), len(passages)),
			name: start, nameLen: uint8(b.dict.ends[t] - start)}
		e.best, e.best10, e.best100 = leading(impacts)
		entries = e.append(entries)
		for i := 0; i < len(passages); i += blockSize {
			j := min(i+blockSize, len(passages))
			top := uint16(0)
			for k := i; k < j; k++ {
				binary.LittleEndian.PutUint32(block[4*(k-i):], passages[k])
				binary.LittleEndian.PutUint16(block[4*(j-i)+2*(k-i):], impacts[k])
				top = max(top, impacts[k])
			}
			if _, err := w.Write(block[:(j-i)*postingSize]); err != nil {
				return err
			}
			blocks = binary.LittleEndian.AppendUint32(blocks, passages[j-1])
			blocks = binary.LittleEndian.AppendUint32(blocks, uint32(top))
		}
		return nil
	})
	w.close(secPostings, from)
	return entries, blocks, err
}

// leading are the largest, the 10th and the 100th largest impact, 0 where there are fewer. They bound the score that
// the best 1, 10 or 100 passages of a term have at least, before any is looked at.
func leading(impacts []uint16) (best, best10, best100 uint16) {
	var top [100]uint16 // descending
	for _, v := range impacts {
		if v <= top[99] {
			continue
		}
		i := 99
		for ; i > 0 && top[i-1] < v; i-- {
			top[i] = top[i-1]
		}
		top[i] = v
	}
	return top[0], top[9], top[99]
}

// entry is a term as the file keeps it.
type entry struct {
	off                   uint64 // of its postings in their section
	block, df             uint32 // its first block, its passages
	weight                uint32
	name                  uint32 // offset of its name
	best, best10, best100 uint16 // impacts, see leading
	nameLen               uint8
}

func (e entry) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, e.off)
	b = le.AppendUint32(b, e.block)
	b = le.AppendUint32(b, e.df)
	b = le.AppendUint32(b, e.weight)
	b = le.AppendUint32(b, e.name)
	b = le.AppendUint16(b, e.best)
	b = le.AppendUint16(b, e.best10)
	b = le.AppendUint16(b, e.best100)
	return append(b, e.nameLen, 0)
}

func readEntry(b []byte) entry {
	le := binary.LittleEndian
	_ = b[entrySize-1]
	return entry{off: le.Uint64(b), block: le.Uint32(b[8:]), df: le.Uint32(b[12:]), weight: le.Uint32(b[16:]), name: le.Uint32(b[20:]),
		best: le.Uint16(b[24:]), best10: le.Uint16(b[26:]), best100: le.Uint16(b[28:]), nameLen: b[30]}
}

func (b *Builder) foot(w *writer) []byte {
	le := binary.LittleEndian
	var f []byte
	for _, s := range w.secs {
		f = le.AppendUint64(f, s.off)
		f = le.AppendUint64(f, s.size)
		f = le.AppendUint64(f, uint64(s.crc))
	}
	f = le.AppendUint64(f, uint64(len(b.lens)))
	f = le.AppendUint64(f, b.tokens)
	f = le.AppendUint64(f, math.Float64bits(b.opt.K1))
	f = le.AppendUint64(f, math.Float64bits(b.opt.B))
	name := make([]byte, analyserLen)
	copy(name, Analyser)
	f = append(f, name...)
	sum := AnalyserHash()
	f = append(f, sum[:]...)
	f = le.AppendUint32(f, crc32.Checksum(f, castagnoli))
	return append(f, "END\n"...)
}
