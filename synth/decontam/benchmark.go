// Package decontam finds training questions that come from a benchmark: by n-grams of the whole question, by answer and
// entities, by MinHash similarity and by evidence pages. A benchmark is kept as salted hashes, in memory and in files
// (docs/formats/decontam.md), so that one that is distributed encrypted never lies in clear.
package decontam

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/leak"
	"github.com/quarry-rl/quarry/synth/near"
)

// Item is a question in clear: one of a benchmark, or one to be checked.
type Item struct {
	Text     string
	Answers  []string // the answer and its aliases
	Entities []string // names in the question; when empty they are found by their capitals and title marks
	Pages    []string // titles or addresses of the evidence pages
}

// ItemOf takes the item from a synthesised question. title gives the title or address of a document; nil leaves pages out.
func ItemOf(q *quarry.Question, title func(doc string) string) Item {
	it := Item{Text: q.Text, Answers: append([]string{q.Answer}, q.Aliases...)}
	if title != nil {
		for _, d := range q.Docs() {
			it.Pages = append(it.Pages, title(d))
		}
	}
	return it
}

// Salt makes the hashes of one file comparable with nothing else.
type Salt [32]byte

// NewSalt draws a salt.
func NewSalt() Salt {
	var s Salt
	rand.Read(s[:]) // never fails
	return s
}

// kinds of what is hashed, so that an answer never equals an n-gram
const (
	kindGram   = 'g'
	kindAnswer = 'a'
	kindEntity = 'e'
	kindPages  = 'p'
)

// hash is the first 8 bytes of SHA-256 of salt, kind and text.
func (s *Salt) hash(kind byte, text string) uint64 {
	buf := make([]byte, 0, 128)
	buf = append(buf, s[:]...)
	buf = append(buf, kind)
	sum := sha256.Sum256(append(buf, text...))
	return binary.LittleEndian.Uint64(sum[:])
}

func (s *Salt) hashes(kind byte, texts []string) []uint64 {
	var out []uint64
	for _, t := range texts {
		out = append(out, s.hash(kind, t))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *Salt) seed() uint64 {
	sum := sha256.Sum256(append([]byte("minhash"), s[:]...))
	return binary.LittleEndian.Uint64(sum[:])
}

// permutations of the MinHash signatures; one byte each is kept.
const permutations = 128

// hashed is a question of a benchmark as hashes. Lists ascend, so that they tell nothing of the order in the text.
type hashed struct {
	tokens   uint32
	cjk      bool
	grams    []uint64 // of gramShort words, gramCJK characters, or the whole question when it has fewer
	long     []uint64 // of gramLong words, when it has longWords or more
	answers  []uint64
	entities []uint64
	pages    uint64 // 0 for none
	sig      [permutations]byte
}

// gram is the length of the n-grams in grams.
func (h *hashed) gram() int {
	if h.cjk {
		return min(gramCJK, int(h.tokens))
	}
	return min(gramShort, int(h.tokens))
}

// whole says whether only a whole question can match: too few tokens to stand in another one by intent.
func (h *hashed) whole() bool {
	return h.cjk && h.tokens < leastCJK || !h.cjk && h.tokens < leastWord
}

// Benchmark is a set of questions as salted hashes. It is read-only and safe for concurrent use.
type Benchmark struct {
	Name      string
	salt      Salt
	questions []hashed
	*finder
}

// Len is the number of questions.
func (b *Benchmark) Len() int { return len(b.questions) }

// Build hashes questions. Those without any letter or digit are an error: most likely the wrong field was read.
func Build(name string, items []Item, salt Salt) (*Benchmark, error) {
	b := &Benchmark{Name: name, salt: salt}
	s := newSigner(salt)
	for i, it := range items {
		w := word(it.Text)
		if len(w.tokens) == 0 {
			return nil, &quarry.Error{Op: "decontaminate", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s question %d", name, i+1), Msg: "has no words"}
		}
		h := hashed{tokens: uint32(len(w.tokens)), cjk: w.cjk, answers: salt.hashes(kindAnswer, surfaces(it.Answers)), entities: salt.hashes(kindEntity, entities(&it))}
		h.grams = gramHashes(&salt, &w, h.gram())
		if !w.cjk && len(w.tokens) >= longWords {
			h.long = gramHashes(&salt, &w, gramLong)
		}
		if p := pageSet(it.Pages); p != "" {
			h.pages = max(1, salt.hash(kindPages, p))
		}
		s.sign(h.sig[:0], &w)
		b.questions = append(b.questions, h)
	}
	b.finder = newFinder(b)
	return b, nil
}

func entities(it *Item) []string {
	if len(it.Entities) > 0 {
		return surfaces(it.Entities)
	}
	return names(it.Text)
}

func gramHashes(salt *Salt, w *wording, n int) []uint64 {
	var out []uint64
	w.grams(n, func(g string) { out = append(out, salt.hash(kindGram, g)) })
	slices.Sort(out)
	return slices.Compact(out)
}

// signer makes 8-bit MinHash signatures; for one goroutine.
type signer struct {
	h        *near.Hasher
	sig      []uint64
	shingles []uint64
}

func newSigner(salt Salt) *signer {
	h := near.NewHasher(permutations, salt.seed())
	return &signer{h: h, sig: make([]uint64, h.Size())}
}

func (s *signer) sign(dst []byte, w *wording) []byte {
	s.shingles = s.h.Shingles(s.shingles[:0], near.Normal(w.folded))
	s.h.Sign(s.sig, s.shingles)
	return s.h.Bytes(dst, s.sig)
}

// tables is the hash of everything besides the salt that hashes depend on.
func tables() [32]byte {
	fold := leak.FoldHash()
	return sha256.Sum256(append([]byte("decontam/1 near/1\x00"), fold[:]...))
}
