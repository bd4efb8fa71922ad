package pocket

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	quarry "github.com/quarry-rl/quarry"
	"pgregory.net/rapid"
)

var testSet = FeatureSet{Name: "toy/1", Names: []string{"short", "has<digit>", "first", "a&b"}}

//go:embed testdata/weights.json
var goldenWeights string

func TestWeightsGolden(t *testing.T) {
	w := NewWeights(testSet)
	w.Version, w.Parent, w.Guesses = 3, "sha256:00", []string{"Paris", "Zürich <CH>"}
	copy(w.W, []float64{2, 0, 0.1, -1.5e-7})
	path := filepath.Join(t.TempDir(), "w.json")
	digest, err := w.Save(path, testSet)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(goldenWeights, string(data)); d != "" {
		t.Fatal(d)
	}
	sum := sha256.Sum256(data)
	if digest != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Fatalf("digest %s", digest)
	}
	got, err := LoadWeights(path, testSet)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, got); d != "" {
		t.Fatal(d)
	}
}

func TestWeightsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.json")
	rapid.Check(t, func(t *rapid.T) {
		w := NewWeights(testSet)
		w.Version = rapid.IntRange(0, 1000).Draw(t, "version")
		w.Guesses = rapid.SliceOf(rapid.String()).Draw(t, "guesses")
		for i := range w.W {
			w.W[i] = rapid.Float64Range(-maxWeight, maxWeight).Draw(t, "w") + 0 // no negative zero: it is not written
		}
		first, err := w.Save(path, testSet)
		if err != nil {
			t.Fatal(err)
		}
		got, err := LoadWeights(path, testSet)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(w, got); d != "" {
			t.Fatal(d)
		}
		if again, err := got.Save(path, testSet); err != nil || again != first {
			t.Fatalf("digest %s, then %s, %v", first, again, err)
		}
	})
}

func TestLoadWeightsRefuses(t *testing.T) {
	for _, k := range []struct {
		name, from, to string
		kind           quarry.Kind
		msg            string
	}{
		{"newer schema", `"schema": 1`, `"schema": 2, "x": 1`, quarry.KindInvalid, "schema 2 is newer than 1"},
		{"no schema", `"schema": 1`, `"schema": 0`, quarry.KindCorrupt, "schema is 0"},
		{"another set", "toy/1", "toy/2", quarry.KindInvalid, `"toy/2", this engine has "toy/1"`},
		{"unknown feature", `"first"`, `"fist"`, quarry.KindInvalid, `"fist" is not in feature set "toy/1"`},
		{"infinite", "0.1", "1e999", quarry.KindInvalid, `"first" is "1e999"`},
		{"huge", "0.1", "1e10", quarry.KindInvalid, `"first" is "1e10"`},
		{"null", "0.1", "null", quarry.KindInvalid, `"first" is ""`},
		{"unknown key", `"parent"`, `"parents"`, quarry.KindCorrupt, "parents"},
		{"negative version", `"version": 3`, `"version": -3`, quarry.KindCorrupt, "version is -3"},
		{"torn", "\n}\n", "", quarry.KindCorrupt, "not a weights file"},
		{"more", "\n}\n", "\n}\n{}", quarry.KindCorrupt, "not a weights file"},
	} {
		path := filepath.Join(t.TempDir(), "w.json")
		text := strings.Replace(goldenWeights, k.from, k.to, 1)
		if text == goldenWeights {
			t.Fatalf("%s changes nothing", k.name)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadWeights(path, testSet)
		if quarry.KindOf(err) != k.kind || !strings.Contains(err.Error(), k.msg) || !strings.Contains(err.Error(), path) || quarry.HintOf(err) == "" {
			t.Errorf("%s: kind %s, %v; want %s with %q", k.name, quarry.KindOf(err), err, k.kind, k.msg)
		}
	}
	if _, err := LoadWeights(filepath.Join(t.TempDir(), "none"), testSet); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("missing: %v", err)
	}
}

func TestSaveRefusesAndWritesNothing(t *testing.T) {
	for name, spoil := range map[string]func(*Weights){
		"NaN":     func(w *Weights) { w.W[1] = math.NaN() },
		"Inf":     func(w *Weights) { w.W[1] = math.Inf(-1) },
		"length":  func(w *Weights) { w.W = w.W[:2] },
		"set":     func(w *Weights) { w.FeatureSet = "other" },
		"version": func(w *Weights) { w.Version = -1 },
		"utf8":    func(w *Weights) { w.Guesses = []string{"\xff"} },
	} {
		dir := t.TempDir()
		w := NewWeights(testSet)
		spoil(w)
		if _, err := w.Save(filepath.Join(dir, "w.json"), testSet); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}
	w := NewWeights(testSet)
	if _, err := w.Save(filepath.Join(t.TempDir(), "no", "w.json"), testSet); err == nil {
		t.Error("saved into a missing folder")
	}
}

func FuzzLoadWeights(f *testing.F) {
	f.Add([]byte(goldenWeights))
	f.Add([]byte(`{"schema":1,"feature_set":"toy/1","weights":{"first":1e400}}`))
	f.Add([]byte(`{"schema":9}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "w.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := LoadWeights(path, testSet)
		if err != nil {
			if quarry.KindOf(err) == quarry.KindInternal {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if _, err := w.Save(path, testSet); err != nil {
			t.Fatalf("loaded weights cannot be saved: %v", err)
		}
	})
}
