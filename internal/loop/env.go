// Package loop composes the engines into the stages of a run: kg, synth, filter, sft, dpo, rl, pivot, eval. Each stage
// reads and writes files, so that a command can run one alone and Run can put them into one graph of cached stages.
package loop

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/rewards"
	"github.com/quarry-rl/quarry/rollout/agent"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/sglang"
	"github.com/quarry-rl/quarry/rollout/world"
)

const (
	searchCache   = 50000 // answers of the search tool kept
	contextCache  = 6000  // enumerated contexts the embedded engine keeps, about 12 KB each
	contextLimit  = 32768 // tokens of an episode
	maxAliasShort = 3
)

// Progress is told where a stage stands.
type Progress interface {
	Update(done, total int, note string)
}

// Env is what the stages share.
type Env struct {
	Spec     configs.Run
	Graph    *kg.Graph
	Search   world.Searcher
	Reader   *pocket.Reader
	Trainer  *trainer.Trainer
	Endpoint string // URL of an engine that speaks SGLang's protocol; "" starts the embedded one
	Model    *Model // what the engine must serve; nil for whatever it is
	Log      *slog.Logger
	Progress Progress
}

// NewEnv prepares a graph for rollouts.
func NewEnv(spec configs.Run, g *kg.Graph, endpoint string, log *slog.Logger, p Progress) *Env {
	r := pocket.NewReader()
	e := &Env{Spec: spec, Graph: g, Reader: r, Trainer: trainer.New(r, r.Features()), Endpoint: endpoint, Log: log, Progress: p}
	e.Search = world.NewCache(world.SearchFunc(e.search), searchCache)
	return e
}

func (e *Env) search(_ context.Context, query string, k int) ([]world.Passage, error) {
	var out []world.Passage
	for _, p := range e.Graph.Search(query, k) {
		ps := &e.Graph.Passages[p]
		out = append(out, world.Passage{Doc: e.Graph.Docs[ps.Doc].ID, Title: ps.Title, Text: ps.Text})
	}
	return out, nil
}

// Engine is a running engine and its client.
type Engine struct {
	*sglang.Client
	Model Model
	close func() error
}

// Close ends the engine when it is the embedded one.
func (e *Engine) Close() error {
	e.Client.Close()
	if e.close == nil {
		return nil
	}
	return e.close()
}

// StartEngine serves weights: the embedded engine on loopback, or the endpoint, which loads the same file. No weights are
// untrained ones, for the embedded engine only.
func (e *Env) StartEngine(ctx context.Context, weights string, version int) (*Engine, error) {
	opts := sglang.Options{MaxConns: max(e.Spec.Concurrency, 8)}
	if e.Endpoint != "" {
		c := sglang.New(e.Endpoint, opts)
		eng, err := e.engine(ctx, c, nil) // before it is given weights that may not be its own
		if err != nil {
			return nil, err
		}
		if err := c.UpdateWeights(ctx, weights, strconv.Itoa(version)); err != nil {
			_ = eng.Close()
			return nil, err
		}
		return eng, nil
	}
	srv, err := pocket.NewServer(pocket.Options{Enumerator: e.Reader, FeatureSet: e.Reader.Features(), WeightsPath: weights, CacheContexts: contextCache, Log: e.Log})
	if err != nil {
		return nil, err
	}
	url, stop, err := srv.Listen(context.WithoutCancel(ctx), "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return e.engine(ctx, sglang.New(url, opts), stop)
}

// Attempt is one try at a question.
type Attempt struct {
	Task        quarry.Task
	Question    *quarry.Question
	EpisodeID   string
	GroupID     string
	Sample      int
	Seed        uint64
	Temperature float64
}

// Play makes an attempt and scores it. A request that the engine refuses (sglang.Refused) gives the error and the
// episode up to that point, unscored.
func (e *Env) Play(ctx context.Context, eng agent.Engine, a Attempt) (*quarry.Episode, error) {
	ep, err := agent.Run(ctx, eng, world.NewSession(e.Search, a.Task), a.Task, agent.Params{EpisodeID: a.EpisodeID, GroupID: a.GroupID,
		Sample: a.Sample, Seed: a.Seed, Temperature: a.Temperature, ContextLimit: contextLimit})
	refused := sglang.Refused(err)
	if err != nil && !refused {
		return nil, err
	}
	card := rewards.ScoreEpisode(ep, a.Question, rewards.Config{})
	ep.Scorecard = &card
	if refused {
		return ep, err
	}
	if !card.ORM.Scored { // what happened to the episode is not its fault: never a failure, always a reason to stop or retry
		return nil, &quarry.Error{Op: "play", Kind: quarry.KindUnavailable, Subject: a.EpisodeID, Msg: "no outcome: " + card.ORM.Reason + " " + ep.FailureMsg, Hint: "the same command again goes on"}
	}
	return ep, nil
}

// try is Play where one request that the engine refuses must not end the others.
func (e *Env) try(ctx context.Context, eng agent.Engine, a Attempt) (*quarry.Episode, error) {
	ep, err := e.Play(ctx, eng, a)
	if sglang.Refused(err) {
		return ep, nil
	}
	return ep, err
}

// The reasons an episode says nothing about the policy.
const (
	reasonTooLong = "question_too_long" // the context does not hold the prompt
	reasonRefused = "engine_refused"    // the engine refuses a request of the episode
)

// Unplayed is an episode in which the policy had no chance, with the reason.
type Unplayed struct {
	Line     int    `json:"line,omitempty"` // of the question in its file, where a command read one
	Question string `json:"question_id"`
	Episode  string `json:"episode_id"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}

// UnplayedOf lists the episodes in which the policy had no chance.
func UnplayedOf(eps []*quarry.Episode) []Unplayed {
	var out []Unplayed
	for _, ep := range eps {
		if reason := unplayed(ep); reason != "" {
			out = append(out, Unplayed{Question: ep.QuestionID, Episode: ep.ID, Reason: reason, Message: ep.FailureMsg})
		}
	}
	return out
}

// unplayed is the reason of an Unplayed, "" for an episode that was played.
func unplayed(ep *quarry.Episode) string {
	switch {
	case ep.End == quarry.EndLLMError:
		return reasonRefused
	case ep.End == quarry.EndContextOverflow && len(ep.Thread.Turns) == 0:
		return reasonTooLong
	}
	return ""
}

// budget of the spec, with at most calls tool calls.
func (e *Env) budget(calls int) quarry.Budget {
	b := e.Spec.Budget
	return quarry.Budget{Turns: b.Turns, ToolCalls: min(calls, b.ToolCalls), NewTokens: b.NewTokens}
}

// FullTask is a question as it is rolled out.
func (e *Env) FullTask(q *quarry.Question) quarry.Task {
	return world.BuildTask(q, world.TaskOptions{Budget: e.budget(e.Spec.Budget.ToolCalls)})
}

// right says whether an episode's outcome reward is 1.
func right(ep *quarry.Episode) bool {
	return ep.Scorecard != nil && ep.Scorecard.ORM.Scored && ep.Scorecard.ORM.Value == 1
}

// seedOf derives the seed of one item from the run's.
func seedOf(seed uint64, parts ...string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.FormatUint(seed, 10))
	for _, p := range parts {
		_, _ = io.WriteString(h, "\x00"+p)
	}
	return h.Sum64()
}

// each runs f for 0..n-1, at most limit at once, and tells progress.
func (e *Env) each(parent context.Context, n int, note string, f func(ctx context.Context, i int) error) error {
	eg, ctx := errgroup.WithContext(parent)
	eg.SetLimit(max(e.Spec.Concurrency, 1))
	done := make(chan struct{}, n)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		eg.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := f(ctx, i)
			done <- struct{}{}
			if e.Progress != nil {
				e.Progress.Update(len(done), n, note)
			}
			return err
		})
	}
	err := eg.Wait()
	if err == nil {
		err = parent.Err() // the items in flight may have ended well
	}
	if errors.Is(err, context.Canceled) {
		return &quarry.Error{Op: note, Kind: quarry.KindCanceled, Msg: "stopped on request", Hint: "the same command again resumes", Err: err}
	}
	return err
}
