package pocket

import (
	"encoding/json"
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// StateSchema is the version of the optimiser's state file that this package writes and the newest it reads.
const StateSchema = 1

// StatePath is where RL keeps the optimiser's state that belongs to a weights file: beside it, so that every version
// can be trained on from, in any order.
func StatePath(weights string) string { return weights + ".adam.json" }

// stepState is the state file: which weights it belongs to, the step that made them, and the optimiser after it.
type stepState struct {
	Schema  int      `json:"schema"`
	Weights string   `json:"weights"` // digest of the weights file
	Step    stepKey  `json:"step"`
	Adam    *adam    `json:"adam"`
	Result  RLResult `json:"result"`
}

// stepKey is everything that decides the outcome of a step.
type stepKey struct {
	Logic        int     `json:"logic"`
	FeatureSet   string  `json:"feature_set"`
	Parent       string  `json:"parent"` // digest of the parent weights file, which also fixes its optimiser state
	Batch        string  `json:"batch"`  // digest of the dataset
	Version      int     `json:"version"`
	LearningRate float64 `json:"learning_rate"`
	Alpha        float64 `json:"alpha"`
	Beta         float64 `json:"beta"`
}

// readState reads a state file. Errors: those of atomicfile.ReadFile and of parseState.
func readState(path string) (stepState, error) {
	data, err := atomicfile.ReadFile("read optimiser state", path)
	if err != nil {
		return stepState{}, err
	}
	s, err := parseState(data)
	if err != nil {
		return stepState{}, &quarry.Error{Op: "read optimiser state", Kind: quarry.KindOf(err), Subject: path, Err: err}
	}
	return s, nil
}

// parseState decodes a state file: KindInvalid for a newer schema, KindCorrupt for what is no state.
func parseState(data []byte) (stepState, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err == nil && head.Schema > StateSchema {
		return stepState{}, &quarry.Error{Kind: quarry.KindInvalid, Hint: "use a newer quarry",
			Msg: fmt.Sprintf("schema %d is newer than %d, the newest this program reads", head.Schema, StateSchema)}
	}
	var s stepState
	if err := json.Unmarshal(data, &s); err != nil || s.Schema != StateSchema || s.Adam == nil || len(s.Adam.M) != len(s.Adam.V) || s.Adam.T < 0 {
		return stepState{}, &quarry.Error{Kind: quarry.KindCorrupt, Msg: "not an optimiser state", Err: err,
			Hint: "train the weights beside it again"}
	}
	return s, nil
}

// loadAdam reads the optimiser's state that belongs to the job's parent, whose digest is given. Only where an RL phase
// starts may there be none: elsewhere a new optimiser would give another step than the one that was cut short.
func loadAdam(job RLJob, digest string, n int) (*adam, error) {
	path := StatePath(job.Parent)
	s, err := readState(path)
	if quarry.KindOf(err) == quarry.KindNotFound {
		if job.Start {
			return newAdam(n), nil
		}
		return nil, &quarry.Error{Op: "read optimiser state", Kind: quarry.KindCorrupt, Subject: path,
			Msg:  "the optimiser's state of the weights beside it is missing",
			Hint: fmt.Sprintf("restore it, or train %s again from its own parent; only the first step after SFT or DPO starts without one (--start)", job.Parent)}
	}
	if err != nil {
		return nil, err
	}
	if s.Weights != digest || len(s.Adam.M) != n {
		return nil, &quarry.Error{Op: "read optimiser state", Kind: quarry.KindCorrupt, Subject: path,
			Msg:  fmt.Sprintf("it belongs to weights %.19s, not to %.19s of %d features beside it", s.Weights, digest, n),
			Hint: "train the weights beside it again"}
	}
	return s.Adam, nil
}

// finished returns the recorded result when out was made by exactly this step. Anything else there is made again.
func finished(out string, want stepKey) (RLResult, bool, error) {
	s, err := readState(StatePath(out))
	if quarry.KindOf(err) == quarry.KindInvalid {
		return RLResult{}, false, err
	}
	if err != nil || s.Step != want {
		return RLResult{}, false, nil
	}
	digest, err := fileDigest(out)
	if err != nil || digest != s.Weights {
		return RLResult{}, false, nil
	}
	s.Result.Reused = true
	return s.Result, true, nil
}

func saveState(weights string, s stepState) error {
	data, err := json.Marshal(s)
	if err != nil {
		return &quarry.Error{Op: "write optimiser state", Kind: quarry.KindInternal, Subject: weights, Err: err}
	}
	return atomicfile.WriteFile(StatePath(weights), append(data, '\n'))
}
