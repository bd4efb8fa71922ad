package tokens

import (
	"fmt"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
)

// logprobSlack is how far above 0 rounding may put the log-probability of a certain token.
const logprobSlack = 1e-4

// How a turn ended, in the words of the wire.
const (
	FinishStop   = "stop"
	FinishLength = "length"
	FinishAbort  = "abort"
)

// Span says which weights sampled the output tokens [Start, End) of one turn.
type Span struct {
	Version    int32
	Start, End int
}

// Sampled is one turn as the engine returned it.
type Sampled struct {
	IDs          []int32   // output tokens, the closing <|im_end|> included
	Logprobs     []float64 // natural log, of the same length
	Spans        []Span    // cover the output in order without gap
	Finish       string    // FinishStop or FinishLength
	PromptTokens int       // as the engine counted what it was sent
	FormatOK     bool
}

// Recorder builds a thread and checks each step: what was sent is what is recorded, arrays stay parallel, versions
// never go back within a turn. A violation is a KindCorrupt error that names the cause; the episode is then
// quarantined as an infra failure, never repaired (papers.md F33).
type Recorder struct {
	thread quarry.Thread
	sent   []int32
}

// NewRecorder starts a thread with its prompt, which must end where an assistant turn begins.
func NewRecorder(prompt []int32) (*Recorder, error) {
	r := &Recorder{}
	r.thread.PromptLen = len(prompt)
	if err := r.appendMasked(prompt); err != nil {
		return nil, err
	}
	return r, nil
}

// Len is the number of tokens recorded so far.
func (r *Recorder) Len() int { return len(r.thread.IDs) }

// Send returns the context for the next turn, a copy the engine may keep.
func (r *Recorder) Send() []int32 {
	r.sent = slices.Clone(r.thread.IDs)
	return r.sent
}

// Turn appends a sampled turn with mask 1.
func (r *Recorder) Turn(s Sampled) error {
	turn := len(r.thread.Turns)
	start := len(r.thread.IDs)
	switch {
	case r.sent == nil:
		return corrupt(turn, "a turn was recorded that nothing was sent for")
	case !slices.Equal(r.sent, r.thread.IDs):
		return corrupt(turn, "the recorded ids are not those that were sent")
	case s.PromptTokens != len(r.sent):
		return corrupt(turn, "%d prompt tokens counted by the engine, %d sent", s.PromptTokens, len(r.sent))
	case len(s.IDs) == 0:
		return corrupt(turn, "no output tokens")
	case len(s.IDs) != len(s.Logprobs):
		return corrupt(turn, "%d output ids but %d logprobs", len(s.IDs), len(s.Logprobs))
	}
	end := slices.Index(s.IDs, ImEnd)
	switch {
	case s.Finish != FinishStop && s.Finish != FinishLength:
		return corrupt(turn, "finish %q, expected stop or length", s.Finish)
	case end >= 0 && end != len(s.IDs)-1:
		return corrupt(turn, "<|im_end|> at output token %d of %d: the engine went on after its stop token", end, len(s.IDs))
	case end < 0 && s.Finish == FinishStop:
		return corrupt(turn, "finish stop but the last token is %d, not <|im_end|>", s.IDs[len(s.IDs)-1])
	}
	versions, err := spanVersions(turn, s.Spans, len(s.IDs))
	if err != nil {
		return err
	}
	logprobs := make([]float32, len(s.IDs))
	for i, lp := range s.Logprobs {
		if s.IDs[i] < 0 || s.IDs[i] >= VocabSize {
			return corrupt(turn, "output token %d has id %d, outside the vocabulary %s", i, s.IDs[i], VocabName)
		}
		if !(lp <= logprobSlack) || math.IsInf(lp, 0) {
			return corrupt(turn, "output token %d has logprob %v, expected a finite number <= 0", i, lp)
		}
		logprobs[i] = float32(lp)
	}
	t := &r.thread
	t.IDs = append(t.IDs, s.IDs...)
	t.Logprobs = append(t.Logprobs, logprobs...)
	t.Versions = append(t.Versions, versions...)
	for range s.IDs {
		t.Mask = append(t.Mask, 1)
	}
	t.Turns = append(t.Turns, quarry.Turn{Start: start, End: len(t.IDs), Finish: s.Finish, FormatOK: s.FormatOK})
	r.sent = nil
	return nil
}

// Event adds what the last turn's call gave.
func (r *Recorder) Event(ev quarry.ToolEvent) {
	if n := len(r.thread.Turns); n > 0 {
		last := &r.thread.Turns[n-1]
		last.Events = append(last.Events, ev)
	}
}

// Context appends a bridge with mask 0. It follows a turn that ended in <|im_end|> and ends in an assistant opening.
func (r *Recorder) Context(ids []int32) error {
	turn := len(r.thread.Turns) - 1
	switch {
	case turn < 0 || r.thread.Turns[turn].End != len(r.thread.IDs):
		return corrupt(turn, "context was appended where no sampled turn ends")
	case r.thread.IDs[len(r.thread.IDs)-1] != ImEnd:
		return corrupt(turn, "context was appended to a turn without <|im_end|>")
	}
	return r.appendMasked(ids)
}

// Withdraw takes back the context after the last turn: no turn was sampled for it.
func (r *Recorder) Withdraw() {
	t := &r.thread
	n := t.PromptLen
	if k := len(t.Turns); k > 0 {
		n = t.Turns[k-1].End
	}
	t.IDs, t.Mask, t.Logprobs, t.Versions, r.sent = t.IDs[:n], t.Mask[:n], t.Logprobs[:n], t.Versions[:n], nil
}

func (r *Recorder) appendMasked(ids []int32) error {
	if !EndsOpen(ids) {
		return corrupt(len(r.thread.Turns), "the context does not end in <|im_start|>assistant\\n")
	}
	if i := slices.IndexFunc(ids, func(id int32) bool { return id < 0 || id >= VocabSize }); i >= 0 {
		return corrupt(len(r.thread.Turns), "context token %d has id %d, outside the vocabulary %s", i, ids[i], VocabName)
	}
	t := &r.thread
	t.IDs = append(t.IDs, ids...)
	for range ids {
		t.Mask = append(t.Mask, 0)
		t.Logprobs = append(t.Logprobs, 0)
		t.Versions = append(t.Versions, -1)
	}
	return nil
}

// Thread is the record so far.
func (r *Recorder) Thread() quarry.Thread { return r.thread }

func spanVersions(turn int, spans []Span, n int) ([]int32, error) {
	out := make([]int32, 0, n)
	for i, s := range spans {
		switch {
		case s.Start != len(out) || s.End <= s.Start || s.End > n:
			return nil, corrupt(turn, "version span %d is [%d,%d), expected it to start at %d and to end within %d", i, s.Start, s.End, len(out), n)
		case s.Version < 0:
			return nil, corrupt(turn, "version span %d has version %d", i, s.Version)
		case i > 0 && s.Version < spans[i-1].Version:
			return nil, corrupt(turn, "versions go back from %d to %d within one response", spans[i-1].Version, s.Version)
		}
		for range s.End - s.Start {
			out = append(out, s.Version)
		}
	}
	if len(out) != n {
		return nil, corrupt(turn, "version spans cover %d of %d output tokens", len(out), n)
	}
	return out, nil
}

// CheckThread verifies a stored thread: parallel lengths, mask 1 exactly on the turns' ranges, logprob 0 and version -1
// elsewhere, versions that never go back within a turn, each turn after an assistant opening, nothing after the last
// turn. A violation is a KindCorrupt error.
func CheckThread(t *quarry.Thread) error {
	n := len(t.IDs)
	if len(t.Mask) != n || len(t.Logprobs) != n || len(t.Versions) != n {
		return corrupt(-1, "%d ids, %d mask, %d logprobs, %d versions: the arrays are not parallel", n, len(t.Mask), len(t.Logprobs), len(t.Versions))
	}
	at := 0
	for i, turn := range t.Turns {
		switch {
		case turn.Start < at || turn.End <= turn.Start || turn.End > n:
			return corrupt(i, "range [%d,%d) does not follow token %d of %d", turn.Start, turn.End, at, n)
		case i == 0 && turn.Start != t.PromptLen:
			return corrupt(i, "starts at token %d but the prompt has %d", turn.Start, t.PromptLen)
		case !EndsOpen(t.IDs[:turn.Start]):
			return corrupt(i, "token %d is not where an assistant turn begins", turn.Start)
		}
		if err := checkContext(t, i, at, turn.Start); err != nil {
			return err
		}
		if err := checkSampled(t, i, turn); err != nil {
			return err
		}
		at = turn.End
	}
	if len(t.Turns) == 0 && t.PromptLen != n {
		return corrupt(-1, "no turns, but the prompt has %d of %d tokens", t.PromptLen, n)
	}
	if len(t.Turns) > 0 && at != n {
		return corrupt(len(t.Turns)-1, "%d tokens after the last turn were never sent", n-at)
	}
	return checkContext(t, len(t.Turns), at, n)
}

func checkContext(t *quarry.Thread, turn, from, to int) error {
	for i := from; i < to; i++ {
		switch {
		case t.Mask[i] != 0:
			return corrupt(turn, "token %d is context but has mask %d", i, t.Mask[i])
		case t.Logprobs[i] != 0 || t.Versions[i] != -1:
			return corrupt(turn, "token %d is context but has logprob %v and version %d", i, t.Logprobs[i], t.Versions[i])
		case t.IDs[i] < 0 || t.IDs[i] >= VocabSize:
			return corrupt(turn, "token %d has id %d, outside the vocabulary %s", i, t.IDs[i], VocabName)
		}
	}
	return nil
}

func checkSampled(t *quarry.Thread, turn int, r quarry.Turn) error {
	for i := r.Start; i < r.End; i++ {
		lp := float64(t.Logprobs[i])
		switch {
		case t.Mask[i] != 1:
			return corrupt(turn, "token %d was sampled but has mask %d", i, t.Mask[i])
		case t.IDs[i] < 0 || t.IDs[i] >= VocabSize:
			return corrupt(turn, "token %d has id %d, outside the vocabulary %s", i, t.IDs[i], VocabName)
		case !(lp <= 2*logprobSlack) || math.IsInf(lp, 0):
			return corrupt(turn, "token %d has logprob %v", i, lp)
		case t.Versions[i] < 0 || i > r.Start && t.Versions[i] < t.Versions[i-1]:
			return corrupt(turn, "token %d has version %d after %d", i, t.Versions[i], t.Versions[max(i-1, 0)])
		case t.IDs[i] == ImEnd && i != r.End-1:
			return corrupt(turn, "<|im_end|> at token %d inside the turn", i)
		}
	}
	if r.Finish == FinishStop && t.IDs[r.End-1] != ImEnd {
		return corrupt(turn, "finish stop but the last token is %d, not <|im_end|>", t.IDs[r.End-1])
	}
	return nil
}

func corrupt(turn int, format string, args ...any) error {
	subject := ""
	if turn >= 0 {
		subject = fmt.Sprintf("turn %d", turn)
	}
	return &quarry.Error{
		Op: "token record", Kind: quarry.KindCorrupt, Subject: subject, Msg: fmt.Sprintf(format, args...),
		Hint: "the episode is set aside as an infra failure; check the engine's version and that it returns ids, logprobs and version spans",
	}
}
