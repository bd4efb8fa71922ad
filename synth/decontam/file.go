package decontam

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// The hashed file (docs/formats/decontam.md).
const (
	magic   = "QRYDECON"
	version = 1

	headSize   = 8 + 4 + 4 + 32 + 32 + 2 // up to the name
	recordSize = 4 + 1 + 3 + 4 + 4 + 4 + 4 + 8 + permutations
	tailSize   = sha256.Size

	flagCJK = 1
	maxName = 1 << 12
)

// Encode is the benchmark as a hashed file.
func (b *Benchmark) Encode() []byte {
	le := binary.LittleEndian
	name := b.Name[:min(len(b.Name), maxName)]
	sum := tables()
	out := append([]byte(magic), 0, 0, 0, 0)
	le.PutUint32(out[8:], version)
	out = le.AppendUint32(out, uint32(len(b.questions)))
	out = append(append(out, b.salt[:]...), sum[:]...)
	out = append(le.AppendUint16(out, uint16(len(name))), name...)
	for i := range b.questions {
		h := &b.questions[i]
		out = le.AppendUint32(out, h.tokens)
		flags := byte(0)
		if h.cjk {
			flags = flagCJK
		}
		out = append(out, flags, 0, 0, 0)
		for _, list := range [][]uint64{h.grams, h.long, h.answers, h.entities} {
			out = le.AppendUint32(out, uint32(len(list)))
		}
		out = le.AppendUint64(out, h.pages)
		out = append(out, h.sig[:]...)
		for _, list := range [][]uint64{h.grams, h.long, h.answers, h.entities} {
			for _, x := range list {
				out = le.AppendUint64(out, x)
			}
		}
	}
	end := sha256.Sum256(out)
	return append(out, end[:]...)
}

// Decode reads a hashed file; path is for messages. Damage is corrupt, a newer version or other tables invalid.
func Decode(path string, data []byte) (*Benchmark, error) {
	le := binary.LittleEndian
	if len(data) < len(magic)+4 || string(data[:8]) != magic {
		return nil, fault(path, quarry.KindCorrupt, "is no hashed benchmark: it does not begin with "+magic, "")
	}
	if v := le.Uint32(data[8:]); v != version {
		return nil, fault(path, quarry.KindInvalid, fmt.Sprintf("has version %d, this program reads version %d", v, version), "use a quarry of the version that wrote it, or hash the benchmark again")
	}
	if len(data) < headSize+tailSize {
		return nil, corrupt(path, "is cut off in its head")
	}
	body := data[:len(data)-tailSize]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return nil, corrupt(path, "does not match its checksum: it was cut off or changed")
	}
	r := &reader{data: body[12:]}
	n := int(r.u32())
	b := &Benchmark{}
	copy(b.salt[:], r.take(32))
	if sum := tables(); !bytes.Equal(r.take(32), sum[:]) {
		return nil, fault(path, quarry.KindInvalid, "was made with other tables for folding text, so its hashes would match nothing", "hash the benchmark again with this version")
	}
	b.Name = string(r.take(int(r.u16())))
	for i := range n {
		h, ok := r.question()
		if !ok {
			return nil, corrupt(path, fmt.Sprintf("question %d of %d is malformed", i+1, n))
		}
		b.questions = append(b.questions, h)
	}
	if r.failed || len(r.data) > 0 {
		return nil, corrupt(path, fmt.Sprintf("%d bytes are left after %d questions", len(r.data), n))
	}
	b.finder = newFinder(b)
	return b, nil
}

func corrupt(path, msg string) error {
	return fault(path, quarry.KindCorrupt, msg, "hash the benchmark again")
}

func fault(path string, kind quarry.Kind, msg, hint string) error {
	return &quarry.Error{Op: "read benchmark", Kind: kind, Subject: path, Msg: msg, Hint: hint}
}

// reader takes fields off the front; after a field that is not there, failed is set and everything is zero.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.data) {
		r.failed, r.data = true, nil
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) question() (h hashed, ok bool) {
	if len(r.data) < recordSize {
		return h, false
	}
	h.tokens = r.u32()
	flags := r.take(4)
	h.cjk = flags[0] == flagCJK
	var counts [4]uint32
	total := uint64(0)
	for i := range counts {
		counts[i] = r.u32()
		total += uint64(counts[i])
	}
	h.pages = binary.LittleEndian.Uint64(r.take(8))
	copy(h.sig[:], r.take(permutations))
	if flags[0] > flagCJK || flags[1]|flags[2]|flags[3] != 0 || h.tokens == 0 || total > uint64(len(r.data)/8) {
		return h, false
	}
	if counts[0] == 0 || counts[0] > h.tokens || counts[1] > h.tokens || counts[1] > 0 && (h.cjk || h.tokens < longWords) {
		return h, false
	}
	for i, list := range []*[]uint64{&h.grams, &h.long, &h.answers, &h.entities} {
		if *list, ok = r.list(int(counts[i])); !ok {
			return h, false
		}
	}
	return h, true
}

func (r *reader) list(n int) (out []uint64, ok bool) {
	if n == 0 {
		return nil, true
	}
	out = make([]uint64, n)
	b := r.take(8 * n)
	for i := range out {
		if out[i] = binary.LittleEndian.Uint64(b[8*i:]); i > 0 && out[i-1] >= out[i] {
			return nil, false
		}
	}
	return out, true
}

// Load opens a benchmark, be it a hashed file or a plain one, which is hashed in memory. The salt of a plain one comes
// from its bytes: the same file finds the same again, its digest is the same, and nothing of it is written.
func Load(ctx context.Context, path string) (*Benchmark, error) {
	data, err := readAll(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte(magic)) {
		return Decode(path, data)
	}
	items, err := parse(ctx, path, data)
	if err != nil {
		return nil, err
	}
	return Build(filepath.Base(path), items, Salt(sha256.Sum256(data)))
}

// Digest is the identity of a benchmark with its name, its salt and the tables of its hashes: 64 hex digits.
func (b *Benchmark) Digest() string {
	sum := sha256.Sum256(b.Encode())
	return hex.EncodeToString(sum[:])
}

// Summary is what HashFile has read.
type Summary struct {
	Questions int `json:"questions"`
	Answers   int `json:"answers"` // questions with an answer
	Pages     int `json:"pages"`   // questions with evidence pages
}

// HashFile reads a plain benchmark and writes it to out as salted hashes. Nothing else is written. The salt is drawn anew.
func HashFile(ctx context.Context, source, out string) (Summary, error) {
	data, err := readAll(source)
	if err != nil {
		return Summary{}, err
	}
	return hashData(ctx, source, data, out)
}

// HashFrom is HashFile for text that a program which decrypts it writes into a pipe: it never lies on a disk. name is
// that of the benchmark. Packed text is not unpacked.
func HashFrom(ctx context.Context, name string, from io.Reader, out string) (Summary, error) {
	data, err := readPlain(name, from)
	if err != nil {
		return Summary{}, err
	}
	return hashData(ctx, name, data, out)
}

func hashData(ctx context.Context, source string, data []byte, out string) (Summary, error) {
	var s Summary
	if bytes.HasPrefix(data, []byte(magic)) {
		return s, fault(source, quarry.KindInvalid, "is hashed already", "use it as it is")
	}
	items, err := parse(ctx, source, data)
	if err != nil {
		return s, err
	}
	b, err := Build(filepath.Base(source), items, NewSalt())
	if err != nil {
		return s, err
	}
	for _, it := range items {
		s.Questions++
		s.Answers += min(1, len(it.Answers))
		s.Pages += min(1, len(it.Pages))
	}
	return s, atomicfile.WriteFile(out, b.Encode())
}
