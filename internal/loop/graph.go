package loop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
)

// The files of a graph stage beside the graph folder's own.
const (
	StatementsFile = "statements.jsonl"
	StatsFile      = "stats.json"
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
		data, err := os.ReadFile(filepath.Join(src, name))
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
	if err := writeLines(filepath.Join(out, StatementsFile), sts); err != nil {
		return nil, kg.Stats{}, err
	}
	stats := g.Stats()
	return g, stats, writeJSON(filepath.Join(out, StatsFile), stats)
}

// writeLines writes one JSON object a line, atomically.
func writeLines[T any](path string, rows []T) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return &quarry.Error{Op: "write", Kind: quarry.KindInternal, Subject: path, Err: err}
		}
	}
	return atomicfile.WriteFile(path, buf.Bytes())
}

// readLines reads what writeLines wrote; a bad line is named.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &quarry.Error{Op: "read", Kind: quarry.KindNotFound, Subject: path, Err: err, Hint: "name a file that an earlier command wrote"}
	}
	defer f.Close()
	var out []T
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var v T
			if derr := json.Unmarshal(line, &v); derr != nil {
				return nil, &quarry.Error{Op: "read", Kind: quarry.KindInvalid, Subject: fileLine(path, n), Msg: "not the expected JSON object", Err: derr, Hint: "was the file cut off or edited? write it anew"}
			}
			out = append(out, v)
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, &quarry.Error{Op: "read", Kind: quarry.KindUnavailable, Subject: path, Err: err}
		}
	}
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return &quarry.Error{Op: "write", Kind: quarry.KindInternal, Subject: path, Err: err}
	}
	return atomicfile.WriteFile(path, append(data, '\n'))
}
