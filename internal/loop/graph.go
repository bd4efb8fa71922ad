package loop

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
)

// The files of a graph stage beside the graph folder's own.
const (
	StatementsFile = "statements.jsonl"
	StatsFile      = kg.StatsFile
)

// BuildGraph checks the source folder by loading it, copies it to out and adds every statement with its provenance
// (document, sentence span, text hash) and the counts.
func BuildGraph(src, out string) (*kg.Graph, kg.Stats, error) {
	g, err := kg.Load(src)
	if err != nil {
		return nil, kg.Stats{}, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, kg.Stats{}, &quarry.Error{Op: "kg build", Kind: quarry.KindUnavailable, Subject: out, Err: err, Hint: "choose a folder that can be written"}
	}
	for _, name := range kg.Files() {
		data, err := atomicfile.ReadFile("kg build", filepath.Join(src, name))
		if err == nil {
			err = atomicfile.WriteFile(filepath.Join(out, name), data)
		}
		if err != nil {
			return nil, kg.Stats{}, err
		}
	}
	var sts []quarry.Statement
	for i := range g.Edges {
		for _, p := range g.Edges[i].Evidence {
			sts = append(sts, g.Statement(i, p))
		}
	}
	if err := writeLines(filepath.Join(out, StatementsFile), noSchema, sts); err != nil {
		return nil, kg.Stats{}, err
	}
	stats := g.Stats()
	return g, stats, writeJSON(filepath.Join(out, StatsFile), struct {
		Schema int `json:"schema"`
		kg.Stats
	}{kg.Schema, stats})
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return &quarry.Error{Op: "write", Kind: quarry.KindInternal, Subject: path, Err: err}
	}
	return atomicfile.WriteFile(path, append(data, '\n'))
}
