package loop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
)

// What decides whether a graph is built anew: names and contents of the files that a build reads, and nothing else.
func TestContentDigest(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(name string) string {
		t.Helper()
		d, err := contentDigest(filepath.Join(dir, name))
		if err != nil || len(d) != 64 {
			t.Fatalf("%s: %q, %v", name, d, err)
		}
		return d
	}
	put("data/a.tsv", "a\tp\tb\n")
	put("data/sub/b.tsv", "b\tp\tc\n")
	first := digest("data")
	if err := os.Symlink("data", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	put("data/.hidden", "x")
	put("data/.git/config", "x")
	if digest("link") != first || digest("data") != first {
		t.Error("a link to the folder or hidden files change the digest")
	}
	file := digest("data/a.tsv")
	for change, do := range map[string]func(){
		"text": func() { put("data/a.tsv", "a\tp\tc\n") },
		"name": func() {
			if err := os.Rename(filepath.Join(dir, "data/sub/b.tsv"), filepath.Join(dir, "data/sub/c.tsv")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		before := digest("data")
		if do(); digest("data") == before {
			t.Errorf("another %s and the same digest", change)
		}
	}
	if digest("data/a.tsv") == file {
		t.Error("another text and the same digest of the file")
	}
	_, err := contentDigest(filepath.Join(dir, "nowhere"))
	if quarry.KindOf(err) != quarry.KindNotFound || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(quarry.HintOf(err), "clone") {
		t.Errorf("no data: %v", err)
	}
}

// A graph that this program could not open must not be taken from the cache: its version is part of every key.
func TestKeysHoldTheVersionOfTheGraph(t *testing.T) {
	spec, err := json.Marshal((&run{}).stage(node{name: "kg"}).Spec)
	if err != nil || !strings.Contains(string(spec), kg.FormatVersion()) {
		t.Errorf("%s, %v", spec, err)
	}
}
