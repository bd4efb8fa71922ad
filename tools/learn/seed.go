package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/report"
)

// seedResult is what the three runs of one seed gave. Shares and success are fractions.
type seedResult struct {
	Seed      uint64        `json:"seed"`
	Error     string        `json:"error,omitempty"` // a run did not end; the fields below are then incomplete
	Eval      []report.Eval `json:"eval"`            // of the true run: base, sft, dpo, rl-2 ...
	Mixed     float64       `json:"mixed_first_step"`
	Masked    float64       `json:"masked_fraction"` // of all trained tokens
	MaskedMax float64       `json:"masked_fraction_max"`
	ORMStep   int           `json:"orm_step"` // first step with an ORM weight of at least one half; 0 when there is none
	Train     int           `json:"train_questions"`
	Heldout   int           `json:"heldout_questions"`
	Cross     float64       `json:"cross_document"` // of both
	Gauge     int           `json:"conservation"`
	CPU       float64       `json:"cpu_seconds"` // of the true run
	Wall      float64       `json:"wall_seconds"`
	Flipped   control       `json:"flipped"`
	Permuted  control       `json:"permuted"`
}

// control is a run with spoiled advantages.
type control struct {
	SFT       report.Eval `json:"sft"`
	Last      report.Eval `json:"last"`
	SameStart bool        `json:"same_start"` // every stage before RL was the true run's, from the cache
	Gauge     int         `json:"conservation"`
	CPU       float64     `json:"cpu_seconds"`
	Wall      float64     `json:"wall_seconds"`
}

func (s *seedResult) last() report.Eval { return s.Eval[len(s.Eval)-1] }

// named finds an evaluation by name; the zero one when there is none, which fails every check.
func named(evals []report.Eval, name string) report.Eval {
	for _, e := range evals {
		if e.Name == name {
			return e
		}
	}
	return report.Eval{}
}

// seed plays the true run and both controls.
func (l *lab) seed(ctx context.Context, base []byte, seed uint64, state string) (seedResult, error) {
	s := seedResult{Seed: seed}
	truth, err := l.play(ctx, base, seed, normal, state)
	if err != nil {
		return s, err
	}
	if err := s.take(truth); err != nil {
		return s, err
	}
	if s.Flipped, err = l.control(ctx, base, seed, flipped, state, truth.doc); err != nil {
		return s, err
	}
	s.Permuted, err = l.control(ctx, base, seed, permuted, state, truth.doc)
	return s, err
}

// take reads the true run.
func (s *seedResult) take(o outcome) error {
	d := o.doc
	if err := complete(d); err != nil {
		return err
	}
	s.Eval, s.Gauge, s.CPU, s.Wall = d.Eval, d.Gauge, o.cpu, o.wall
	s.Mixed = d.RL.Steps[0].MixedShare
	tokens := 0
	for _, st := range d.RL.Steps {
		if s.ORMStep == 0 && st.Coefficients.ORM >= 0.5 {
			s.ORMStep = st.Step
		}
		tokens += st.Tokens
		s.Masked += st.MaskedFraction * float64(st.Tokens)
		s.MaskedMax = max(s.MaskedMax, st.MaskedFraction)
	}
	s.Masked /= float64(max(tokens, 1))
	for _, ds := range d.Datasets {
		if ds.Kind == "R1" { // beside the filter's attempts lie the questions that it kept
			return s.questions(filepath.Dir(ds.Path))
		}
	}
	return errors.New("the document names no R1 dataset")
}

// complete makes sure that base, sft and the last RL step were measured.
func complete(d report.Doc) error {
	last := d.RL.Steps[len(d.RL.Steps)-1].Step
	for _, name := range []string{"base", "sft", fmt.Sprintf("rl-%d", last)} {
		if named(d.Eval, name).N == 0 {
			return fmt.Errorf("%s was not evaluated", name)
		}
	}
	if end := d.Eval[len(d.Eval)-1].Name; end != fmt.Sprintf("rl-%d", last) {
		return fmt.Errorf("the evaluations end with %s, the steps with %d", end, last)
	}
	return nil
}

// questions counts what is trained on and evaluated, and how much of it crosses documents.
func (s *seedResult) questions(dir string) error {
	crossing := 0
	for name, n := range map[string]*int{"kept.jsonl": &s.Train, "heldout.jsonl": &s.Heldout} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		for d := json.NewDecoder(f); ; {
			var q quarry.Question
			if err := d.Decode(&q); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", f.Name(), err)
			}
			*n++
			if len(q.Docs()) > 1 {
				crossing++
			}
		}
	}
	s.Cross = float64(crossing) / float64(max(s.Train+s.Heldout, 1))
	return nil
}

func (l *lab) control(ctx context.Context, base []byte, seed uint64, advantage, state string, truth report.Doc) (control, error) {
	o, err := l.play(ctx, base, seed, advantage, state)
	if err != nil {
		return control{}, err
	}
	if err := complete(o.doc); err != nil {
		return control{}, fmt.Errorf("%s: %w", advantage, err)
	}
	return control{SFT: named(o.doc.Eval, "sft"), Last: o.doc.Eval[len(o.doc.Eval)-1], SameStart: sameStart(truth, o.doc),
		Gauge: o.doc.Gauge, CPU: o.cpu, Wall: o.wall}, nil
}

// sameStart says whether the control took every stage up to dpo from the true run, and RL anew.
func sameStart(truth, control report.Doc) bool {
	if len(truth.Stages) != len(control.Stages) {
		return false
	}
	before, seen := true, false
	for i, c := range control.Stages {
		if c.Name == "rl" {
			before, seen = false, true
			if c.Digest == truth.Stages[i].Digest {
				return false
			}
		}
		if before && (!c.Cached || c.Digest != truth.Stages[i].Digest) {
			return false
		}
	}
	return seen
}
