package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry/kg/store"
)

// passage is a run of whole sentences, the part of a document that one request is about. Passages of a document do not
// overlap: they are what its text in the graph is made of.
type passage struct {
	store.Span
	context int // where the text that is shown begins: at Start, or some sentences before
}

// sentences cuts a text. Each span begins and ends with a character that is no white space; between them is white space
// only. A sentence ends after .!? with closing quotes or brackets where white space and no small letter follow, after
// 。！？ at once, and at an empty line.
func sentences(text string) []store.Span {
	var out []store.Span
	start := -1
	put := func(end int) {
		if start >= 0 {
			out = append(out, store.Span{Start: start, End: end})
		}
		start = -1
	}
	end := 0 // after the last character that is no white space
	for i, n := 0, 0; i < len(text); i += n {
		var r rune
		r, n = utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(r) {
			continue
		}
		switch {
		case start < 0:
		case end < i && (strings.Count(text[end:i], "\n") > 1 || !unicode.IsLower(r) && stops(text[start:end], ".!?")),
			!closing(r) && !strings.ContainsRune("。！？", r) && stops(text[start:end], "。！？"):
			put(end)
		}
		if start < 0 {
			start = i
		}
		end = i + n
	}
	put(end)
	return out
}

func closing(r rune) bool { return strings.ContainsRune("\"')]}”’»」』）", r) }

func stops(s, marks string) bool {
	s = strings.TrimRightFunc(s, closing)
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && strings.ContainsRune(marks, r)
}

// spansOf are the document's sentences: its own, or those of the text.
func (d *Document) spansOf() []store.Span {
	if d.ends == nil {
		return sentences(d.Text)
	}
	var out []store.Span
	at := 0
	for _, end := range d.ends {
		out = append(out, store.Span{Start: at, End: end})
		at = end + 1
	}
	return out
}

// passages packs sentences into passages of at most size bytes; a longer sentence is cut at white space, or else between
// two characters. overlap is how many sentences before a passage are shown with it.
func passages(text string, sents []store.Span, size, overlap int) []passage {
	var short []store.Span
	for _, s := range sents {
		for s.End-s.Start > size {
			at := s.Start + size
			for !utf8.RuneStart(text[at]) {
				at--
			}
			next := at
			if i := strings.LastIndexFunc(text[s.Start:at], unicode.IsSpace); i > size/2 {
				at = s.Start + i
				next = at
			}
			end := s.Start + len(strings.TrimRightFunc(text[s.Start:at], unicode.IsSpace))
			short = append(short, store.Span{Start: s.Start, End: end})
			s.Start = s.End - len(strings.TrimLeftFunc(text[next:s.End], unicode.IsSpace))
		}
		if s.End > s.Start {
			short = append(short, s)
		}
	}
	var out []passage
	first := 0 // sentence that the last passage begins with
	for i, s := range short {
		if n := len(out); n > 0 && s.End-out[n-1].Start <= size {
			out[n-1].End = s.End
			continue
		}
		first = i
		from := max(0, first-overlap)
		for from < first && s.Start-short[from].Start > size/2 {
			from++ // long sentences: what is shown besides stays small
		}
		out = append(out, passage{s, short[from].Start})
	}
	return out
}

// halve cuts a passage between two of its sentences; ok is false for one sentence.
func halve(p passage, sents []store.Span) (a, b passage, ok bool) {
	var in []store.Span
	for _, s := range sents {
		if s.Start >= p.Start && s.End <= p.End {
			in = append(in, s)
		}
	}
	if len(in) < 2 {
		return a, b, false
	}
	k := 1
	for k < len(in)-1 && in[k].Start-p.Start < (p.End-p.Start)/2 {
		k++
	}
	a = passage{store.Span{Start: p.Start, End: in[k-1].End}, p.context}
	b = passage{store.Span{Start: in[k].Start, End: p.End}, in[k-1].Start}
	return a, b, true
}
