package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/dpo"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/rollout/agent"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/sglang"
	"github.com/quarry-rl/quarry/sft"
)

// Untrained is what commands take in place of a weights file for the policy before any training.
const Untrained = "untrained"

// Serve starts an engine for what a command names: a weights file, or Untrained. Without a name it is the endpoint with
// the weights it already has. The version is that of the weights.
func (e *Env) Serve(ctx context.Context, weights string) (*Engine, int, error) {
	if weights == "" {
		return e.connect(ctx)
	}
	path, drop, err := e.WeightsFile(weights)
	if err != nil {
		return nil, 0, err
	}
	defer drop() // both engines have read the file once they are up
	w, err := pocket.LoadWeights(path, e.Reader.Features())
	if err != nil {
		return nil, 0, err
	}
	eng, err := e.StartEngine(ctx, path, w.Version)
	return eng, w.Version, err
}

// connect takes the endpoint as it is; "default" is what a server calls the weights it was started with: version 0.
func (e *Env) connect(ctx context.Context) (*Engine, int, error) {
	c := sglang.New(e.Endpoint, sglang.Options{MaxConns: max(e.Spec.Concurrency, 8)})
	info, err := c.ModelInfo(ctx)
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	version := 0
	if info.WeightVersion != "default" {
		if version, err = strconv.Atoi(info.WeightVersion); err != nil {
			c.Close()
			return nil, 0, &quarry.Error{Op: "engine", Kind: quarry.KindInvalid, Subject: e.Endpoint, Msg: fmt.Sprintf("weight version %q is not a number", info.WeightVersion),
				Hint: "give weight_version as a decimal number when pushing weights to the engine"}
		}
	}
	return &Engine{Client: c}, version, nil
}

// WeightsFile is an absolute path of the named weights; Untrained ones are written to a temporary file, which drop
// removes.
func (e *Env) WeightsFile(name string) (path string, drop func(), err error) {
	if name != Untrained {
		path, err = filepath.Abs(name)
		return path, func() {}, err
	}
	dir, err := os.MkdirTemp("", "quarry-")
	if err != nil {
		return "", nil, &quarry.Error{Op: "weights", Kind: quarry.KindUnavailable, Subject: os.TempDir(), Err: err, Hint: "set TMPDIR to a folder that can be written"}
	}
	drop = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, WeightsFile)
	if err := e.untrained(path); err != nil {
		drop()
		return "", nil, err
	}
	return path, drop, nil
}

// WriteEpisodes writes one episode a line, atomically.
func WriteEpisodes(path string, eps []*quarry.Episode) error {
	return writeLines(path, EpisodeSchema, eps)
}

// ReadEpisodes reads what WriteEpisodes wrote and replays every record, so that nothing is scored or trained on whose
// tokens and text disagree.
func ReadEpisodes(path string) ([]*quarry.Episode, error) {
	eps, err := readLines[*quarry.Episode](path, EpisodeSchema)
	if err != nil {
		return nil, err
	}
	bad := func(i int, kind quarry.Kind, msg string, err error) error {
		return &quarry.Error{Op: "read episodes", Kind: kind, Subject: fmt.Sprintf("%s: episode %d", path, i+1), Msg: msg, Err: err, Hint: "write the file anew with quarry rollout"}
	}
	first := map[string]int{}
	for i, ep := range eps {
		if ep == nil || ep.ID == "" || ep.QuestionID == "" || ep.TaskID == "" {
			return nil, bad(i, quarry.KindInvalid, "id, task_id or question_id is missing: not an episode", nil)
		}
		if n, ok := first[ep.ID]; ok {
			return nil, bad(i, quarry.KindInvalid, fmt.Sprintf("id %q is that of episode %d too", ep.ID, n+1), nil)
		}
		first[ep.ID] = i
		if err := agent.CheckEpisode(ep); err != nil {
			return nil, bad(i, quarry.KindCorrupt, "the record contradicts itself", err)
		}
	}
	return eps, nil
}

// WritePivots writes continuation tasks with their pivots, one a line, atomically.
func WritePivots(path string, tasks []PivotTask) error { return writeLines(path, TaskSchema, tasks) }

// Measure is held-out success of what an engine serves: attempts at T=1 and one greedy attempt per question. The name
// seeds the attempts; that of a checkpoint of a run gives the run's numbers.
func (e *Env) Measure(ctx context.Context, eng *Engine, qs []quarry.Question, name string, version int) (EvalResult, error) {
	eps, err := e.Sample(ctx, eng, qs, e.Spec.Eval.Attempts, 1, "eval."+name)
	if err != nil {
		return EvalResult{}, err
	}
	greedy, err := e.Sample(ctx, eng, qs, 1, 0, "greedy."+name)
	if err != nil {
		return EvalResult{}, err
	}
	return e.evaluate(Checkpoint{Name: name, Version: version}, qs, eps, greedy), nil
}

// Built is a dataset made from Given episodes or questions. Used of them are in its rows; the others were left out.
type Built struct {
	Kind    string         `json:"kind"`
	Path    string         `json:"path"`
	Rows    int64          `json:"rows"`
	SHA256  string         `json:"sha256"`
	Given   int            `json:"given"`
	Used    int            `json:"used"`
	LeftOut map[string]int `json:"left_out"`
}

// BuildS1 publishes the episodes that may be imitated. source and license go into the rows.
func BuildS1(eps []*quarry.Episode, dir, source, license string) (Built, error) {
	used, left := sft.Select(eps)
	b := Built{Given: len(eps), Used: len(used), LeftOut: left}
	rows := make([]datasets.S1, len(used))
	for i, ep := range used {
		r, err := datasets.S1FromEpisode(ep, source)
		if err != nil {
			return b, err
		}
		r.License = license
		rows[i] = r
	}
	return publish(b, dir, rows, datasets.Meta{Producer: "quarry build sft", License: license, Note: "Episodes that end in the right answer without a failed call or a malformed turn."})
}

// pairRows pairs the episodes of each task of which exactly one is right, at most perTask of each task.
func pairRows(eps []*quarry.Episode, perTask int) (rows []datasets.D1, left map[string]int, err error) {
	left = map[string]int{}
	var order []string
	tasks := map[string][]*quarry.Episode{}
	for _, ep := range eps {
		if tasks[ep.TaskID] == nil {
			order = append(order, ep.TaskID)
		}
		tasks[ep.TaskID] = append(tasks[ep.TaskID], ep)
	}
	for _, id := range order {
		pairs, skipped, err := dpo.Pairs(tasks[id], perTask)
		if err != nil {
			return nil, left, err
		}
		for reason, n := range skipped {
			left[reason] += n
		}
		for _, p := range pairs {
			r, err := datasets.D1FromPair(p)
			if err != nil {
				return nil, left, err
			}
			rows = append(rows, r)
		}
	}
	return rows, left, nil
}

func pairMeta(license string) datasets.Meta {
	return datasets.Meta{Producer: "quarry build dpo", License: license, Note: "Pairs of episodes of one question of which exactly one is right; both sides clean."}
}

// BuildD1 publishes pairs of episodes of one task of which exactly one is right, at most perTask of each task.
func BuildD1(eps []*quarry.Episode, dir, license string, perTask int) (Built, error) {
	rows, left, err := pairRows(eps, perTask)
	if err != nil {
		return Built{}, err
	}
	return publish(Built{Given: len(eps), Used: 2 * len(rows), LeftOut: left}, dir, rows, pairMeta(license))
}

// BuildR1 publishes the questions of one part as RL prompts; "" takes all parts.
func (e *Env) BuildR1(qs []quarry.Question, split quarry.Split, dir, license string) (Built, error) {
	b := Built{Given: len(qs), LeftOut: map[string]int{}}
	var used []quarry.Question
	for _, q := range qs {
		if split != "" && q.Split != split {
			b.LeftOut["split_"+string(q.Split)]++
			continue
		}
		used = append(used, q)
	}
	b.Used = len(used)
	return publish(b, dir, e.promptRows(used), datasets.Meta{Producer: "quarry build rl", License: license, Note: "RL prompts: how each question starts, with what a reward function needs."})
}

// publish writes the dataset in place of what is there; one without rows teaches nothing and is refused.
func publish[T datasets.Row](b Built, dir string, rows []T, meta datasets.Meta) (Built, error) {
	if len(rows) == 0 {
		return b, &quarry.Error{Op: strings.TrimPrefix(meta.Producer, "quarry "), Kind: quarry.KindGate, Msg: fmt.Sprintf("nothing is left of %d given: %v", b.Given, report.Reasons(b.LeftOut)),
			Hint: "give more episodes or questions, or better ones; no dataset was written"}
	}
	if err := writeRows(dir, rows, meta); err != nil {
		return b, err
	}
	ds, err := datasets.Open(dir)
	if err != nil {
		return b, err
	}
	b.Kind, b.Path, b.Rows, b.SHA256 = ds.Manifest.Kind, dir, ds.Manifest.Rows, ds.Manifest.Digest()
	return b, nil
}
