package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/journal"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/rewards"
	"github.com/quarry-rl/quarry/rollout"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

// RLRun is one asynchronous RL phase: rollouts and trainer steps over one journal.
type RLRun struct {
	Name      string // prefix of group, episode and batch ids
	Dir       string
	Parent    string // weights to start from
	Fresh     bool   // no RL step made Parent: the optimiser begins anew
	Steps     int
	FirstStep int // number of the first step, from 1
	Questions map[string]*quarry.Question
	TaskAt    rollout.TaskSource
	Schedule  rewards.ScheduleState
}

// RLFacts is what an RL phase leaves behind.
type RLFacts struct {
	Steps        []StepRecord `json:"steps"`
	Counts       rollout.Counts
	Conservation int                   `json:"conservation"`
	Schedule     rewards.ScheduleState `json:"schedule"`
	Weights      string                `json:"weights"` // last weights file, relative to the stage
	Version      int                   `json:"version"`
	Failed       int                   `json:"failed_episodes"`
}

// StepRecord is kept with a batch's acknowledgement: all that a restart needs to go on.
type StepRecord struct {
	Step           int                   `json:"step"`
	Version        int                   `json:"version"` // of the weights that came out
	Groups         int                   `json:"groups"`
	Samples        int                   `json:"samples"`
	Mixed          int                   `json:"mixed_groups"` // neither all right nor all wrong
	Pivot          int                   `json:"pivot_groups"`
	VersionMixed   int                   `json:"version_mixed_groups"`
	Failed         int                   `json:"failed_episodes"`
	Means          StepMeans             `json:"means"`
	Unscored       map[string]int        `json:"unscored"`
	Rates          rewards.Rates         `json:"rates"`
	Phase          int                   `json:"phase"`
	Coefficients   quarry.Coefficients   `json:"coefficients"`
	Shares         *rewards.Shares       `json:"variance_shares"`
	PhaseChange    *rewards.PhaseChange  `json:"phase_change"` // after this step
	Schedule       rewards.ScheduleState `json:"schedule"`     // after this step
	Staleness      rollout.Staleness     `json:"staleness"`
	Train          trainer.RLResult      `json:"train"`
	T1             string                `json:"t1"` // dataset directory, relative to the stage
	T1Digest       string                `json:"t1_digest"`
	TrainerVersion int                   `json:"trainer_version"`
}

// StepMeans are means over the scored episodes; nil when none was scored.
type StepMeans struct {
	Tool   *float64 `json:"tool"`
	Format *float64 `json:"format"`
	PRM    *float64 `json:"prm"`
	ORM    *float64 `json:"orm"`
	Total  *float64 `json:"total"`
}

func (r *RLRun) weights(version int) string {
	return filepath.Join(r.Dir, "weights", fmt.Sprintf("v%04d.json", version))
}

// schedule is the spec's: MindDR's phases with the spec's thresholds, checked each step.
func (e *Env) schedule() rewards.Schedule {
	s := rewards.DefaultSchedule()
	s.Thresholds = rewards.Thresholds{Tool: e.Spec.Schedule.Tool, Format: e.Spec.Schedule.Format, PRM: e.Spec.Schedule.PRM}
	return s
}

// RL rolls out and trains until the steps are done. It resumes from the journal in its directory.
func (e *Env) RL(ctx context.Context, r RLRun) (RLFacts, error) {
	var f RLFacts
	start, err := pocket.LoadWeights(r.Parent, e.Reader.Features())
	if err != nil {
		return f, err
	}
	for _, sub := range []string{"weights", "t1", "failed"} {
		if err := os.MkdirAll(filepath.Join(r.Dir, sub), 0o755); err != nil {
			return f, &quarry.Error{Op: "rl", Kind: quarry.KindUnavailable, Subject: r.Dir, Err: err, Hint: "choose a state directory that can be written"}
		}
	}
	if err := e.copyStart(r, start.Version); err != nil {
		return f, err
	}
	jn, err := journal.Open(filepath.Join(r.Dir, "journal.db"), rollout.SchemaName, rollout.SchemaVersion)
	if err != nil {
		return f, err
	}
	defer jn.Close()
	s := e.Spec.RL
	cfg := rollout.DefaultConfig(s.Groups)
	cfg.RunID, cfg.Seed, cfg.StartVersion = r.Name, e.Spec.Seed, int32(start.Version)
	cfg.GroupSize, cfg.TotalBatches, cfg.MaxConcurrent = s.GroupSize, r.Steps, e.Spec.Concurrency
	cfg.MaxStaleness, cfg.MaxVersionSpread, cfg.Eta = int32(s.MaxStaleness), int32(s.MaxVersionSpread), s.Overproduction
	run := &runner{env: e, questions: r.Questions, temperature: s.Temperature}
	live, err := rollout.New(cfg, jn, run, r.TaskAt, time.Now)
	if err != nil {
		return f, err
	}
	defer live.Close()
	version := start.Version
	if f.Schedule = r.Schedule; len(live.Acked()) > 0 {
		for _, a := range live.Acked() {
			var rec StepRecord
			if err := json.Unmarshal(a.Record, &rec); err != nil {
				return f, &quarry.Error{Op: "rl", Kind: quarry.KindCorrupt, Subject: a.ID, Msg: "the journal's step record is not readable", Err: err, Hint: "start afresh in another state directory"}
			}
			if err := sameBatch(filepath.Join(r.Dir, rec.T1), rec.T1Digest); err != nil {
				return f, err
			}
			f.Steps = append(f.Steps, rec)
			f.Schedule, version = rec.Schedule, int(a.Version)
		}
	}
	if len(f.Steps) == r.Steps { // all acknowledged, and perhaps drained, before the stage could be marked as done
		if err := live.Start(ctx); err != nil {
			return f, err
		}
		return e.finish(ctx, r, live, f, version)
	}
	eng, err := e.StartEngine(ctx, r.weights(version), version)
	if err != nil {
		return f, err
	}
	defer eng.Close()
	run.engine = eng
	if err := live.Start(ctx); err != nil {
		return f, err
	}
	if err := live.Publish(ctx, int32(version)); err != nil {
		return f, err
	}
	for len(f.Steps) < r.Steps {
		rec, err := e.step(ctx, r, live, eng.Model, &f.Schedule, version, r.FirstStep+len(f.Steps))
		if err != nil {
			return f, err
		}
		version = rec.Version
		f.Steps = append(f.Steps, rec)
		// The weights go to the engine while rollouts run: the turns under way finish under both versions.
		if err := eng.UpdateWeights(ctx, r.weights(version), versionLabel(version)); err != nil {
			return f, err
		}
		if err := live.Publish(ctx, int32(version)); err != nil {
			return f, err
		}
		if e.Progress != nil {
			e.Progress.Update(len(f.Steps), r.Steps, stepNote(rec))
		}
	}
	return e.finish(ctx, r, live, f, version)
}

const drainedNote = "all batches are acknowledged and the coordinator is drained"

// finish drains the coordinator, which may be drained already, and fills in the facts.
func (e *Env) finish(ctx context.Context, r RLRun, live *rollout.Live, f RLFacts, version int) (RLFacts, error) {
	if err := live.Drain(ctx); err != nil {
		return f, err
	}
	e.Log.Info(drainedNote, "phase", r.Name)
	f.Counts, f.Conservation = live.Counts(), live.Conservation()
	f.Weights, f.Version = filepath.Join("weights", filepath.Base(r.weights(version))), version
	for _, rec := range f.Steps {
		f.Failed += rec.Failed
	}
	return f, live.Close()
}

// sameBatch checks that an acknowledged batch is still what was trained on.
func sameBatch(dir, digest string) error {
	ds, err := datasets.Open(dir)
	if err == nil && ds.Manifest.Digest() != digest {
		err = errors.New("its digest is not the acknowledged one")
	}
	if err != nil {
		return &quarry.Error{Op: "rl", Kind: quarry.KindCorrupt, Subject: dir, Msg: "an acknowledged batch changed on disk", Err: err,
			Hint: "remove the folder " + filepath.Dir(filepath.Dir(dir)) + " to run the RL stage anew"}
	}
	return nil
}

func stepNote(r StepRecord) string {
	if r.Means.ORM == nil {
		return fmt.Sprintf("step %d", r.Step)
	}
	return fmt.Sprintf("step %d: %.0f %% right", r.Step, 100**r.Means.ORM)
}

// copyStart puts the parent and its optimiser state where the steps find them.
func (e *Env) copyStart(r RLRun, version int) error {
	to := r.weights(version)
	if err := copyFile(r.Parent, to); err != nil {
		return err
	}
	if r.Fresh {
		return nil
	}
	state := trainer.StatePath(r.Parent)
	if _, err := os.Stat(state); err != nil {
		return &quarry.Error{Op: "rl", Kind: quarry.KindCorrupt, Subject: state, Msg: "the optimiser's state of the weights to go on from is missing", Err: err,
			Hint: "remove the folder " + filepath.Dir(filepath.Dir(state)) + " to run the RL stage anew"}
	}
	return copyFile(state, trainer.StatePath(to))
}

// runner plays the coordinator's assignments.
type runner struct {
	env         *Env
	engine      *Engine
	questions   map[string]*quarry.Question
	temperature float64
}

// RunEpisode implements rollout.Runner.
func (r *runner) RunEpisode(ctx context.Context, a rollout.Assignment) (*quarry.Episode, error) {
	if r.engine == nil { // only to be drained: all batches are acknowledged
		return nil, &quarry.Error{Op: "rollout", Kind: quarry.KindCanceled, Subject: a.EpisodeID, Msg: "the run has all its batches"}
	}
	q := r.questions[a.Task.QuestionID]
	if q == nil {
		return nil, &quarry.Error{Op: "rollout", Kind: quarry.KindNotFound, Subject: "question " + a.Task.QuestionID, Msg: "not among the questions of this run"}
	}
	return r.env.Play(ctx, r.engine, Attempt{Task: a.Task, Question: q, EpisodeID: a.EpisodeID, GroupID: a.GroupID, Sample: a.Sample, Seed: a.Seed, Temperature: r.temperature})
}

// step leases a batch, writes T1, trains, and acknowledges when the checkpoint is durable.
func (e *Env) step(ctx context.Context, r RLRun, live *rollout.Live, m Model, sched *rewards.ScheduleState, version, step int) (StepRecord, error) {
	batch, err := live.Lease(ctx)
	if err != nil {
		return StepRecord{}, err
	}
	schedule := e.schedule()
	phase := schedule.Current(*sched)
	st := newStep(batch, phase.Coefficients, e.Spec.RL.Advantage, e.Spec.Seed)
	rec := st.record(step, version, *sched, batch.Staleness)
	rec.T1 = filepath.Join("t1", fmt.Sprintf("batch-%04d", step))
	if rec.T1Digest, err = e.writeT1(filepath.Join(r.Dir, rec.T1), st, batch, *sched, m); err != nil {
		return rec, err
	}
	s := e.Spec.RL
	rec.Train, err = e.Trainer.RL(ctx, trainer.RLJob{Data: filepath.Join(r.Dir, rec.T1), Parent: r.weights(version), Start: r.Fresh && step == r.FirstStep, Out: r.weights(version + 1), Version: version + 1,
		LearningRate: s.LearningRate, Alpha: s.Alpha, Beta: s.Beta})
	if err != nil {
		return rec, err
	}
	if err := writeLines(filepath.Join(r.Dir, "failed", fmt.Sprintf("batch-%04d.jsonl"+zst, step)), EpisodeSchema, st.failed()); err != nil {
		return rec, err
	}
	next, change := schedule.Observe(*sched, step, rec.Rates)
	rec.PhaseChange, rec.Schedule = change, next
	body, err := json.Marshal(rec)
	if err != nil {
		return rec, &quarry.Error{Op: "rl", Kind: quarry.KindInternal, Subject: batch.ID, Err: err}
	}
	if err := live.Ack(ctx, batch.ID, batch.Token, int32(version+1), body); err != nil {
		return rec, err
	}
	*sched = next
	return rec, nil
}

// writeT1 publishes the batch. A redelivered batch has the same groups and coefficients and gives the same bytes.
func (e *Env) writeT1(dir string, st *step, batch *rollout.Batch, sched rewards.ScheduleState, m Model) (string, error) {
	rows, err := st.rows(batch, e.Spec.RL, sched, m)
	if err != nil {
		return "", err
	}
	if err := writeRows(dir, rows, datasets.Meta{Producer: "quarry rl", License: e.Spec.License, Note: "One leased batch of groups, token by token."}); err != nil {
		return "", err
	}
	ds, err := datasets.Open(dir)
	if err != nil {
		return "", err
	}
	return ds.Manifest.Digest(), nil
}

// fullTasks walks the questions in seeded order, anew each epoch.
func (e *Env) fullTasks(qs []quarry.Question, stream string) func(i int) quarry.Task {
	return func(i int) quarry.Task {
		epoch := i / len(qs)
		perm := rand.New(rand.NewPCG(seedOf(e.Spec.Seed, stream, versionLabel(epoch)), 0)).Perm(len(qs))
		return e.FullTask(&qs[perm[i%len(qs)]])
	}
}

func byID(qs []quarry.Question) map[string]*quarry.Question {
	m := map[string]*quarry.Question{}
	for i := range qs {
		m[qs[i].ID] = &qs[i]
	}
	return m
}
