// Package tokens keeps the exact token ids of a conversation: the byte vocabulary, the ChatML rendering in Qwen's
// form, the bridges between sampled turns, the parser of assistant turns and the recorder of a thread. Ids the engine
// sampled are never decoded and encoded again; text is encoded once and joined at a special token.
package tokens

import (
	"slices"
	"strings"
)

// The vocabulary "byte/1": ids 0..255 are the bytes, then three special tokens.
const (
	VocabName       = "byte/1"
	VocabSize       = 259
	EndOfText int32 = 256
	ImStart   int32 = 257
	ImEnd     int32 = 258
)

// VocabSHA is the SHA-256 of the vocabulary written as one line "id<TAB>hex of the bytes or special text" per id.
const VocabSHA = "21ca4bcf53ce2c120b479cb3055cc03c1796dbe7cae457393c26a73623c7b4d9"

var specials = [...]string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

// replacement stands in decoded text for an id outside the vocabulary.
const replacement = "\uFFFD"

// Encode turns text into ids in ordinary mode: one id per byte. Text that spells a special token stays bytes, so no
// tool output can close a message.
func Encode(text string) []int32 { return appendText(make([]int32, 0, len(text)), text) }

func appendText(ids []int32, text string) []int32 {
	n := len(ids)
	ids = slices.Grow(ids, len(text))[:n+len(text)]
	for i := range len(text) {
		ids[n+i] = int32(text[i])
	}
	return ids
}

// Decode turns ids into text: bytes as they are, special tokens as their names, U+FFFD for an id outside the
// vocabulary. It is for people, logs and the text form of an episode; it is not an inverse of Encode where special
// tokens stand.
func Decode(ids []int32) string {
	var b strings.Builder
	b.Grow(len(ids))
	for _, id := range ids {
		switch {
		case id >= 0 && id < 256:
			b.WriteByte(byte(id))
		case id >= 256 && id < VocabSize:
			b.WriteString(specials[id-256])
		default:
			b.WriteString(replacement)
		}
	}
	return b.String()
}
