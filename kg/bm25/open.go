package bm25

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"sync"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// checkedAtOpen is how large a file may be for Open to verify all of it: about a millisecond. Larger ones are verified by
// Fsck; Open looks at their frame only, and a search in a damaged part finds too little but touches nothing else.
const checkedAtOpen = 16 << 20

// Index is an index in memory or mapped from a file: read-only, safe for concurrent searches until Close.
type Index struct {
	path   string // "" in memory
	data   []byte
	unmap  func() error
	secs   [sections]section
	k1, b  float64
	n      uint32 // passages
	tokens uint64

	blocks, terms, names, slots, postings []byte
	scratch                               sync.Pool // *search
}

// Open maps the index at path. Errors: not_found, corrupt (not an index, truncated, a wrong checksum), invalid (a newer
// format, another analyser).
func Open(path string) (*Index, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, atomicfile.Classify("bm25 open", path, err)
	}
	x, err := open(path, data, len(data) <= checkedAtOpen)
	if err != nil {
		return nil, errors.Join(err, unmap())
	}
	x.unmap = unmap
	return x, nil
}

// FromBytes reads an index that WriteTo wrote and checks all of it. It keeps data, which must not change.
func FromBytes(data []byte) (*Index, error) { return open("", data, true) }

func open(path string, data []byte, check bool) (*Index, error) {
	x := &Index{path: path, data: data}
	if err := x.frame(); err != nil {
		return nil, err
	}
	if check {
		if err := x.checksums(); err != nil {
			return nil, err
		}
	}
	x.scratch.New = func() any { return new(search) }
	return x, nil
}

// Close ends the mapping. No search may be running or follow.
func (x *Index) Close() error {
	if x.unmap == nil {
		return nil
	}
	err := atomicfile.Classify("bm25 close", x.path, x.unmap())
	x.unmap = nil
	return err
}

// Len is the number of passages.
func (x *Index) Len() int { return int(x.n) }

// Terms is the number of distinct terms.
func (x *Index) Terms() int { return len(x.terms) / entrySize }

// Options are the parameters the index was built with.
func (x *Index) Options() Options { return Options{K1: x.k1, B: x.b} }

func (x *Index) corrupt(msg string, args ...any) error {
	name := x.path
	if name == "" {
		name = "index in memory"
	}
	return &quarry.Error{Op: "bm25 open", Kind: quarry.KindCorrupt, Subject: name, Msg: fmt.Sprintf(msg, args...), Hint: "build the index again"}
}

func (x *Index) refused(msg, hint string) error {
	err := x.corrupt("%s", msg).(*quarry.Error)
	err.Kind, err.Hint = quarry.KindInvalid, hint
	return err
}

// frame reads head and foot and cuts the file into its sections.
func (x *Index) frame() error {
	le := binary.LittleEndian
	if len(x.data) < headSize || string(x.data[:len(magic)]) != magic {
		return x.corrupt("is no search index: it does not begin with %q", magic)
	}
	if v := le.Uint32(x.data[len(magic):]); v != Version {
		return x.refused(fmt.Sprintf("has version %d of the format, this program reads version %d", v, Version),
			"use the quarry that wrote it, or build the index again")
	}
	if le.Uint32(x.data[len(magic)+4:]) != 0 {
		return x.corrupt("bytes 12 to 15 are not 0")
	}
	end := len(x.data) - footSize
	if end < headSize || string(x.data[len(x.data)-4:]) != "END\n" {
		return x.corrupt("is cut short: the end mark is missing")
	}
	foot := x.data[end:]
	if sum := le.Uint32(foot[footSize-8:]); sum != crc32.Checksum(foot[:footSize-8], castagnoli) {
		return x.corrupt("the checksum of its foot is wrong")
	}
	next := uint64(headSize)
	for i := range x.secs {
		f := foot[24*i:]
		s := section{off: le.Uint64(f), size: le.Uint64(f[8:]), crc: uint32(le.Uint64(f[16:]))}
		if s.off != next || s.size > uint64(end)-next {
			return x.corrupt("section %d stands outside the file", i)
		}
		next = min((s.off+s.size+7)&^7, uint64(end))
		if strings.Trim(string(x.data[s.off+s.size:next]), "\x00") != "" {
			return x.corrupt("bytes %d to %d fill up a section and are not 0", s.off+s.size, next)
		}
		x.secs[i] = s
	}
	if next != uint64(end) {
		return x.corrupt("is cut short: %d bytes stand after its sections, expected none", uint64(end)-next)
	}
	x.postings, x.blocks, x.terms, x.names, x.slots = x.body(secPostings), x.body(secBlocks), x.body(secTerms), x.body(secNames), x.body(secSlots)
	f := foot[24*sections:]
	n := le.Uint64(f)
	x.n, x.tokens = uint32(n), le.Uint64(f[8:])
	x.k1, x.b = math.Float64frombits(le.Uint64(f[16:])), math.Float64frombits(le.Uint64(f[24:]))
	slots := len(x.slots) / 8
	if n >= math.MaxUint32 || len(x.terms)%entrySize != 0 || len(x.blocks)%metaSize != 0 || len(x.slots)%8 != 0 || slots == 0 || slots&(slots-1) != 0 {
		return x.corrupt("its sections have sizes that no index has")
	}
	name := string(bytes.TrimRight(f[32:32+analyserLen], "\x00"))
	if want := AnalyserHash(); name != Analyser || !bytes.Equal(f[32+analyserLen:32+analyserLen+32], want[:]) {
		return x.refused(fmt.Sprintf("was built by analyser %s %s, this program has %s %s", name, hex.EncodeToString(f[32+analyserLen:32+analyserLen+4]),
			Analyser, hex.EncodeToString(want[:4])), "build the index again: queries would not meet its terms")
	}
	return nil
}

func (x *Index) body(s int) []byte { return x.data[x.secs[s].off : x.secs[s].off+x.secs[s].size] }

func (x *Index) checksums() error {
	for i, s := range x.secs {
		if crc32.Checksum(x.body(i), castagnoli) != s.crc {
			return x.corrupt("the checksum of section %d is wrong: bytes %d to %d were changed", i, s.off, s.off+s.size)
		}
	}
	return nil
}

// find returns a term's entry; ok is false for a term of no passage and for an entry that points outside the file.
func (x *Index) find(term []byte) (e entry, t uint32, ok bool) {
	h := hash(term)
	mask := uint64(len(x.slots)/8 - 1)
	for i, probes := h&mask, uint64(0); probes <= mask; i, probes = (i+1)&mask, probes+1 {
		s := binary.LittleEndian.Uint64(x.slots[8*i:])
		if s == 0 {
			return entry{}, 0, false
		}
		if s>>32 != h>>32 {
			continue
		}
		t := uint32(s) - 1
		if uint64(t) >= uint64(x.Terms()) {
			return entry{}, 0, false
		}
		e := readEntry(x.terms[entrySize*int(t):])
		if end := uint64(e.name) + uint64(e.nameLen); end <= uint64(len(x.names)) && bytes.Equal(x.names[e.name:end], term) {
			return e, t, x.holds(e)
		}
	}
	return entry{}, 0, false
}

// holds says whether an entry's postings and blocks lie in their sections.
func (x *Index) holds(e entry) bool {
	blocks := (uint64(e.df) + blockSize - 1) / blockSize
	return e.df > 0 && e.df <= x.n && e.off <= uint64(len(x.postings)) && uint64(e.df)*postingSize <= uint64(len(x.postings))-e.off &&
		(uint64(e.block)+blocks)*metaSize <= uint64(len(x.blocks))
}

// Fsck verifies the checksums and everything a search relies on: order of passages, block maxima, leading impacts, the
// table of terms. It returns the first fault as a corrupt error.
func (x *Index) Fsck() error {
	if err := x.checksums(); err != nil {
		return err
	}
	var off, total uint64
	var block, name uint32
	for t := range x.Terms() {
		e := readEntry(x.terms[entrySize*t:])
		if e.off != off || e.block != block || e.name != name || uint64(e.name)+uint64(e.nameLen) > uint64(len(x.names)) || !x.holds(e) {
			return x.corrupt("term %d does not follow the one before it", t)
		}
		text := x.names[e.name : e.name+uint32(e.nameLen)]
		if _, found, ok := x.find(text); !ok || found != uint32(t) {
			return x.corrupt("term %d, %q, is not in the table of terms", t, text)
		}
		if err := x.fsckPostings(e, string(text)); err != nil {
			return err
		}
		off += uint64(e.df) * postingSize
		block += (e.df + blockSize - 1) / blockSize
		name += uint32(e.nameLen)
		total += uint64(e.df)
	}
	if off != uint64(len(x.postings)) || uint64(block)*metaSize != uint64(len(x.blocks)) || int(name) != len(x.names) || total > x.tokens {
		return x.corrupt("its terms do not fill its sections")
	}
	used := 0
	for i := 0; i < len(x.slots); i += 8 {
		if binary.LittleEndian.Uint64(x.slots[i:]) != 0 {
			used++
		}
	}
	if used != x.Terms() {
		return x.corrupt("its table has %d terms, expected %d", used, x.Terms())
	}
	return nil
}

func (x *Index) fsckPostings(e entry, text string) error {
	le := binary.LittleEndian
	impacts := make([]uint16, 0, e.df)
	before := int64(-1)
	post := x.postings[e.off:][:uint64(e.df)*postingSize]
	for b := uint32(0); len(post) > 0; b++ {
		n := min(blockSize, len(post)/postingSize)
		top := uint16(0)
		for i := range n {
			p, v := le.Uint32(post[4*i:]), le.Uint16(post[4*n+2*i:])
			if int64(p) <= before || p >= x.n || v == 0 {
				return x.corrupt("term %q: passage %d with impact %d follows passage %d", text, p, v, before)
			}
			before, top = int64(p), max(top, v)
			impacts = append(impacts, v)
		}
		if m := x.blocks[metaSize*(e.block+b):]; le.Uint32(m) != uint32(before) || le.Uint32(m[4:]) != uint32(top) {
			return x.corrupt("term %q: the head of block %d is not of its passages", text, b)
		}
		post = post[n*postingSize:]
	}
	if best, best10, best100 := leading(impacts); best != e.best || best10 != e.best10 || best100 != e.best100 || e.weight == 0 {
		return x.corrupt("term %q: its leading impacts are not those of its passages", text)
	}
	return nil
}
