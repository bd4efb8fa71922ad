// Package jobs runs a pipeline as stages. A stage is keyed by the digest of everything that decides its output: name,
// logic version, its part of the spec, seed and the digests of its inputs. A stage whose key and files are already
// there is not run again, so running the same command twice, or after a kill, continues where it stopped.
//
// The backends that turn a dataset into weights are subpackages: jobs/pocket is the embedded one.
package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Input is what a stage reads from another: a name of its own choice and the other stage's Record.Digest.
type Input struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Stage is a node of the run's graph.
type Stage struct {
	Name      string  // lower-case letters, digits, "-" and "_"; part of the directory's name
	Logic     int     // bump when the meaning of Run's code changes, so that old results are not reused
	Spec      any     // its part of the spec; anything that marshals to JSON
	Seed      uint64  // of the run
	Inputs    []Input // in any order; names are unique
	Resumable bool    // Run continues a directory that an interrupted Run left; otherwise it starts from an empty one

	// Run fills dir. It must return soon after ctx is done.
	Run func(ctx context.Context, dir string) (Result, error)
}

// Result is what a Run produced.
type Result struct {
	Files []string // relative to the stage's directory; a directory stands for every file below it
	Facts any      // marshalled into stage.json, for later stages and reports; nil for none. No times: they are in the digest
}

// Record is a finished stage.
type Record struct {
	Name    string
	Key     string // hex sha256, see Stage.Key
	Digest  string // hex sha256 over the result's files (path and content) and facts: what downstream stages name as input
	Seconds float64
	Cached  bool // true when this Exec did not run it; Seconds is then what the run had cost
	Dir     string
	Facts   json.RawMessage
}

// Key is the hex sha256 over name, logic version, spec, seed and inputs. The spec is hashed as canonical JSON (keys
// sorted at every level), the inputs sorted by name. A spec that does not marshal, a bad name and a repeated input
// are KindInvalid.
func (s *Stage) Key() (string, error) {
	invalid := func(msg string, err error) error {
		return &quarry.Error{Op: "stage", Kind: quarry.KindInvalid, Subject: s.Name, Msg: msg, Err: err}
	}
	if !validName(s.Name) {
		return "", invalid(`a stage's name is lower-case letters, digits, "-" and "_"`, nil)
	}
	spec, err := canonical(s.Spec)
	if err != nil {
		return "", invalid("the spec does not marshal to JSON", err)
	}
	inputs := slices.Clone(s.Inputs)
	slices.SortFunc(inputs, func(a, b Input) int { return strings.Compare(a.Name, b.Name) })
	for i, in := range inputs {
		if in.Name == "" || in.Digest == "" {
			return "", invalid("an input needs a name and a digest", nil)
		}
		if i > 0 && inputs[i-1].Name == in.Name {
			return "", invalid("input "+in.Name+" is named twice", nil)
		}
	}
	doc, err := json.Marshal(struct {
		Name   string          `json:"name"`
		Logic  int             `json:"logic"`
		Spec   json.RawMessage `json:"spec"`
		Seed   uint64          `json:"seed"`
		Inputs []Input         `json:"inputs"`
	}{s.Name, s.Logic, spec, s.Seed, append([]Input{}, inputs...)})
	if err != nil {
		return "", invalid("the key does not marshal to JSON", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// canonical marshals v with the keys of every object sorted and numbers as they were written, so that the order of a
// struct's fields does not matter.
func canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

func validName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '-' && r != '_') {
			return false
		}
	}
	return s != ""
}
