package ingest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/kg/store"
)

// What every reader sends is what the store takes.
func TestStoreTakesEverySource(t *testing.T) {
	dir := t.TempDir()
	type counts struct {
		source                       string
		entities, statements, papers int
	}
	cases := []counts{
		{filepath.Join("..", "..", "examples", "wiki"), 16248, 33042, 1000},
		{write(t, "x.nt", described1), 8, 6, 0},
		{write(t, "x.nq", strings.ReplaceAll(described1, " .\n", " <http://d/1> .\n")), 8, 6, 1},
		{write(t, "x.json", "[\n"+adams+"\n]"), 7, 6, 0},
		{write(t, "x.jsonl", pairLines), 6, 4, 2},
		{write(t, "dev.json", docs), 7, 5, 2},
		{folderWith(t, nil), 2, 2, 1},
	}
	if data := os.Getenv("QUARRY_BENCH_DATA"); data != "" { // CR LF, an archive, a glob
		cases = append(cases, counts{filepath.Join(data, "medium-fb15k237", "FB15k-237.tar.g*"), 14541, 310116, 0},
			counts{filepath.Join(data, "raw-redocred", "redocred_*.json"), 16248, 33042, 1000})
	}
	for _, c := range cases {
		b := store.NewBuilder()
		if _, err := Read(context.Background(), b, Options{}, c.source); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, strings.NewReplacer(string(filepath.Separator), "_", "*", "").Replace(c.source))
		if err := os.Mkdir(out, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Finish(context.Background(), out); err != nil {
			t.Fatal(err)
		}
		g, err := store.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if g.Entities() != c.entities || g.Edges() != c.statements || g.Documents() != c.papers {
			t.Errorf("%s: %d entities, %d statements, %d documents, want %d, %d, %d", c.source, g.Entities(), g.Edges(), g.Documents(), c.entities, c.statements, c.papers)
		}
		faults, err := store.Fsck(context.Background(), out)
		if err != nil || len(faults) > 0 {
			t.Errorf("%s: fsck: %v, %v", c.source, faults, err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}
