package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/journal"
)

// work plays one attempt and tells the owner goroutine how it ended. Work that is interrupted says nothing: it is no
// attempt, and a resumed run plays it again.
func (l *Live) work(ctx context.Context, d Dispatch) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return
	}
	var r request
	if a, err := l.assignment(d); err != nil {
		r.fatal = err
	} else {
		ep, err := l.attempt(ctx, a)
		if ctx.Err() != nil {
			return
		}
		r = verdict(d, a, ep, err)
	}
	select {
	case l.requests <- r:
	case <-ctx.Done():
	}
}

func (l *Live) assignment(d Dispatch) (Assignment, error) {
	a := Assignment{GroupID: l.cfg.GroupID(d.Group), EpisodeID: l.cfg.EpisodeID(d.Group, d.Sample),
		Sample: d.Sample, Attempt: d.Attempt, Seed: l.cfg.EpisodeSeed(d.Group, d.Sample)}
	err := l.load(d.Task, &a.Task)
	return a, err
}

// load reads a blob of the log as JSON.
func (l *Live) load(digest string, into any) error {
	text, err := l.log.Blob(digest)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &quarry.Error{Op: "rollout", Kind: quarry.KindCorrupt, Subject: "blob " + digest, Err: err}
	}
	return nil
}

// attempt calls the runner under its deadline and turns a panic into an error.
func (l *Live) attempt(ctx context.Context, a Assignment) (ep *quarry.Episode, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.EpisodeTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			ep, err = nil, &quarry.Error{Op: "episode", Kind: quarry.KindInternal, Subject: a.EpisodeID, Msg: fmt.Sprint("panic: ", p)}
		}
	}()
	return l.runner.RunEpisode(ctx, a)
}

// verdict turns the outcome of an attempt into the fact to record.
func verdict(d Dispatch, a Assignment, ep *quarry.Episode, err error) request {
	failed := func(reason Reason, kind quarry.Kind, permanent bool, msg string) request {
		return request{body: Failed{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt,
			Reason: reason, ErrKind: kind, Permanent: permanent, Msg: clip(msg)}}
	}
	if err != nil {
		reason, kind, permanent := classify(err)
		return failed(reason, kind, permanent, err.Error())
	}
	if ep == nil {
		return failed(ReasonInternal, quarry.KindInternal, false, "the runner gave neither episode nor error")
	}
	switch ep.Failure {
	case quarry.FailNone, quarry.FailPolicy, quarry.FailTimeout:
	case quarry.FailInfra:
		return failed(ReasonInfra, quarry.KindUnavailable, false, ep.FailureMsg)
	case quarry.FailJudge:
		return failed(ReasonJudge, quarry.KindUnavailable, false, ep.FailureMsg)
	default:
		return failed(ReasonInternal, quarry.KindInternal, true, fmt.Sprintf("unknown failure class %q", ep.Failure))
	}
	if msg := misaligned(a, ep); msg != "" {
		return failed(ReasonMisaligned, quarry.KindCorrupt, false, msg)
	}
	text, err := json.Marshal(ep)
	if err != nil {
		return failed(ReasonMisaligned, quarry.KindCorrupt, false, err.Error())
	}
	oldest, newest := ep.Thread.VersionRange()
	return request{blobs: [][]byte{text}, body: Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt,
		Episode: journal.Digest(text), Oldest: oldest, Newest: newest, Failure: ep.Failure}}
}

// classify says what a runner's error means for the sample.
func classify(err error) (Reason, quarry.Kind, bool) {
	kind := quarry.KindOf(err)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return ReasonInfra, quarry.KindUnavailable, false // the attempt's deadline, or the runner's own
	}
	switch kind {
	case quarry.KindUnavailable, quarry.KindExhausted, quarry.KindConflict, quarry.KindCanceled:
		return ReasonInfra, kind, false
	case quarry.KindInvalid, quarry.KindNotFound, quarry.KindCorrupt, quarry.KindUnscorable:
		return ReasonInvalid, kind, true
	}
	return ReasonInternal, kind, false
}

// misaligned says why an episode's token record cannot be trusted, "" when it can. Nothing is repaired: a NaN or a
// shifted mask that got through would train on the wrong tokens without a sign.
func misaligned(a Assignment, ep *quarry.Episode) string {
	if ep.ID != a.EpisodeID || ep.GroupID != a.GroupID || ep.Sample != a.Sample || ep.TaskID != a.Task.ID {
		return fmt.Sprintf("is episode %q, group %q, sample %d, task %q; asked for %q, %q, %d, %q",
			ep.ID, ep.GroupID, ep.Sample, ep.TaskID, a.EpisodeID, a.GroupID, a.Sample, a.Task.ID)
	}
	t := &ep.Thread
	n := len(t.IDs)
	if len(t.Mask) != n || len(t.Logprobs) != n || len(t.Versions) != n || t.PromptLen < 0 || t.PromptLen > n {
		return fmt.Sprintf("%d ids, %d mask, %d logprobs, %d versions, prompt of %d",
			n, len(t.Mask), len(t.Logprobs), len(t.Versions), t.PromptLen)
	}
	for i := range n {
		lp := float64(t.Logprobs[i])
		switch {
		case t.Mask[i] == 1 && i >= t.PromptLen:
			if math.IsNaN(lp) || math.IsInf(lp, 0) || lp > 1e-4 || t.Versions[i] < 0 {
				return fmt.Sprintf("token %d was sampled with logprob %v under version %d", i, lp, t.Versions[i])
			}
		case t.Mask[i] != 0 || lp != 0 || t.Versions[i] != -1:
			return fmt.Sprintf("token %d, prompt of %d: mask %d, logprob %v, version %d", i, t.PromptLen, t.Mask[i], lp, t.Versions[i])
		}
	}
	return ""
}

// clip keeps messages small facts of valid UTF-8.
func clip(s string) string {
	const limit = 500
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
