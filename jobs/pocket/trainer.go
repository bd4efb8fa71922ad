// Package pocket is the embedded trainer: it turns a dataset directory and a weights file into a new weights file, for
// the SFT, DPO and RL objectives. It reads nothing else. The candidates of every turn are rebuilt from the token ids
// with the engine's own enumerator, so the probabilities it trains are the ones the engine samples from.
//
// Sums over rows run on all processors in a fixed order: equal inputs give equal bytes on any number of them.
package pocket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	engine "github.com/quarry-rl/quarry/rollout/pocket"
)

// Logic is the version of the arithmetic: bump it when equal inputs would give other weights. It belongs into
// jobs.Stage.Logic of every stage that trains, and into the record beside RL weights.
const Logic = 1

// Enumerator lists the continuations the engine offers after a context that ends where an assistant turn begins. It is
// called from several goroutines.
type Enumerator interface {
	Enumerate(ids []int32, guesses []string) (*engine.Choices, error)
}

// Trainer trains policies of one feature set. It is safe for concurrent use by jobs with different output paths.
type Trainer struct {
	enum Enumerator
	set  engine.FeatureSet
}

// New makes a trainer from the engine's enumerator and feature set. Weights of another feature set are refused.
func New(enum Enumerator, set engine.FeatureSet) *Trainer { return &Trainer{enum: enum, set: set} }

// parent loads the weights a job starts from, with the digest of the file in the form Weights.Save returns.
func (t *Trainer) parent(path string) (*engine.Weights, string, error) {
	w, err := engine.LoadWeights(path, t.set)
	if err != nil {
		return nil, "", err
	}
	digest, err := fileDigest(path)
	return w, digest, err
}

// child is the policy a job will write: its parent's weights under a new version.
func child(parent *engine.Weights, digest string, version int) *engine.Weights {
	return &engine.Weights{Schema: engine.WeightsSchema, FeatureSet: parent.FeatureSet, Version: version, Parent: digest,
		Guesses: parent.Guesses, W: append([]float64(nil), parent.W...)}
}

func fileDigest(path string) (string, error) {
	data, err := atomicfile.ReadFile("train", path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// open reads the rows of a dataset, checked against the manifest and by the rules of their kind, and the digest of their
// content.
func open[T datasets.Row](dir string) (rows []T, digest string, err error) {
	ds, err := datasets.Open(dir)
	if err != nil {
		return nil, "", err
	}
	if rows, err = datasets.Read[T](ds); err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		if err := datasets.Validate(row); err != nil {
			return nil, "", &quarry.Error{Op: "train", Kind: quarry.KindOf(err), Subject: dir, Err: err}
		}
	}
	return rows, ds.Manifest.Digest(), nil
}

// at names the row an error belongs to; kind and hint stay those of the cause.
func at(data, id string, err error) error {
	return &quarry.Error{Op: "train", Kind: quarry.KindOf(err), Subject: fmt.Sprintf("%s row %s", data, id), Err: err}
}

// interrupted is the error for a context that is done.
func interrupted(ctx context.Context) error {
	return &quarry.Error{Op: "train", Kind: quarry.KindCanceled, Msg: "interrupted, no weights written",
		Hint: "run the same command again", Err: context.Cause(ctx)}
}

// setting is a number of a job with what it must be.
type setting struct {
	name string
	v    float64
	ok   bool
	want string
}

// check returns the first setting that is out of range; NaN and infinities always are.
func check(settings ...setting) error {
	for _, s := range settings {
		if !s.ok || math.IsNaN(s.v) || math.IsInf(s.v, 0) {
			return &quarry.Error{Op: "train", Kind: quarry.KindInvalid, Subject: s.name,
				Msg: fmt.Sprintf("%v is out of range, expected %s", s.v, s.want), Hint: "change it in the spec"}
		}
	}
	return nil
}

func norm(g []float64) float64 {
	sum := 0.0
	for _, x := range g {
		sum += x * x
	}
	return math.Sqrt(sum)
}
