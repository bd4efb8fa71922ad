package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Replay draws a question again from its walk's number and compares all of it byte for byte: text, path with spans and
// hashes, sub-steps, certificate. What models added later (difficulty) and the split, which is the caller's, are not
// compared. Errors: invalid (it is of another seed, graph or folder), corrupt (what differs).
func (s *Space) Replay(ctx context.Context, q *quarry.Question) error {
	var id WalkID
	if err := json.Unmarshal(q.Walk, &id); err != nil {
		return &quarry.Error{Op: "synth replay", Kind: quarry.KindInvalid, Subject: q.ID, Msg: "its walk cannot be read", Err: err, Hint: "give a question of this pipeline"}
	}
	if id.Seed != s.o.Seed || id.Hops != s.o.Hops {
		return &quarry.Error{Op: "synth replay", Kind: quarry.KindInvalid, Subject: q.ID, Msg: fmt.Sprintf("it is of seed %d and %d hops, the options of seed %d and %d hops", id.Seed, id.Hops, s.o.Seed, s.o.Hops),
			Hint: "give the settings in the first line of its ledger"}
	}
	var c Certificate
	if err := json.Unmarshal(q.Certificate, &c); err != nil || c.Graph != s.g.Digest() {
		return &quarry.Error{Op: "synth replay", Kind: quarry.KindInvalid, Subject: q.ID, Msg: "it is of another graph", Err: err, Hint: "open the graph with digest " + c.Graph}
	}
	again, err := s.Candidate(ctx, id.Number)
	if err != nil {
		return err
	}
	corrupt := func(what string) error {
		return &quarry.Error{Op: "synth replay", Kind: quarry.KindCorrupt, Subject: q.ID, Msg: what, Hint: "restore it from a copy, or synthesise again"}
	}
	if again.Question == nil {
		return corrupt(fmt.Sprintf("walk %d is rejected now: %s, %s", id.Number, again.Reason, again.Detail))
	}
	a, b, err := fields(q, again.Question)
	if err != nil {
		return err
	}
	var differ []string
	for _, k := range keys(a, b) {
		if !bytes.Equal(a[k], b[k]) {
			differ = append(differ, k)
		}
	}
	if differ != nil {
		return corrupt("not the same as drawn again: " + strings.Join(differ, ", "))
	}
	return nil
}

// fields are two questions as JSON by key.
func fields(q, r *quarry.Question) (a, b map[string]json.RawMessage, err error) {
	for _, x := range []struct {
		q   *quarry.Question
		out *map[string]json.RawMessage
	}{{q, &a}, {r, &b}} {
		text, err := json.Marshal(x.q)
		if err == nil {
			err = json.Unmarshal(text, x.out)
		}
		if err != nil {
			return nil, nil, &quarry.Error{Op: "synth replay", Kind: quarry.KindInvalid, Subject: x.q.ID, Msg: "it is no JSON", Err: err, Hint: "give a question as it was read"}
		}
		delete(*x.out, "difficulty")
		delete(*x.out, "split")
	}
	return a, b, nil
}

func keys(a, b map[string]json.RawMessage) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
