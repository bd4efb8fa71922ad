package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/jobs"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/rollout"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/synth/audit"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

// schema is the version of one format that outlives a run.
type schema struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// schemas lists what this program writes; a file of a newer version is refused. A test holds the datasets' against
// what datasets writes.
func schemas() []schema {
	return []schema{
		{"spec", configs.APIVersion},
		{"run", report.Schema},
		{"stage", strconv.Itoa(jobs.StageSchema)},
		{"journal", fmt.Sprintf("%s/%d", rollout.SchemaName, rollout.SchemaVersion)},
		{"weights", strconv.Itoa(pocket.WeightsSchema)},
		{"optimiser", strconv.Itoa(trainer.StateSchema)},
		{"graph", store.Schema},
		{"index", strconv.Itoa(bm25.Version)},
		{"episodes", strconv.Itoa(loop.EpisodeSchema)},
		{"tasks", strconv.Itoa(loop.TaskSchema)},
		{"ledger", strconv.Itoa(loop.LedgerSchema)},
		{"synthesis", pipeline.Schema},
		{"audit", audit.Schema},
		{"dataset", "quarry.dataset/1"},
		{"Q1", "2"},
		{"S1", "1"},
		{"D1", "1"},
		{"R1", "1"},
		{"T1", "1"},
	}
}

type versionDoc struct {
	Version string   `json:"version"`
	Go      string   `json:"go"`
	Commit  string   `json:"commit,omitempty"` // absent when built outside a clone or without VCS stamping
	Dirty   bool     `json:"dirty,omitempty"`  // built from a changed working tree
	Schemas []schema `json:"schemas"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program and of the formats it writes",
		Example: "  quarry version\n  quarry version -o json",
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			doc := versionDoc{Version: a.Version, Go: runtime.Version(), Schemas: schemas()}
			if info, ok := debug.ReadBuildInfo(); ok {
				doc.Commit, doc.Dirty = setting(info, "vcs.revision"), setting(info, "vcs.modified") == "true"
			}
			if a.JSON() {
				return writeJSON(a.Stdout, doc)
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "quarry\t%s\ngo\t%s\n", doc.Version, doc.Go)
			if doc.Commit != "" {
				fmt.Fprintf(w, "commit\t%s\n", doc.Commit)
			}
			for _, s := range doc.Schemas {
				fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Version)
			}
			return outputError(w.Flush())
		},
	}
}

func setting(info *debug.BuildInfo, key string) string {
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}
