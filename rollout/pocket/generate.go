package pocket

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// generation is one admitted request.
type generation struct {
	rid    string
	abort  chan struct{}
	stop   func()        // closes abort, once
	done   chan struct{} // closed when the request has left
	tokens atomic.Int64  // prompt and output so far
}

// answer is what a generation gives back.
type answer struct {
	rid         string
	prompt      []int32
	scoredFrom  int       // first prompt position with a log-probability, -1 when none was asked for
	scored      []float64 // log-probabilities of prompt[scoredFrom:] at T=1
	ids         []int32
	logprobs    []float64
	spans       []span
	version     string // of the last token
	finish      finish
	cached      int // prompt tokens whose enumeration was cached
	retractions int
	latency     time.Duration
}

// span says which weights sampled the output tokens [start,end).
type span struct {
	version    string
	start, end int
}

type finish struct {
	kind    string // stop, length, abort
	matched int32  // of stop
}

func (s *Server) handleGenerate(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		typeError(w, err.Error())
		return
	}
	req, err := parseGenerate(body)
	var unknown *unknownFieldError
	var bad *badTypeError
	switch {
	case errors.As(err, &unknown):
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": unknown.Error()})
	case errors.As(err, &bad):
		typeError(w, bad.Error())
	case err != nil:
		valueError(w, err.Error())
	}
	if err != nil {
		return
	}
	start := time.Now()
	a, err := s.generate(r.Context(), req)
	if err != nil {
		if r.Context().Err() == nil { // otherwise nobody is left to read it
			valueError(w, err.Error())
		}
		return
	}
	a.latency = time.Since(start)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(a.appendJSON(make([]byte, 0, 1024+40*len(a.ids)+40*len(a.scored)), req))
}

// admit waits while the engine is paused, then registers the request under its rid.
func (s *Server) admit(ctx context.Context, rid string) (*generation, error) {
	if rid == "" {
		rid = newRID()
	}
	abort := make(chan struct{})
	g := &generation{rid: rid, abort: abort, stop: sync.OnceFunc(func() { close(abort) }), done: make(chan struct{})}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	for {
		s.mu.Lock()
		gate := s.gate
		if gate == nil {
			defer s.mu.Unlock()
			if s.live[rid] != nil {
				return nil, fmt.Errorf("rid %s: Duplicate request ID detected", rid)
			}
			s.live[rid] = g
			return g, nil
		}
		s.mu.Unlock()
		select {
		case <-gate.open:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Server) leave(g *generation) {
	s.mu.Lock()
	delete(s.live, g.rid)
	s.mu.Unlock()
	close(g.done)
}

func (s *Server) generate(ctx context.Context, req *generateRequest) (*answer, error) {
	g, err := s.admit(ctx, req.rid)
	if err != nil {
		return nil, err
	}
	defer s.leave(g)
	g.tokens.Store(int64(len(req.ids)))
	a := &answer{rid: g.rid, prompt: req.ids, scoredFrom: -1, finish: finish{kind: "length"}}

	start, err := turnStart(req.ids)
	if err != nil {
		return nil, err
	}
	written := req.ids[start:] // the part of the turn that stands already
	s.mu.RLock()
	current := s.policy
	s.mu.RUnlock()
	a.version = current.version
	choices, cached, err := s.choices(req.ids[:start], current.Guesses)
	if err != nil {
		return nil, err
	}
	if cached {
		a.cached = start
	}
	tree := NewTree(choices, current.W)
	scored, err := tree.LogProbs(written, 1)
	if err != nil {
		return nil, err
	}
	if req.scoreFrom >= 0 {
		if req.scoreFrom+1 != start {
			return nil, fmt.Errorf("logprob_start_len %d: this engine scores the last assistant turn only, which begins at %d: send %d",
				req.scoreFrom, start, start-1)
		}
		a.scoredFrom, a.scored = req.scoreFrom, scored
	}
	if req.maxNew == 0 {
		return a, nil
	}
	node := walk(tree, written)
	if node.Done() {
		return nil, errors.New("the assistant turn of input_ids has ended: nothing can follow <|im_end|>")
	}
	return a, s.sample(ctx, g, req, a, &session{choices: choices, tree: tree, node: node, current: current, seen: current, start: start})
}

// session is where a generation stands: a node of the tree of the weights in use.
type session struct {
	choices *Choices
	tree    *Tree
	node    Node
	current *policy // the weights that sample
	seen    *policy // the newest weights looked at
	start   int     // of the turn in the prompt
}

// sample is the token loop. It ends with a stop token, at max_new_tokens, or when aborted.
func (s *Server) sample(ctx context.Context, g *generation, req *generateRequest, a *answer, at *session) error {
	a.ids = make([]int32, 0, min(req.maxNew, 256))
	a.logprobs = make([]float64, 0, min(req.maxNew, 256))
	for len(a.ids) < req.maxNew {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-g.abort:
			a.finish = finish{kind: "abort"}
			return nil
		default:
		}
		s.mu.RLock()
		gate, pace, newest := s.gate, s.pace, s.policy
		if gate == nil && newest == at.seen {
			u := uniform(req.seed, uint64(len(req.ids)+len(a.ids)))
			id, logp, next := at.tree.Next(at.node, req.temperature, u)
			s.mu.RUnlock()
			a.append(id, logp, at.current.version)
			g.tokens.Add(1)
			at.node = next
			if next.Done() || slices.Contains(req.stopIDs, id) {
				a.finish = finish{kind: "stop", matched: id}
				return nil
			}
			if pace != nil {
				g.rest(ctx, pace)
			}
			continue
		}
		s.mu.RUnlock()
		if gate != nil {
			if gate.mode == "retract" {
				a.retractions++
			}
			g.wait(ctx, gate.open)
			continue
		}
		s.follow(at, newest, req.ids, a.ids)
	}
	return nil
}

// wait returns when ready is, or when the request is to end, which the token loop then notices.
func (g *generation) wait(ctx context.Context, ready <-chan struct{}) {
	select {
	case <-ready:
	case <-g.abort:
	case <-ctx.Done():
	}
}

// rest is a wait of a token's pace, cut short when the pace changes.
func (g *generation) rest(ctx context.Context, p *pace) {
	ctx, cancel := context.WithTimeout(ctx, p.rest)
	defer cancel()
	g.wait(ctx, p.changed)
}

// follow moves a running turn to new weights: the same node of a tree scored anew. Weights with other guesses have
// other choices; if those cannot continue what is written, the turn ends under the weights it has, and its spans say so.
func (s *Server) follow(at *session, newest *policy, prompt, out []int32) {
	at.seen = newest
	choices := at.choices
	if !slices.Equal(newest.Guesses, at.current.Guesses) {
		var err error
		if choices, _, err = s.choices(prompt[:at.start], newest.Guesses); err != nil {
			return
		}
	}
	tree := NewTree(choices, newest.W)
	node := tree.Root()
	for _, part := range [][]int32{prompt[at.start:], out} {
		for _, id := range part {
			var ok bool
			if node, ok = tree.Advance(node, id); !ok {
				return
			}
		}
	}
	at.choices, at.tree, at.node, at.current = choices, tree, node, newest
}

func walk(t *Tree, ids []int32) Node {
	n := t.Root()
	for _, id := range ids {
		n, _ = t.Advance(n, id)
	}
	return n
}

func (a *answer) append(id int32, logp float64, version string) {
	a.ids = append(a.ids, id)
	a.logprobs = append(a.logprobs, logp)
	if n := len(a.spans); n > 0 && a.spans[n-1].version == version {
		a.spans[n-1].end++
	} else {
		a.spans = append(a.spans, span{version, len(a.ids) - 1, len(a.ids)})
	}
	a.version = version
}

// choices enumerates a context, or takes it from the cache.
func (s *Server) choices(ids []int32, guesses []string) (c *Choices, cached bool, err error) {
	key := s.contexts.key(ids, guesses)
	if c := s.contexts.get(key); c != nil {
		return c, true, nil
	}
	c, err = s.enum.Enumerate(ids, guesses)
	if err != nil {
		return nil, false, err
	}
	if len(c.Candidates) == 0 {
		return nil, false, errors.New("the policy has no continuation for this context")
	}
	s.contexts.put(key, c)
	return c, false, nil
}

// turnStart finds where the last message of ids, which must be the assistant's, has its content.
func turnStart(ids []int32) (int, error) {
	for i := len(ids) - 1; i >= 0; i-- {
		if ids[i] != tokenImStart {
			continue
		}
		var head [len("assistant\n")]byte
		n := 0
		for ; n < len(head) && i+1+n < len(ids) && ids[i+1+n] < 256; n++ {
			head[n] = byte(ids[i+1+n])
		}
		if bytes.Equal(head[:n], []byte("assistant\n")) {
			return i + 1 + n, nil
		}
		break
	}
	return 0, errors.New(`input_ids must end in an assistant turn: after the last <|im_start|> (257) "assistant\n" was expected`)
}

// uniform is a number in [0,1) that depends on the seed and the token's position in the whole sequence alone, so a
// turn continued from a partial one draws what an uninterrupted one would (SplitMix64 finalizer, Steele et al. 2014).
func uniform(seed, position uint64) float64 {
	x := mix(seed+0x9e3779b97f4a7c15) + position*0x9e3779b97f4a7c15
	return float64(mix(x)>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func newRID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
