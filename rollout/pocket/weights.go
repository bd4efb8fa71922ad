package pocket

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// WeightsSchema is the version of the weights file this package writes, and the newest it reads.
const WeightsSchema = 1

// maxWeight is far beyond any trained weight; a larger one comes from a diverged trainer and would cost scores their digits.
const maxWeight = 1e9

// FeatureSet names the features of a policy; the index in Names is the feature id.
type FeatureSet struct {
	Name  string
	Names []string
}

// Weights is a policy: one weight per feature, and the closed-book guesses it may offer.
type Weights struct {
	Schema     int
	FeatureSet string
	Version    int
	Parent     string    // digest of the weights these were trained from, "" for untrained ones
	Guesses    []string  // closed-book answers, commonest first
	W          []float64 // by feature id
}

// weightsFile is the JSON of docs/formats/weights.md. Weights that are 0 are not written.
type weightsFile struct {
	Schema     int                    `json:"schema"`
	FeatureSet string                 `json:"feature_set"`
	Version    int                    `json:"version"`
	Parent     string                 `json:"parent"`
	Guesses    []string               `json:"guesses"`
	Weights    map[string]json.Number `json:"weights"`
}

// NewWeights is the untrained policy of a feature set: version 0, every weight 0, so all candidates are equally likely.
func NewWeights(set FeatureSet) *Weights {
	return &Weights{Schema: WeightsSchema, FeatureSet: set.Name, W: make([]float64, len(set.Names))}
}

// LoadWeights reads a weights file for a feature set. Errors: KindNotFound for a missing file, KindCorrupt for one that
// is no weights file, KindInvalid for a newer schema, another feature set, an unknown feature or a weight that is not
// a finite number.
func LoadWeights(path string, set FeatureSet) (*Weights, error) {
	fail := func(kind quarry.Kind, hint, format string, args ...any) error {
		return &quarry.Error{Op: "load weights", Kind: kind, Subject: path, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	data, err := atomicfile.ReadFile("load weights", path)
	if quarry.KindOf(err) == quarry.KindNotFound {
		return nil, fail(quarry.KindNotFound, "train weights first or check the path", "no such weights file")
	}
	if err != nil {
		return nil, err
	}
	// The schema is read alone first: a newer file may hold fields this version does not know.
	var head struct {
		Schema int `json:"schema"`
	}
	const again = "the file is torn or not a weights file: train it again"
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fail(quarry.KindCorrupt, again, "not a weights file: %v", err)
	}
	if head.Schema > WeightsSchema {
		return nil, fail(quarry.KindInvalid, "use a newer quarry", "weights schema %d is newer than %d, the newest this program reads",
			head.Schema, WeightsSchema)
	}
	if head.Schema < 1 {
		return nil, fail(quarry.KindCorrupt, again, "schema is %d, expected 1 to %d", head.Schema, WeightsSchema)
	}
	var f weightsFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fail(quarry.KindCorrupt, again, "not a weights file: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fail(quarry.KindCorrupt, again, "data after the JSON document")
	}
	if f.FeatureSet != set.Name {
		return nil, fail(quarry.KindInvalid, "train new weights, or use the quarry that wrote these",
			"weights are for feature set %q, this engine has %q", f.FeatureSet, set.Name)
	}
	if f.Version < 0 {
		return nil, fail(quarry.KindCorrupt, again, "version is %d, expected 0 or more", f.Version)
	}
	w := &Weights{Schema: f.Schema, FeatureSet: f.FeatureSet, Version: f.Version, Parent: f.Parent, Guesses: f.Guesses,
		W: make([]float64, len(set.Names))}
	ids := make(map[string]int, len(set.Names))
	for i, name := range set.Names {
		ids[name] = i
	}
	for name, text := range f.Weights {
		id, ok := ids[name]
		if !ok {
			return nil, fail(quarry.KindInvalid, "train new weights, or use the quarry that wrote these",
				"feature %q is not in feature set %q", name, set.Name)
		}
		v, err := strconv.ParseFloat(text.String(), 64)
		if err != nil || !usable(v) {
			return nil, fail(quarry.KindInvalid, again, "weight of %q is %q, expected a finite number within +-%g", name, text, maxWeight)
		}
		w.W[id] = v
	}
	return w, nil
}

// usable is false for NaN too.
func usable(v float64) bool { return math.Abs(v) <= maxWeight }

// Save writes the weights atomically and returns the digest of the file, "sha256:" and 64 hex digits. Equal weights
// give equal bytes. A weight that is not finite or does not fit the set is refused and nothing is written.
func (w *Weights) Save(path string, set FeatureSet) (digest string, err error) {
	invalid := func(format string, args ...any) error {
		return &quarry.Error{Op: "save weights", Kind: quarry.KindInvalid, Subject: path, Msg: fmt.Sprintf(format, args...),
			Hint: "lower the learning rate if a training step produced these weights"}
	}
	if w.FeatureSet != set.Name || len(w.W) != len(set.Names) {
		return "", invalid("%d weights of feature set %q do not fit %q with %d features",
			len(w.W), w.FeatureSet, set.Name, len(set.Names))
	}
	if w.Version < 0 {
		return "", invalid("version is %d, expected 0 or more", w.Version)
	}
	f := weightsFile{Schema: WeightsSchema, FeatureSet: w.FeatureSet, Version: w.Version, Parent: w.Parent,
		Guesses: w.Guesses, Weights: map[string]json.Number{}}
	if f.Guesses == nil {
		f.Guesses = []string{}
	}
	for i, guess := range w.Guesses {
		if !utf8.ValidString(guess) {
			return "", invalid("guess %d %q is not valid UTF-8", i, guess)
		}
	}
	for i, v := range w.W {
		if !usable(v) {
			return "", invalid("weight of %q is %v, expected a finite number within +-%g", set.Names[i], v, maxWeight)
		}
		if v != 0 {
			f.Weights[set.Names[i]] = json.Number(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(f); err != nil {
		return "", &quarry.Error{Op: "save weights", Kind: quarry.KindInternal, Subject: path, Err: err}
	}
	if err := atomicfile.WriteFile(path, buf.Bytes()); err != nil {
		return "", &quarry.Error{Op: "save weights", Kind: quarry.KindInvalid, Subject: path, Err: err,
			Hint: "check that the folder exists, is writable and has space"}
	}
	sum := sha256.Sum256(buf.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
