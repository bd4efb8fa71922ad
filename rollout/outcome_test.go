package rollout

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	quarry "github.com/quarry-rl/quarry"
)

// The outcome of an attempt decides between data, retry and giving up.
func TestOutcomes(t *testing.T) {
	tests := map[string]struct {
		run      func(a Assignment, ep *quarry.Episode) (*quarry.Episode, error)
		attempts int
		lost     Reason // "" when the episode is data
	}{
		"policy failure": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Failure = quarry.FailPolicy
			return ep, nil
		}, 1, ""},
		"timeout": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Failure = quarry.FailTimeout
			return ep, nil
		}, 1, ""},
		"second attempt works": {func(a Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			if a.Attempt == 1 {
				return nil, &quarry.Error{Kind: quarry.KindUnavailable}
			}
			return ep, nil
		}, 2, ""},
		"infra": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Failure = quarry.FailInfra
			return ep, nil
		}, 3, ReasonInfra},
		"judge": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Failure = quarry.FailJudge
			return ep, nil
		}, 3, ReasonJudge},
		"own deadline": {func(Assignment, *quarry.Episode) (*quarry.Episode, error) {
			return nil, fmt.Errorf("read: %w", context.DeadlineExceeded)
		}, 3, ReasonInfra},
		"bad task": {func(Assignment, *quarry.Episode) (*quarry.Episode, error) {
			return nil, &quarry.Error{Kind: quarry.KindInvalid}
		}, 1, ReasonInvalid},
		"panic":   {func(Assignment, *quarry.Episode) (*quarry.Episode, error) { panic("index out of range") }, 3, ReasonInternal},
		"neither": {func(Assignment, *quarry.Episode) (*quarry.Episode, error) { return nil, nil }, 3, ReasonInternal},
		"no class": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Failure = "bad luck"
			return ep, nil
		}, 1, ReasonInternal},
		"NaN": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			nan := float32(0)
			ep.Thread.Logprobs[2] = nan / nan
			return ep, nil
		}, 3, ReasonMisaligned},
		"short mask": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Thread.Mask = ep.Thread.Mask[:3]
			return ep, nil
		}, 3, ReasonMisaligned},
		"mask on the prompt": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Thread.Mask[1], ep.Thread.Versions[1] = 1, 0
			return ep, nil
		}, 3, ReasonMisaligned},
		"another's episode": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Sample = 2
			return ep, nil
		}, 3, ReasonMisaligned},
		"positive logprob": {func(_ Assignment, ep *quarry.Episode) (*quarry.Episode, error) {
			ep.Thread.Logprobs[3] = 0.1
			return ep, nil
		}, 3, ReasonMisaligned},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seeds []uint64
			cfg := smallConfig()
			cfg.GroupsPerBatch, cfg.TotalBatches, cfg.GroupSize = 1, 1, 8
			l := startLive(t, cfg, tempJournal(t), runnerFunc(func(_ context.Context, a Assignment) (*quarry.Episode, error) {
				ep := episode(a, 0)
				if a.Sample != 5 {
					return ep, nil
				}
				mu.Lock()
				seeds = append(seeds, a.Seed)
				mu.Unlock()
				return tc.run(a, ep)
			}), taskAt)
			b, err := l.Lease(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(seeds) != tc.attempts || slices.Max(seeds) != slices.Min(seeds) {
				t.Errorf("%d attempts, want %d, with seeds %v", len(seeds), tc.attempts, seeds)
			}
			want := Counts{Dispatched: 8, Leased: 8, Discarded: map[Reason]int{}}
			if tc.lost != "" {
				want.Leased, want.Discarded[tc.lost] = 7, 1
			}
			if d := cmp.Diff(want, l.Counts()); d != "" {
				t.Error(d)
			}
			if got := len(b.Groups[0].Episodes); got != want.Leased {
				t.Errorf("%d episodes in the batch", got)
			}
		})
	}
}
