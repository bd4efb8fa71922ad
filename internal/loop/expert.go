package loop

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/sglang"
	"github.com/quarry-rl/quarry/rollout/tokens"
	"github.com/quarry-rl/quarry/rollout/world"
)

// expert plays a question as an engine: it sees the evidence path, but may only choose among the candidates that the
// policy's own reader enumerates for the same context: the search that brings the hop's document, then the answer.
// Where no candidate does, it gives KindUnscorable and the episode is dropped.
type expert struct {
	env   *Env
	q     *quarry.Question
	words []string          // the content words of each hop's phrase
	names []map[string]bool // surface forms of the start and of each hop's result
	tree  []float64         // untrained weights: the expert's log-probabilities are the uniform ones
	hop   int
}

func (e *Env) newExpert(q *quarry.Question) (*expert, error) {
	var cert struct {
		Words []string `json:"hop_words"`
	}
	if err := json.Unmarshal(q.Certificate, &cert); err != nil || len(cert.Words) != len(q.Path) {
		return nil, &quarry.Error{Op: "expert", Kind: quarry.KindInvalid, Subject: "question " + q.ID, Msg: "the certificate has no hop_words for each hop", Hint: "make the questions with quarry synth"}
	}
	x := &expert{env: e, q: q, words: cert.Words, tree: make([]float64, len(e.Reader.Features().Names))}
	x.names = append(x.names, surfaces(e.Graph, q.Path[0].From()))
	for _, h := range q.Path {
		x.names = append(x.names, surfaces(e.Graph, h.To()))
	}
	return x, nil
}

// Generate chooses one turn.
func (x *expert) Generate(ctx context.Context, req sglang.GenerateRequest) (*sglang.GenerateResult, error) {
	choices, err := x.env.Reader.Enumerate(req.InputIDs, nil)
	if err != nil {
		return nil, err
	}
	best, length := -1, -1
	for i, c := range choices.Candidates {
		p, err := tokens.ParseAssistant(string(c.Text))
		if err != nil {
			continue // a malformed candidate
		}
		n := 0
		switch {
		case x.hop == len(x.q.Path) && p.HasAnswer:
			if x.q.Accepts(p.Answer) {
				n = len(p.Answer)
			}
		case x.hop < len(x.q.Path) && len(p.Calls) == 1:
			if n, err = x.follows(ctx, p.Calls[0]); err != nil {
				return nil, err
			}
		}
		if n > 0 && n > length {
			best, length = i, n
		}
	}
	if best < 0 {
		return nil, &quarry.Error{Op: "expert", Kind: quarry.KindUnscorable, Subject: "question " + x.q.ID, Msg: "no candidate follows the evidence path"}
	}
	x.hop++
	return chosen(choices, best, x.tree, len(req.InputIDs))
}

func chosen(choices *pocket.Choices, i int, w []float64, prompt int) (*sglang.GenerateResult, error) {
	ids := append(tokens.Encode(string(choices.Candidates[i].Text)), tokens.ImEnd)
	lps, err := pocket.NewTree(choices, w).LogProbs(ids, 1)
	if err != nil {
		return nil, err
	}
	return &sglang.GenerateResult{OutputIDs: ids, Logprobs: lps, Spans: []sglang.VersionSpan{{Version: "0", Start: 0, End: len(ids)}},
		Finish: sglang.Finish{Type: "stop"}, PromptTokens: prompt, WeightVersion: "0"}, nil
}

// follows gives the length of the name a call asks about when the call follows the present hop, else 0.
func (x *expert) follows(ctx context.Context, call quarry.ToolCall) (int, error) {
	var args struct {
		Query string `json:"query"`
	}
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return 0, nil
	}
	name, ok := strings.CutSuffix(args.Query, " "+x.words[x.hop])
	if !ok || !x.names[x.hop][quarry.Normalize(name)] {
		return 0, nil
	}
	hits, err := x.env.Search.Search(ctx, args.Query, world.Passages)
	if err != nil {
		return 0, err
	}
	for _, h := range hits {
		if h.Doc == x.q.Path[x.hop].Doc && h.Text == x.q.Path[x.hop].Text {
			return len(name), nil
		}
	}
	return 0, nil
}

// ExpertEpisode plays one question; ok is false when the path cannot be followed among the candidates.
func (e *Env) ExpertEpisode(ctx context.Context, q *quarry.Question) (ep *quarry.Episode, ok bool, err error) {
	x, err := e.newExpert(q)
	if err != nil {
		return nil, false, err
	}
	ep, err = e.Play(ctx, x, Attempt{Task: e.FullTask(q), Question: q, EpisodeID: "expert." + q.ID, GroupID: "expert", Temperature: 1})
	if quarry.KindOf(err) == quarry.KindUnscorable {
		return nil, false, nil
	}
	return ep, err == nil, err
}

// ExpertEpisodes plays questions in their order and says how many could not be followed.
func (e *Env) ExpertEpisodes(ctx context.Context, qs []quarry.Question) (eps []*quarry.Episode, unscorable int, err error) {
	all := make([]*quarry.Episode, len(qs))
	err = e.each(ctx, len(qs), "expert episodes", func(ctx context.Context, i int) error {
		ep, ok, err := e.ExpertEpisode(ctx, &qs[i])
		if ok {
			all[i] = ep
		}
		return err
	})
	for _, ep := range all {
		if ep != nil {
			eps = append(eps, ep)
		}
	}
	return eps, len(qs) - len(eps), err
}
