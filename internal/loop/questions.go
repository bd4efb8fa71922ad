package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/rollout/world"
	"github.com/quarry-rl/quarry/synth"
)

// The files of a synth stage.
const (
	QuestionsFile = "questions.jsonl"
	LedgerFile    = "ledger.jsonl"
)

// SynthFacts is what a synth stage counts.
type SynthFacts struct {
	Walks    int                  `json:"walks"`
	Accepted int                  `json:"accepted"`
	Rejected map[string]int       `json:"rejected"`
	BySplit  map[quarry.Split]int `json:"by_split"`
	Cross    map[quarry.Split]int `json:"cross_document"`
	ByShape  map[string]int       `json:"by_shape"`

	PathAlone int `json:"unique_by_path_alone"` // questions whose conditions are not needed for a single answer
	Elsewhere int `json:"evidence_elsewhere"`   // questions with a condition whose evidence lies in another part
}

func (e *Env) synthOptions() (synth.Options, error) {
	s := e.Spec.Synth
	o := synth.Options{Seed: e.Spec.Seed, License: e.Spec.License, Walks: s.Walks, CrossBias: s.CrossBias, K: world.Passages, CertTop: s.CertTop, MaxAlone: s.MaxAlone,
		MaxFanout: s.MaxFanout, HubDocs: s.HubDocs, PerAnswer: s.PerAnswer, PerAnchor: s.PerAnchor, CrossShare: s.CrossShare, Concurrency: e.Spec.Concurrency,
		SplitShares: map[quarry.Split]float64{quarry.SplitTrain: s.Split.Train, quarry.SplitTier: s.Split.Tier, quarry.SplitHeldout: s.Split.Heldout},
		Limits:      map[quarry.Split]int{quarry.SplitTrain: s.Train, quarry.SplitTier: s.Tier, quarry.SplitHeldout: s.Heldout}}
	for _, text := range s.Shapes {
		sh, err := synth.ParseShape(text)
		if err != nil {
			return o, err
		}
		o.Shapes = append(o.Shapes, sh)
	}
	return o, nil
}

// Synthesise writes questions, ledger and the Q1 dataset to out.
func (e *Env) Synthesise(ctx context.Context, out string) (SynthFacts, error) {
	o, err := e.synthOptions()
	if err != nil {
		return SynthFacts{}, err
	}
	res, err := synth.Run(ctx, e.Graph, o)
	if err != nil {
		return SynthFacts{}, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return SynthFacts{}, atomicfile.Classify("synth", out, err)
	}
	f := SynthFacts{BySplit: map[quarry.Split]int{}, Cross: map[quarry.Split]int{}, ByShape: map[string]int{}}
	f.Walks, f.Accepted, f.Rejected = synth.Funnel(res.Ledger)
	for i := range res.Questions {
		q := &res.Questions[i]
		f.BySplit[q.Split]++
		if len(q.Docs()) > 1 {
			f.Cross[q.Split]++
		}
		f.ByShape[fmt.Sprintf("%d+%d", q.Hops(), len(q.Conditions))]++
		var cert synth.Certificate
		if err := json.Unmarshal(q.Certificate, &cert); err != nil {
			return f, &quarry.Error{Op: "synth", Kind: quarry.KindInternal, Subject: q.ID, Msg: "its certificate is not readable", Err: err}
		}
		if cert.Alone == 1 && len(q.Conditions) > 0 {
			f.PathAlone++
		}
		if slices.ContainsFunc(cert.Parts, func(part quarry.Split) bool { return part != q.Split }) {
			f.Elsewhere++
		}
	}
	if err := writeLines(filepath.Join(out, LedgerFile), LedgerSchema, res.Ledger); err != nil {
		return f, err
	}
	if err := datasets.WriteQuestionsJSONL(filepath.Join(out, QuestionsFile), res.Questions); err != nil {
		return f, err
	}
	return f, WriteQ1(filepath.Join(out, "q1"), res.Questions, e.Spec.License)
}

// WriteQ1 publishes questions as a Q1 dataset in dir, in place of an earlier one.
func WriteQ1(dir string, qs []quarry.Question, license string) error {
	return writeRows(dir, rowsOf(qs, datasets.Q1FromQuestion), datasets.Meta{Producer: "quarry synth", License: license,
		Note: "Questions walked from a knowledge graph, each with its evidence path, formal query and certificate."})
}

func rowsOf[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}

// writeRows publishes a dataset in dir.
func writeRows[T datasets.Row](dir string, rows []T, meta datasets.Meta) error {
	w, err := datasets.NewWriter[T](filepath.Dir(dir), filepath.Base(dir), datasets.Options{Replace: true})
	if err != nil {
		return err
	}
	if err := w.Write(rows...); err != nil {
		return err
	}
	_, err = w.Close(meta)
	return err
}

// ReadQuestions reads a questions file and keeps one part; "" keeps all.
func ReadQuestions(path string, split quarry.Split) ([]quarry.Question, error) {
	qs, err := datasets.ReadQuestionsJSONL(path)
	if err != nil || split == "" {
		return qs, err
	}
	var out []quarry.Question
	for _, q := range qs {
		if q.Split == split {
			out = append(out, q)
		}
	}
	return out, nil
}

// surfaces are the normalised forms an entity may be written in.
func surfaces(g *kg.Graph, id string) map[string]bool {
	m := map[string]bool{}
	n, ok := g.Entity(id)
	if !ok {
		return m
	}
	en := &g.Entities[n]
	m[quarry.Normalize(en.Name)] = true
	for _, a := range en.Aliases {
		if s := quarry.Normalize(a); len(s) >= maxAliasShort {
			m[s] = true
		}
	}
	return m
}
