package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// Config is what the coordinator of one run is asked to do. It stands in the journal; a restart may change
// MaxConcurrent, EpisodeTimeout and the Stop settings only.
type Config struct {
	RunID        string `json:"run_id"`        // prefix of group, episode and batch ids; may be empty
	Seed         uint64 `json:"seed"`          // of the run; every episode's seed is derived from it
	StartVersion int32  `json:"start_version"` // weight version the engine serves at the start

	GroupSize      int `json:"group_size"`       // episodes per task (MindDR report: 8)
	MinValid       int `json:"min_valid"`        // finished episodes a group needs (MindDR report: 2)
	GroupsPerBatch int `json:"groups_per_batch"` // groups a trainer step consumes
	TotalBatches   int `json:"total_batches"`    // batches after which the run is complete; 0 means no end

	MaxConcurrent    int   `json:"max_concurrent"`     // episodes in flight at once
	MaxRetries       int   `json:"max_retries"`        // further attempts of an episode that failed for no fault of the policy
	MaxStaleness     int32 `json:"max_staleness"`      // trainer version at ship - oldest version of a trained token
	MaxVersionSpread int32 `json:"max_version_spread"` // newest - oldest version of the trained tokens of a group
	Eta              int   `json:"eta"`                // batches admitted ahead of the published version (AReaL's form); 0 is synchronous

	EpisodeTimeout time.Duration `json:"episode_timeout"` // deadline of one attempt

	StopAfterFailed    int `json:"stop_after_failed"`    // episodes given up in a row, none finished between, that stop the run
	StopAfterDiscarded int `json:"stop_after_discarded"` // groups discarded in a row, no batch shipped between, that stop it
}

// DefaultConfig returns the defaults for batches of the given number of groups.
func DefaultConfig(groupsPerBatch int) Config {
	return Config{
		GroupSize: 8, MinValid: 2, GroupsPerBatch: groupsPerBatch,
		MaxConcurrent: 64, MaxRetries: 2, MaxStaleness: 4, MaxVersionSpread: 3, Eta: 1,
		EpisodeTimeout:     10 * time.Minute,
		StopAfterFailed:    8 * groupsPerBatch,  // a whole batch of episodes
		StopAfterDiscarded: 10 * groupsPerBatch, // ten batches of groups
	}
}

// Validate says which setting is out of its range (KindInvalid, Subject is its name).
func (c Config) Validate() error {
	for _, r := range []struct {
		name      string
		value     int64
		low, high int64
	}{
		{"start_version", int64(c.StartVersion), 0, 1 << 30},
		{"group_size", int64(c.GroupSize), 1, 1 << 16},
		{"min_valid", int64(c.MinValid), 1, int64(c.GroupSize)},
		{"groups_per_batch", int64(c.GroupsPerBatch), 1, 1 << 20},
		{"total_batches", int64(c.TotalBatches), 0, 1 << 30},
		{"max_concurrent", int64(c.MaxConcurrent), 1, 1 << 20},
		{"max_retries", int64(c.MaxRetries), 0, 1 << 10},
		{"max_staleness", int64(c.MaxStaleness), 0, 1 << 16},
		{"max_version_spread", int64(c.MaxVersionSpread), 0, 1 << 16},
		{"eta", int64(c.Eta), 0, int64(c.MaxStaleness)},
		{"episode_timeout", int64(c.EpisodeTimeout), 1, 1 << 62},
		{"stop_after_failed", int64(c.StopAfterFailed), 1, 1 << 40},
		{"stop_after_discarded", int64(c.StopAfterDiscarded), 1, 1 << 40},
	} {
		if r.value < r.low || r.value > r.high {
			return &quarry.Error{Op: "rollout", Kind: quarry.KindInvalid, Subject: r.name,
				Msg:  fmt.Sprintf("is %d, expected %d to %d", r.value, r.low, r.high),
				Hint: "change " + r.name + " in the spec"}
		}
	}
	return nil
}

// resumable says whether a run begun with c may go on with next.
func (c Config) resumable(next Config) bool {
	c.MaxConcurrent, c.EpisodeTimeout = next.MaxConcurrent, next.EpisodeTimeout
	c.StopAfterFailed, c.StopAfterDiscarded = next.StopAfterFailed, next.StopAfterDiscarded
	return c == next
}

func (c Config) id(letter string, n int) string {
	id := fmt.Sprintf("%s%06d", letter, n)
	if c.RunID == "" {
		return id
	}
	return c.RunID + "-" + id
}

// GroupID names the group of the task with the given index.
func (c Config) GroupID(index int) string { return c.id("g", index) }

// EpisodeID names an episode; its attempts share the name.
func (c Config) EpisodeID(index, sample int) string {
	return fmt.Sprintf("%s-s%d", c.GroupID(index), sample)
}

// BatchID names a batch.
func (c Config) BatchID(index int) string { return c.id("b", index) }

// EpisodeSeed derives an episode's seed from the run's seed, the task index and the sample alone, so that neither
// retries, nor concurrency, nor a restart change what is sampled under given weights.
func (c Config) EpisodeSeed(index, sample int) uint64 {
	buf := []byte("quarry/rollout/episode/1")
	buf = binary.BigEndian.AppendUint64(buf, c.Seed)
	buf = binary.BigEndian.AppendUint64(buf, uint64(index))
	buf = binary.BigEndian.AppendUint64(buf, uint64(sample))
	sum := sha256.Sum256(buf)
	return binary.BigEndian.Uint64(sum[:])
}
