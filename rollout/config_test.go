package rollout

import (
	"testing"

	quarry "github.com/quarry-rl/quarry"
)

func TestDefaults(t *testing.T) {
	c := DefaultConfig(4)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.GroupSize != 8 || c.MinValid != 2 || c.MaxStaleness != 4 || c.MaxVersionSpread != 3 || c.MaxRetries != 2 || c.Eta != 1 {
		t.Errorf("%+v", c)
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"group_size":           func(c *Config) { c.GroupSize = 0 },
		"min_valid":            func(c *Config) { c.MinValid = c.GroupSize + 1 },
		"groups_per_batch":     func(c *Config) { c.GroupsPerBatch = 0 },
		"total_batches":        func(c *Config) { c.TotalBatches = -1 },
		"max_concurrent":       func(c *Config) { c.MaxConcurrent = 0 },
		"max_retries":          func(c *Config) { c.MaxRetries = -1 },
		"max_staleness":        func(c *Config) { c.MaxStaleness, c.Eta = -1, 0 },
		"max_version_spread":   func(c *Config) { c.MaxVersionSpread = -1 },
		"eta":                  func(c *Config) { c.Eta = int(c.MaxStaleness) + 1 },
		"episode_timeout":      func(c *Config) { c.EpisodeTimeout = 0 },
		"stop_after_failed":    func(c *Config) { c.StopAfterFailed = 0 },
		"stop_after_discarded": func(c *Config) { c.StopAfterDiscarded = 0 },
		"start_version":        func(c *Config) { c.StartVersion = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := DefaultConfig(4)
			change(&c)
			err := c.Validate()
			e, ok := err.(*quarry.Error)
			if !ok || e.Kind != quarry.KindInvalid || e.Subject != name || e.Hint == "" {
				t.Errorf("%#v", err)
			}
		})
	}
}

// The seeds are part of what makes a run repeatable: the first eight bytes of SHA-256 over the tag and three
// big-endian numbers, computed with Python's hashlib.
func TestEpisodeSeed(t *testing.T) {
	for _, tc := range []struct {
		seed          uint64
		index, sample int
		want          uint64
	}{
		{0, 0, 0, 1780204890955509672},
		{42, 7, 3, 11140269163805518861},
	} {
		if got := (Config{Seed: tc.seed}).EpisodeSeed(tc.index, tc.sample); got != tc.want {
			t.Errorf("%d, %d, %d: %d, want %d", tc.seed, tc.index, tc.sample, got, tc.want)
		}
	}
	seen := map[uint64]bool{}
	for i := range 100 {
		for s := range 8 {
			seen[Config{Seed: 1}.EpisodeSeed(i, s)] = true
		}
	}
	if len(seen) != 800 {
		t.Errorf("%d different seeds of 800", len(seen))
	}
}

func TestIDs(t *testing.T) {
	c := Config{RunID: "rl-7"}
	if got := c.EpisodeID(12, 3) + " " + c.BatchID(0); got != "rl-7-g000012-s3 rl-7-b000000" {
		t.Error(got)
	}
	if got := (Config{}).GroupID(1234567); got != "g1234567" {
		t.Error(got)
	}
}
