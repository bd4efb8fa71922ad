package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/pivot"
	"github.com/quarry-rl/quarry/rewards"
	"github.com/quarry-rl/quarry/rollout"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// TasksFile holds continuation tasks, one JSON object a line.
const TasksFile = "tasks.jsonl"

// PivotFacts is what the pivot stage counts: Failed = Located + NotLocated, Located = Tasks + NoTask.
type PivotFacts struct {
	Failed     int            `json:"failed"`
	Located    int            `json:"located"`
	Tasks      int            `json:"tasks"`
	ByClass    map[string]int `json:"by_class"`
	NotLocated map[string]int `json:"not_located"`
	NoTask     map[string]int `json:"no_task"`
	RL         RLFacts        `json:"rl"`
}

// PivotTask is a continuation with the pivot it comes from.
type PivotTask struct {
	Pivot quarry.Pivot `json:"pivot"`
	Task  quarry.Task  `json:"task"`
}

// Pivots locates where failed episodes went wrong and cuts continuation tasks there, at most limit, spread over the
// questions (0 is no limit).
func (e *Env) Pivots(eps []*quarry.Episode, questions map[string]*quarry.Question, limit int) ([]PivotTask, PivotFacts, error) {
	f := PivotFacts{ByClass: map[string]int{}, NotLocated: map[string]int{}, NoTask: map[string]int{}}
	var out []PivotTask
	perQuestion := map[string]int{}
	for _, ep := range eps {
		f.Failed++
		q := questions[ep.QuestionID]
		if q == nil {
			f.NotLocated["question_unknown"]++
			continue
		}
		p, ok := pivot.Locate(ep, q, e.startName(q), rewards.NewMatcher(pivot.PathEntities(q)))
		if !ok {
			f.NotLocated["no_pivot"]++
			continue
		}
		f.Located++
		f.ByClass[string(p.Class)]++
		if perQuestion[q.ID] >= tasksPerQuestion {
			f.NoTask["question_used_up"]++
			continue
		}
		t, err := pivot.Continuation(e.FullTask(q), ep, p, tokens.Bridge{})
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid {
				return nil, f, err
			}
			f.NoTask["no_continuation"]++
			continue
		}
		perQuestion[q.ID]++
		out = append(out, PivotTask{p, t})
	}
	if limit > 0 && len(out) > limit {
		f.NoTask["over_max_tasks"] = len(out) - limit
		sort.SliceStable(out, func(i, j int) bool { return hashOf(out[i].Task.ID) < hashOf(out[j].Task.ID) })
		out = out[:limit]
	}
	f.Tasks = len(out)
	return out, f, nil
}

const tasksPerQuestion = 2

func hashOf(s string) uint64 { return seedOf(0, s) }

// startName is the name of the entity the question starts from.
func (e *Env) startName(q *quarry.Question) string {
	if n, ok := e.Graph.Entity(q.Path[0].From()); ok {
		return e.Graph.Entities[n].Name
	}
	return ""
}

// Pivot makes continuation tasks from the failed episodes of an RL phase and runs them beside full tasks in further
// RL steps.
func (e *Env) Pivot(ctx context.Context, rlDir string, rl RLFacts, kept, out string) (PivotFacts, error) {
	qs, err := ReadQuestions(kept, "")
	if err != nil {
		return PivotFacts{}, err
	}
	var failed []*quarry.Episode
	for _, s := range rl.Steps {
		eps, err := readLines[*quarry.Episode](filepath.Join(rlDir, "failed", fmt.Sprintf("batch-%04d.jsonl"+zst, s.Step)), EpisodeSchema)
		if err != nil {
			return PivotFacts{}, err
		}
		failed = append(failed, eps...)
	}
	questions := byID(qs)
	tasks, f, err := e.Pivots(failed, questions, e.Spec.Pivot.MaxTasks)
	if err != nil {
		return f, err
	}
	if err := writeLines(filepath.Join(out, TasksFile), TaskSchema, tasks); err != nil {
		return f, err
	}
	if e.Spec.Pivot.Steps == 0 {
		return f, nil
	}
	f.RL, err = e.RL(ctx, RLRun{Name: "pivot", Dir: out, Parent: filepath.Join(rlDir, rl.Weights), Steps: e.Spec.Pivot.Steps, FirstStep: len(rl.Steps) + 1,
		Questions: questions, TaskAt: mixTasks(e.fullTasks(qs, "pivot"), tasks, e.Spec.Pivot.Share), Schedule: rl.Schedule})
	return f, err
}

// mixTasks puts continuations among full tasks at a share; index i always gives the same task.
func mixTasks(full func(int) quarry.Task, tasks []PivotTask, share float64) rollout.TaskSource {
	before := func(i int) int { return int(float64(i) * share) } // continuations among the first i
	return func(i int) (quarry.Task, error) {
		n := before(i)
		if len(tasks) > 0 && before(i+1) > n {
			return tasks[n%len(tasks)].Task, nil
		}
		return full(i - n), nil
	}
}
