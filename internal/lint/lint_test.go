package lint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTree checks the project itself.
func TestTree(t *testing.T) {
	found, err := Check(os.DirFS(moduleRoot(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		src, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(src), "module "+module+"\n") {
			return dir
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			t.Fatalf("no go.mod of %s above this folder: %v", module, err)
		}
		dir = filepath.Dir(dir)
	}
}

// TestDependenciesAreExplained demands a line in docs/dependencies.md for every direct dependency, and no line for
// one that is gone.
func TestDependenciesAreExplained(t *testing.T) {
	root := os.DirFS(moduleRoot(t))
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := fs.ReadFile(root, "docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for line := range strings.Lines(string(mod)) {
		f := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(f) == 2 && strings.HasPrefix(f[1], "v") {
			direct[f[0]] = true
		}
	}
	if len(direct) == 0 {
		t.Fatal("no direct dependency found in go.mod")
	}
	listed := map[string]bool{}
	head, _, _ := strings.Cut(string(page), "\n## Where")
	for line := range strings.Lines(head) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			listed[name] = true
			if !direct[name] {
				t.Errorf("docs/dependencies.md explains %s, which is no direct dependency", name)
			}
		}
	}
	for name := range direct {
		if !listed[name] {
			t.Errorf("docs/dependencies.md does not explain %s", name)
		}
	}
}

// source is a file of package p that imports paths; those that begin with a slash are of this module.
func source(p string, imports ...string) string {
	var b strings.Builder
	b.WriteString("package " + p + "\n")
	for _, i := range imports {
		if strings.HasPrefix(i, "/") {
			i = strings.TrimSuffix(module+i, "/")
		}
		b.WriteString("import _ \"" + i + "\"\n")
	}
	return b.String()
}

// TestPlanted plants one violation at a time, and its lawful neighbours.
func TestPlanted(t *testing.T) {
	long := strings.Repeat("//\n", maxLines)
	for name, tc := range map[string]struct {
		file, src string
		want      string // part of the one finding; empty wants none
	}{
		"root imports a store":          {"doc.go", source("quarry", "/kg"), "doc.go:2: layer 0: . may not import kg of layer 2"},
		"leaf imports the root":         {"internal/retry/a.go", source("retry", "/"), ""},
		"store imports an engine":       {"datasets/a.go", source("datasets", "/sft"), "layer 2: datasets may not import sft of layer 3"},
		"store imports a store":         {"datasets/a.go", source("datasets", "/kg"), "of its own layer"},
		"store imports a leaf":          {"datasets/a.go", source("datasets", "/internal/atomicfile"), ""},
		"engine imports an engine":      {"synth/a.go", source("synth", "/rollout"), "layer 3: synth may not import rollout of its own layer"},
		"engine's child imports engine": {"rollout/agent/a.go", source("agent", "/rewards"), "of its own layer"},
		"siblings below rollout":        {"rollout/agent/a.go", source("agent", "/rollout/tokens"), ""},
		"engine imports a store":        {"synth/a.go", source("synth", "/kg"), ""},
		"engine in a test":              {"synth/a_test.go", source("synth_test", "/rollout", "testing"), ""},
		"pocket imports the graph":      {"rollout/pocket/a.go", source("pocket", "/kg"), "rollout/pocket may not import kg"},
		"pocket imports a graph child":  {"rollout/pocket/a.go", source("pocket", "/kg/search"), "rollout/pocket may not import kg/search"},
		"pocket imports English":        {"rollout/pocket/a.go", source("pocket", "/kg/english"), ""},
		"jobs import configs":           {"jobs/a.go", source("jobs", "/configs"), "layer 4: jobs may not import configs of layer 5"},
		"configs import jobs":           {"configs/a.go", source("configs", "/jobs/pocket"), ""},
		"configs import cli":            {"configs/a.go", source("configs", "/internal/cli"), "layer 5"},
		"main imports cli":              {"cmd/quarry/main.go", source("main", "/internal/cli"), ""},
		"cli imports everything":        {"internal/cli/a.go", source("cli", "/", "/kg", "/synth", "/jobs", "/configs", "github.com/spf13/cobra"), ""},
		"a package nobody placed":       {"magic/a.go", source("magic"), "magic is in no layer"},
		"import of one nobody placed":   {"synth/a.go", source("synth", "/magic"), "imports magic, which is in no layer"},
		"prefix is not a family":        {"synthesis/a.go", source("synthesis"), "synthesis is in no layer"},
		"test server in shipped code":   {"jobs/a.go", source("jobs", "/rollout/sglang/sglangtest"), "which is for tests"},
		"test server imports all":       {"rollout/sglang/sglangtest/a.go", source("sglangtest", "/jobs", "/kg", "testing"), ""},
		"test server in a test":         {"jobs/a_test.go", source("jobs", "/rollout/sglang/sglangtest"), ""},
		"viper elsewhere":               {"jobs/a.go", source("jobs", "github.com/spf13/viper"), "allowed only in configs and internal/cli"},
		"viper at home":                 {"configs/a.go", source("configs", "github.com/spf13/viper"), ""},
		"cobra in main":                 {"cmd/quarry/main.go", source("main", "github.com/spf13/cobra"), "allowed only in configs and internal/cli"},
		"driver in the graph":           {"kg/a.go", source("kg", "modernc.org/sqlite"), "allowed only in internal/journal"},
		"driver at home":                {"internal/journal/a.go", source("journal", "database/sql", "modernc.org/sqlite"), ""},
		"arrow shipped":                 {"datasets/a.go", source("datasets", "github.com/apache/arrow-go/v18/arrow"), "allowed in tests only"},
		"arrow in a test":               {"datasets/a_test.go", source("datasets", "github.com/apache/arrow-go/v18/arrow"), ""},
		"testing shipped":               {"kg/a.go", source("kg", "testing"), "allowed in tests only"},
		"kubernetes elsewhere":          {"jobs/a.go", source("jobs", "k8s.io/api/core/v1"), "allowed only in jobs/kube"},
		"files in arithmetic":           {"icepop/a.go", source("icepop", "os"), "icepop is arithmetic: no import of os"},
		"sockets in arithmetic":         {"rewards/a.go", source("rewards", "net/http"), "no import of net/http"},
		"clock in arithmetic":           {"dpo/a.go", source("dpo", "time"), "no import of time"},
		"old rand in arithmetic":        {"sft/a.go", source("sft", "math/rand"), "no import of math/rand"},
		"global rand":                   {"pivot/a.go", "package pivot\nimport \"math/rand/v2\"\nvar x = rand.IntN(3)\n", "pivot/a.go:3: rand.IntN draws from the global source"},
		"global rand, renamed":          {"pivot/a.go", "package pivot\nimport r \"math/rand/v2\"\nvar x = r.IntN(3)\n", "r.IntN draws from the global source"},
		"seeded rand":                   {"pivot/a.go", "package pivot\nimport \"math/rand/v2\"\nvar x = rand.New(rand.NewPCG(1, 2)).IntN(3)\n", ""},
		"clock in an arithmetic test":   {"dpo/a_test.go", source("dpo", "time", "os"), ""},
		"clock elsewhere":               {"rollout/a.go", source("rollout", "time"), ""},
		"long file":                     {"kg/a.go", source("kg") + long, "501 lines, at most 500"},
		"long enough":                   {"kg/a.go", source("kg") + long[3:], ""},
		"long test":                     {"kg/a_test.go", source("kg") + long, ""},
		"too long a test":               {"kg/a_test.go", source("kg") + long + long, "1001 lines, at most 800"},
		"long generated file":           {"kg/a.go", "// Code generated by x. DO NOT EDIT.\n\n" + source("kg") + long, ""},
		"empty name":                    {"rollout/util/a.go", source("util"), "package util: name it for what it holds"},
		"empty name of a test":          {"rollout/a_test.go", source("helpers_test"), "package helpers: name it"},
		"machine path":                  {"docs/a.md", "see\n`" + words[0] + "main`\n", "docs/a.md:2: says"},
		"machine path in quotes":        {"kg/a.go", source("kg") + "const x = \"" + words[1] + "x\"\n", "kg/a.go:2: says"},
		"machine path in CI":            {".ci/run", "export " + words[2] + "off\n", ".ci/run:1: says"},
		"part of a URL":                 {"docs/a.md", "https://example.org" + words[0] + "x, a" + words[1] + "b, ${DIR}" + words[0] + "\n", ""},
		"binary file":                   {"a.parquet", "PAR1\x00" + " " + words[0], ""},
		"editor's folder":               {".cache/a.md", " " + words[0], ""},
		"own module":                    {"bench/main.go", source("main", "/internal/cli"), ""},
		"own module's words":            {"bench/a.sh", "cd " + words[0], "bench/a.sh:1: says"},
		"test data":                     {"kg/testdata/a.go", "not Go", ""},
		"broken Go":                     {"kg/a.go", "package", "does not parse"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{
				"go.mod":       {Data: []byte("module " + module + "\n")},
				"bench/go.mod": {Data: []byte("module " + module + "/bench\n")},
				tc.file:        {Data: []byte(tc.src)},
			}
			found, err := Check(tree)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.want == "" && len(found) > 0:
				t.Errorf("found %v, want nothing", found)
			case tc.want != "" && (len(found) == 0 || !strings.Contains(found[0].String(), tc.want)):
				t.Errorf("found %v, want %q", found, tc.want)
			}
		})
	}
}
