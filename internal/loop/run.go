package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/jobs"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/world"
)

// StageProgress draws the line of the stage that runs.
type StageProgress interface {
	Progress
	Stage(name string)
	Done(note string)
	Fail(note string)
}

// Options of a run.
type Options struct {
	Spec     configs.Run
	Data     string // the spec's data folder, resolved
	StateDir string
	Endpoint string
	Version  string // of the program
	Command  string // what the user typed after "quarry", for the hints
	Log      *slog.Logger
	Progress StageProgress
}

// logic versions of the stages: bump one when its code changes meaning.
const (
	logicKG     = 3
	logicSynth  = 3
	logicFilter = 2
	logicSFT    = 1
	logicDPO    = 1
	logicRL     = 2
	logicPivot  = 2
	logicEval   = 1
)

// run is a run under way: the records and facts of the stages that are done.
type run struct {
	o    Options
	dir  *jobs.RunDir
	env  *Env
	recs []jobs.Record
	took map[string]float64 // seconds this command spent

	kg     kg.Stats
	synth  SynthFacts
	filter FilterFacts
	sft    SFTFacts
	dpo    DPOFacts
	rl     RLFacts
	pivot  PivotFacts
	eval   EvalFacts
}

// Run executes the stages of a spec, reusing those that are cached, and writes report.json and report.html. The last
// stage, report, measures held-out success; the document itself is cheap and written anew each time.
func Run(ctx context.Context, o Options) (*report.Doc, error) {
	started := time.Now()
	path := filepath.Join(o.StateDir, "runs", o.Spec.Name)
	dir, err := jobs.Open(ctx, path, o.Log)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	r := &run{o: o, dir: dir, env: NewEnv(o.Spec, nil, o.Endpoint, o.Log, o.Progress), took: map[string]float64{}}
	served, err := r.env.Served(ctx)
	if err != nil {
		return nil, err
	}
	r.env.Model = &served
	for _, stage := range []func(context.Context) error{r.runKG, r.runSynth, r.runFilter, r.runSFT, r.runDPO, r.runRL, r.runPivot, r.runEval} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
	}
	doc, err := r.document(started)
	if err != nil {
		return nil, err
	}
	if err := r.writeReport(doc); err != nil {
		return nil, err
	}
	if _, err := dir.Prune(keysKept); err != nil { // the run is whole; what stays costs room only
		o.Log.Warn("stages of former keys could not be removed", "reason", err)
	}
	return doc, nil
}

// keysKept is how many keys of each stage outlive a run: its own, and the one before it, so that going back to the
// settings before the last change costs nothing.
const keysKept = 2

func (r *run) record(name string) jobs.Record {
	for _, rec := range r.recs {
		if rec.Name == name {
			return rec
		}
	}
	return jobs.Record{}
}

func (r *run) at(stage string, parts ...string) string {
	return filepath.Join(append([]string{r.record(stage).Dir}, parts...)...)
}

// node is a stage and what decides its result; its inputs are the stages named.
type node struct {
	name      string
	logic     int
	resumable bool
	plays     bool // it asks the engine, so the served model is in its key
	spec      any
	inputs    []string
}

// keyed is what enters the key of every stage beside its part of the spec: what reads, searches and answers.
type keyed struct {
	Spec     any
	English  string
	Graph    string
	Features string
	Passages int
	Model    *Model `json:",omitempty"`
}

func (r *run) stage(n node) jobs.Stage {
	k := keyed{Spec: n.spec, English: english.Version(), Graph: kg.FormatVersion(), Features: pocket.FeatureSetName, Passages: world.Passages}
	if n.plays {
		k.Model = r.env.Model
	}
	s := jobs.Stage{Name: n.name, Logic: n.logic, Spec: k, Seed: r.o.Spec.Seed, Resumable: n.resumable}
	for _, in := range n.inputs {
		s.Inputs = append(s.Inputs, jobs.Input{Name: in, Digest: r.record(in).Digest})
	}
	return s
}

// runStage runs or reuses one stage.
func runStage[F any](ctx context.Context, r *run, n node, facts *F, result func(F) string, work func(ctx context.Context, dir string) (F, []string, error)) error {
	r.o.Progress.Stage(n.name)
	s := r.stage(n)
	s.Run = func(ctx context.Context, dir string) (jobs.Result, error) {
		f, files, err := work(ctx, dir)
		return jobs.Result{Files: files, Facts: f}, err
	}
	began := time.Now()
	rec, err := r.dir.Exec(ctx, s)
	if err != nil {
		r.o.Progress.Fail(err.Error())
		return err
	}
	r.took[n.name] = time.Since(began).Seconds()
	r.recs = append(r.recs, rec)
	if err := json.Unmarshal(rec.Facts, facts); err != nil {
		return &quarry.Error{Op: n.name, Kind: quarry.KindCorrupt, Subject: rec.Dir, Msg: "the stage's facts are not readable", Err: err, Hint: "remove the folder and run again"}
	}
	note := result(*facts)
	if rec.Cached {
		note += " (cached)"
	}
	r.o.Progress.Done(note)
	return nil
}

func (r *run) runKG(ctx context.Context) error {
	digest, err := contentDigest(r.o.Data)
	if err != nil {
		return err
	}
	err = runStage(ctx, r, node{name: "kg", logic: logicKG, spec: map[string]string{"source": digest}}, &r.kg, kgNote,
		func(ctx context.Context, dir string) (kg.Stats, []string, error) {
			stats, err := BuildGraph(ctx, r.o.Data, dir)
			return stats, kg.Files(), err
		})
	if err != nil {
		return err
	}
	r.env.Graph, err = kg.Open(r.at("kg"))
	return err
}

func (r *run) runSynth(ctx context.Context) error {
	spec := struct {
		Synth   configs.Synth
		License string
	}{r.o.Spec.Synth, r.o.Spec.License}
	return runStage(ctx, r, node{name: "synth", logic: logicSynth, spec: spec, inputs: []string{"kg"}}, &r.synth, synthNote,
		func(ctx context.Context, dir string) (SynthFacts, []string, error) {
			f, err := r.env.Synthesise(ctx, dir)
			return f, []string{QuestionsFile, LedgerFile, "q1"}, err
		})
}

func (r *run) runFilter(ctx context.Context) error {
	fit := r.o.Spec.SFT
	fit.Episodes = 0 // the skill levels are fitted on all of the tier part
	spec := struct {
		Filter configs.Filter
		SFT    configs.SFT
		Budget configs.Budget
		Min    [2]int
		Logic  int
	}{r.o.Spec.Filter, fit, r.o.Spec.Budget, [2]int{r.o.Spec.Synth.MinTrain, r.o.Spec.Synth.MinHeldout}, trainer.Logic}
	return runStage(ctx, r, node{name: "filter", logic: logicFilter, plays: true, spec: spec, inputs: []string{"kg", "synth"}}, &r.filter, filterNote,
		func(ctx context.Context, dir string) (FilterFacts, []string, error) {
			f, err := r.env.Filter(ctx, r.at("synth", QuestionsFile), dir)
			return f, []string{KeptFile, HeldoutFile, FilterLedgerFile, "r1"}, err
		})
}

func (r *run) runSFT(ctx context.Context) error {
	spec := struct {
		SFT    configs.SFT
		Budget configs.Budget
		Logic  int
	}{r.o.Spec.SFT, r.o.Spec.Budget, trainer.Logic}
	return runStage(ctx, r, node{name: "sft", logic: logicSFT, spec: spec, inputs: []string{"kg", "filter"}}, &r.sft, sftNote,
		func(ctx context.Context, dir string) (SFTFacts, []string, error) {
			f, err := r.env.SFT(ctx, r.at("filter", KeptFile), dir)
			return f, []string{"s1", "base.json", WeightsFile}, err
		})
}

func (r *run) runDPO(ctx context.Context) error {
	spec := struct {
		DPO    configs.DPO
		Budget configs.Budget
		Logic  int
	}{r.o.Spec.DPO, r.o.Spec.Budget, trainer.Logic}
	return runStage(ctx, r, node{name: "dpo", logic: logicDPO, plays: true, spec: spec, inputs: []string{"kg", "filter", "sft"}}, &r.dpo, dpoNote,
		func(ctx context.Context, dir string) (DPOFacts, []string, error) {
			f, err := r.env.DPO(ctx, r.at("filter", KeptFile), r.at("sft", WeightsFile), dir)
			files := []string{WeightsFile}
			if f.Skipped == "" {
				files = append(files, "d1")
			}
			return f, files, err
		})
}

// rlSpec is what enters the key of an RL phase.
type rlSpec struct {
	RL       configs.RL
	Pivot    *configs.Pivot
	Budget   configs.Budget
	Schedule configs.Schedule
	Logic    int
}

func (r *run) runRL(ctx context.Context) error {
	s := r.o.Spec
	spec := rlSpec{RL: s.RL, Budget: s.Budget, Schedule: s.Schedule, Logic: trainer.Logic}
	return runStage(ctx, r, node{name: "rl", logic: logicRL, resumable: true, plays: true, spec: spec, inputs: []string{"kg", "filter", "dpo"}}, &r.rl, rlNote,
		func(ctx context.Context, dir string) (RLFacts, []string, error) {
			qs, err := ReadQuestions(r.at("filter", KeptFile), "")
			if err != nil {
				return RLFacts{}, nil, err
			}
			full := r.env.fullTasks(qs, "rl")
			f, err := r.env.RL(ctx, RLRun{Name: "rl", Dir: dir, Parent: r.at("dpo", WeightsFile), Fresh: true, Steps: s.RL.Steps, FirstStep: 1, Questions: byID(qs),
				TaskAt: func(i int) (quarry.Task, error) { return full(i), nil }})
			return f, []string{"weights", "t1", "failed"}, err
		})
}

func (r *run) runPivot(ctx context.Context) error {
	s := r.o.Spec
	spec := rlSpec{RL: s.RL, Pivot: &s.Pivot, Budget: s.Budget, Schedule: s.Schedule, Logic: trainer.Logic}
	return runStage(ctx, r, node{name: "pivot", logic: logicPivot, resumable: true, plays: true, spec: spec, inputs: []string{"kg", "filter", "rl"}}, &r.pivot, pivotNote,
		func(ctx context.Context, dir string) (PivotFacts, []string, error) {
			f, err := r.env.Pivot(ctx, r.record("rl").Dir, r.rl, r.at("filter", KeptFile), dir)
			files := []string{TasksFile}
			if s.Pivot.Steps > 0 {
				files = append(files, "weights", "t1")
			}
			return f, files, err
		})
}

func (r *run) runEval(ctx context.Context) error {
	spec := struct {
		Eval   configs.Eval
		Budget configs.Budget
	}{r.o.Spec.Eval, r.o.Spec.Budget}
	return runStage(ctx, r, node{name: "report", logic: logicEval, plays: true, spec: spec, inputs: []string{"kg", "filter", "sft", "dpo", "rl", "pivot"}}, &r.eval, evalNote,
		func(ctx context.Context, dir string) (EvalFacts, []string, error) {
			cks := checkpoints(r.record("sft").Dir, r.record("dpo").Dir, r.dpo, r.o.Spec.Eval.Every,
				rlPhase{r.record("rl").Dir, r.rl}, rlPhase{r.record("pivot").Dir, r.pivot.RL})
			f, err := r.env.Eval(ctx, r.at("filter", HeldoutFile), cks)
			if err == nil {
				err = writeJSON(filepath.Join(dir, "eval.json"), f)
			}
			return f, []string{"eval.json"}, err
		})
}

func kgNote(s kg.Stats) string {
	return fmt.Sprintf("%d documents, %d statements, %d passages", s.Documents, s.Statements, s.Passages)
}

func synthNote(f SynthFacts) string {
	cross := 0
	for _, n := range f.Cross {
		cross += n
	}
	return fmt.Sprintf("%d walks -> %d questions, %d across documents", f.Walks, f.Accepted, cross)
}

func filterNote(f FilterFacts) string {
	return fmt.Sprintf("%d of %d train questions kept, %d held out", f.Kept, f.In, f.Heldout)
}

func sftNote(f SFTFacts) string {
	return fmt.Sprintf("%d expert episodes, loss %.2f -> %.2f", f.Used, f.Train.LossFirst, f.Train.LossLast)
}

func dpoNote(f DPOFacts) string {
	if f.Skipped != "" {
		return "skipped: " + f.Skipped
	}
	return fmt.Sprintf("%d pairs, margin %.2f", f.Pairs, f.Train.MarginLast)
}

func rlNote(f RLFacts) string {
	return fmt.Sprintf("%d steps, weights version %d", len(f.Steps), f.Version)
}

func pivotNote(f PivotFacts) string {
	return fmt.Sprintf("%d of %d failures located, %d tasks, %d steps", f.Located, f.Failed, f.Tasks, len(f.RL.Steps))
}

func evalNote(f EvalFacts) string {
	if len(f.Results) == 0 {
		return "nothing measured"
	}
	a, b := f.Results[0], f.Results[len(f.Results)-1]
	return fmt.Sprintf("held-out success %.1f %% -> %.1f %%", 100*a.Success, 100*b.Success)
}
