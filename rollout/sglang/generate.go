package sglang

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/quarry-rl/quarry"
)

// logprobSlack is how far above 0 rounding may take a log-probability.
const logprobSlack = 1e-4

// GenerateRequest asks for one sampled continuation of InputIDs.
type GenerateRequest struct {
	RID          string // "" for a new one; a retried attempt gets a new one always
	InputIDs     []int32
	MaxNewTokens int // at least 1
	Temperature  float64
	Seed         *int64 // sampling_seed; nil leaves the draw to the server
	StopTokenIDs []int32
}

// VersionSpan says which weights sampled the output tokens [Start,End).
type VersionSpan struct {
	Version    string
	Start, End int
}

// Finish says why generation ended: stop, length or abort. An abort is a usable partial answer.
type Finish struct {
	Type    string
	Message string
}

// GenerateResult is a checked answer: OutputIDs include the stop token, Logprobs (natural log, at the temperature
// asked for) are as long, Spans cover them without a gap.
type GenerateResult struct {
	OutputIDs     []int32
	Logprobs      []float64
	Spans         []VersionSpan
	Finish        Finish
	PromptTokens  int
	CachedTokens  int
	WeightVersion string // of the last token
}

// generateReply is the part of a /generate response that is read.
type generateReply struct {
	OutputIDs []int32 `json:"output_ids"`
	Meta      *struct {
		Finish *struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"finish_reason"`
		PromptTokens     *int           `json:"prompt_tokens"`
		CompletionTokens *int           `json:"completion_tokens"`
		CachedTokens     int            `json:"cached_tokens"`
		WeightVersion    string         `json:"weight_version"`
		WeightVersions   []replySpan    `json:"weight_versions"`
		Input            []tokenLogprob `json:"input_token_logprobs"`
		Output           []tokenLogprob `json:"output_token_logprobs"`
	} `json:"meta_info"`
}

type replySpan struct {
	Version string `json:"version"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
}

// tokenLogprob is SGLang's tuple [logprob or null, id, text or null].
type tokenLogprob struct {
	logprob float64
	null    bool
	id      int32
}

// UnmarshalJSON reads the first two elements; the text is of no use.
func (t *tokenLogprob) UnmarshalJSON(b []byte) error {
	inner, ok := bytes.CutPrefix(bytes.TrimSpace(b), []byte("["))
	first, rest, found := bytes.Cut(inner, []byte(","))
	if !ok || !found {
		return fmt.Errorf("%.40s is not a [logprob, id, text] tuple", b)
	}
	if end := bytes.IndexAny(rest, ",]"); end >= 0 {
		rest = rest[:end]
	}
	first = bytes.TrimSpace(first)
	var err error
	if t.null = string(first) == "null"; !t.null {
		if t.logprob, err = strconv.ParseFloat(string(first), 64); err != nil {
			return err
		}
	}
	id, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 32)
	t.id = int32(id)
	return err
}

// Generate samples one continuation. Nothing but temperature shapes the distribution (top_p 1, top_k -1, min_p 0, no
// penalties), so the returned log-probabilities are those of the tokens' sampling. Errors: KindInvalid for what the
// server refuses, KindUnavailable when it cannot be reached or dies, KindCorrupt for an answer that contradicts itself,
// KindCanceled. When ctx ends, the request is aborted on the server, best effort.
func (c *Client) Generate(ctx context.Context, r GenerateRequest) (*GenerateResult, error) {
	if r.MaxNewTokens < 1 || len(r.InputIDs) == 0 || r.Temperature < 0 || math.IsNaN(r.Temperature) || math.IsInf(r.Temperature, 0) {
		return nil, &quarry.Error{Op: "generate", Kind: quarry.KindInvalid, Msg: fmt.Sprintf(
			"%d input ids, max_new_tokens %d, temperature %v: expected at least one id, one new token and a finite temperature >= 0",
			len(r.InputIDs), r.MaxNewTokens, r.Temperature)}
	}
	if err := checkIDs("generate", r.InputIDs); err != nil {
		return nil, err
	}
	rid := r.RID
	if rid == "" {
		rid = NewRID()
	}
	reply, err := c.generate(ctx, rid, func(rid string) []byte {
		return appendRequest(rid, r.InputIDs, -1, r.MaxNewTokens, r.Temperature, r.Seed, r.StopTokenIDs)
	})
	if err != nil {
		return nil, err
	}
	res, err := reply.check(len(r.InputIDs))
	if err != nil {
		return nil, c.corrupt(err)
	}
	return res, nil
}

// ScoreAtT1 returns the log-probability of each of ids[from:], given what stands before it, at temperature 1 whatever
// they were sampled at: a server's input log-probabilities know no other. The pocket
// engine scores the last assistant turn only: from must be where its content begins. Errors are those of Generate, and
// KindUnscorable when the tokens lie outside the policy's support.
func (c *Client) ScoreAtT1(ctx context.Context, ids []int32, from int) ([]float64, error) {
	if from < 1 || from > len(ids) {
		return nil, &quarry.Error{Op: "score", Kind: quarry.KindInvalid,
			Msg: fmt.Sprintf("from is %d, expected 1 to %d: the first id has nothing to be conditioned on", from, len(ids))}
	}
	if err := checkIDs("score", ids); err != nil {
		return nil, err
	}
	// The entry at logprob_start_len carries no log-probability, so it starts one earlier.
	reply, err := c.generate(ctx, NewRID(), func(rid string) []byte {
		return appendRequest(rid, ids, from-1, 0, 1, nil, nil)
	})
	if err != nil {
		return nil, err
	}
	out, err := reply.scores(ids, from)
	if err != nil {
		return nil, c.corrupt(err)
	}
	return out, nil
}

// generate posts to /generate under rid, then under a new one per retry, and aborts attempts that were given up.
func (c *Client) generate(ctx context.Context, rid string, body func(rid string) []byte) (*generateReply, error) {
	const path = "/generate"
	data, err := c.call(ctx, http.MethodPost, path, func(attempt int) []byte {
		if attempt > 0 {
			rid = NewRID()
		}
		return body(rid)
	}, func() {
		// The server may still be at it: a lost connection is no abort.
		actx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		_, _, _ = c.once(actx, http.MethodPost, "/abort_request", abortBody(rid))
	})
	if err != nil {
		return nil, err
	}
	var reply generateReply
	if err := c.decode(path, data, &reply); err != nil {
		return nil, err
	}
	return &reply, nil
}

// checkIDs refuses ids that would take an engine down: SGLang does not check their range.
func checkIDs(op string, ids []int32) error {
	for i, id := range ids {
		if id < 0 {
			return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("input id %d", i), Msg: fmt.Sprintf("%d is negative", id)}
		}
	}
	return nil
}

// appendRequest writes a /generate body; contexts are long, so ids go through strconv alone.
func appendRequest(rid string, ids []int32, startLen, maxNew int, temperature float64, seed *int64, stop []int32) []byte {
	b := make([]byte, 0, 512+7*len(ids))
	b = append(b, `{"rid":`...)
	q, _ := json.Marshal(rid) // a string always marshals
	b = append(b, q...)
	b = append(b, `,"input_ids":`...)
	b = appendIDs(b, ids)
	b = append(b, `,"return_logprob":true,"logprob_start_len":`...)
	b = strconv.AppendInt(b, int64(startLen), 10)
	b = append(b, `,"stream":false,"sampling_params":{"max_new_tokens":`...)
	b = strconv.AppendInt(b, int64(maxNew), 10)
	b = append(b, `,"temperature":`...)
	b = strconv.AppendFloat(b, temperature, 'g', -1, 64)
	b = append(b, `,"top_p":1,"top_k":-1,"min_p":0,"frequency_penalty":0,"presence_penalty":0,"repetition_penalty":1,"n":1`...)
	b = append(b, `,"skip_special_tokens":false,"no_stop_trim":true,"spaces_between_special_tokens":false`...)
	if seed != nil {
		b = append(b, `,"sampling_seed":`...)
		b = strconv.AppendInt(b, *seed, 10)
	}
	if len(stop) > 0 {
		b = append(b, `,"stop_token_ids":`...)
		b = appendIDs(b, stop)
	}
	return append(b, "}}"...)
}

func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

func (c *Client) corrupt(err error) error {
	return &quarry.Error{Op: "engine /generate", Kind: quarry.KindCorrupt, Subject: c.base, Err: err,
		Hint: "the answer cannot be trained on; report it with the server's version"}
}

// check holds a generation against the invariants every answer must keep.
func (r *generateReply) check(sent int) (*GenerateResult, error) {
	m := r.Meta
	if m == nil || m.Finish == nil || m.Finish.Type == "" {
		return nil, errors.New("the answer has no meta_info.finish_reason")
	}
	if err := r.checkPrompt(sent); err != nil {
		return nil, err
	}
	n := len(m.Output)
	if m.CompletionTokens == nil || *m.CompletionTokens != n {
		return nil, fmt.Errorf("%d output log-probabilities, completion_tokens %s", n, show(m.CompletionTokens))
	}
	if r.OutputIDs != nil && len(r.OutputIDs) != n { // some servers leave output_ids out
		return nil, fmt.Errorf("%d output ids, %d output log-probabilities", len(r.OutputIDs), n)
	}
	res := &GenerateResult{
		OutputIDs: make([]int32, n), Logprobs: make([]float64, n),
		Finish:       Finish{Type: m.Finish.Type, Message: m.Finish.Message},
		PromptTokens: sent, CachedTokens: m.CachedTokens, WeightVersion: m.WeightVersion,
	}
	for i, t := range m.Output {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("output token %d: %w", i, err)
		}
		if r.OutputIDs != nil && r.OutputIDs[i] != t.id {
			return nil, fmt.Errorf("output token %d is %d in output_ids and %d in output_token_logprobs", i, r.OutputIDs[i], t.id)
		}
		res.OutputIDs[i], res.Logprobs[i] = t.id, t.logprob
	}
	at := 0
	for _, s := range m.WeightVersions {
		if s.Start != at || s.End <= at || s.End > n {
			return nil, fmt.Errorf("weight version span [%d,%d) does not continue at token %d of %d", s.Start, s.End, at, n)
		}
		res.Spans = append(res.Spans, VersionSpan(s))
		at = s.End
	}
	if at == 0 && n > 0 { // a server without spans
		res.Spans, at = []VersionSpan{{m.WeightVersion, 0, n}}, n
	}
	if at != n {
		return nil, fmt.Errorf("weight version spans end at token %d of %d", at, n)
	}
	return res, nil
}

// scores holds a scoring answer against what was sent.
func (r *generateReply) scores(ids []int32, from int) ([]float64, error) {
	if r.Meta == nil {
		return nil, errors.New("the answer has no meta_info")
	}
	if err := r.checkPrompt(len(ids)); err != nil {
		return nil, err
	}
	in := r.Meta.Input
	if want := len(ids) - from + 1; len(in) != want {
		return nil, fmt.Errorf("%d input log-probabilities, expected %d", len(in), want)
	}
	out := make([]float64, 0, len(in)-1)
	for i, t := range in {
		if t.id != ids[from-1+i] {
			return nil, fmt.Errorf("input token %d is %d, %d was sent", from-1+i, t.id, ids[from-1+i])
		}
		if i == 0 {
			continue
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("input token %d: %w", from-1+i, err)
		}
		out = append(out, t.logprob)
	}
	return out, nil
}

// checkPrompt compares prompt_tokens, which only an abort out of the waiting queue leaves out.
func (r *generateReply) checkPrompt(sent int) error {
	m := r.Meta
	if m.PromptTokens == nil && m.Finish != nil && m.Finish.Type == "abort" {
		return nil
	}
	if m.PromptTokens == nil || *m.PromptTokens != sent {
		return fmt.Errorf("prompt_tokens is %s, %d were sent", show(m.PromptTokens), sent)
	}
	return nil
}

func (t tokenLogprob) check() error {
	if t.id < 0 {
		return fmt.Errorf("id %d is negative", t.id)
	}
	if t.null || t.logprob < -1e30 || !(t.logprob <= logprobSlack) { // the last is true of NaN
		return fmt.Errorf("log-probability %v (null: %t) of id %d is none", t.logprob, t.null, t.id)
	}
	return nil
}

func show(n *int) string {
	if n == nil {
		return "missing"
	}
	return strconv.Itoa(*n)
}
