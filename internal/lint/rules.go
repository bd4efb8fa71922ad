package lint

import "strings"

const module = "github.com/quarry-rl/quarry"

// layers is who may import whom: a package may import packages of lower layers, and of its own layer only
// those of the same family. A family is a folder with all folders below it.
var layers = []struct {
	level    int
	families []string
}{
	{1, []string{"internal/atomicfile", "internal/limit", "internal/lint", "internal/report", "internal/retry", "internal/teacher", "internal/telemetry"}},
	{2, []string{"datasets", "kg", "internal/journal"}},
	{3, []string{"synth", "rollout", "rewards", "pivot", "icepop", "sft", "dpo"}},
	{4, []string{"jobs", "dash"}},
	{5, []string{"configs"}},
	{6, []string{"internal/loop"}},
	{7, []string{"internal/cli"}},
	{8, []string{"cmd/quarry", "cmd/quarry-full"}},
}

// layerOf returns the level and family of a package folder; the root is level 0. ok is false for a folder that the
// table does not know.
func layerOf(dir string) (level int, family string, ok bool) {
	if dir == "." {
		return 0, ".", true
	}
	for _, l := range layers {
		for _, f := range l.families {
			if within(dir, f) {
				return l.level, f, true
			}
		}
	}
	return 0, "", false
}

func within(dir, family string) bool { return dir == family || strings.HasPrefix(dir, family+"/") }

// homes lists libraries that shipped code may import in the named families only. Tests may import any.
var homes = []struct {
	library  string // import path, with everything below it
	families []string
}{
	{"github.com/spf13", []string{"configs", "internal/cli"}},
	{"database/sql", []string{"internal/journal", "dash"}},
	{"modernc.org/sqlite", []string{"internal/journal", "dash"}},
	{"github.com/jackc/pgx", []string{"internal/journal", "dash"}},
	{"github.com/apache/arrow-go", nil},
	{"k8s.io", []string{"jobs/kube"}},
	{"sigs.k8s.io", []string{"jobs/kube"}},
	{"github.com/ray-project/kuberay", []string{"jobs/kube"}},
	{"github.com/sashabaranov/go-openai", []string{"internal/teacher"}},
	{"testing", nil},
	{"github.com/google/go-cmp", nil},
	{"github.com/rogpeppe/go-internal", nil},
	{"pgregory.net/rapid", nil},
}

// foreign lists single edges that the layers would allow and the design does not. The embedded engine reads only the
// context it is sent: general English is allowed, the graph is not.
var foreign = []struct{ from, to, except string }{
	{"rollout/pocket", "kg", "kg/english"},
}

// pure families do arithmetic: no files, sockets or clock, and no randomness but what they are passed.
var pure = struct {
	families, libraries []string
}{
	[]string{"icepop", "sft", "dpo", "rewards", "pivot"},
	[]string{"os", "io/ioutil", "net", "time", "syscall", "math/rand", "crypto/rand"},
}

// sources are the names of math/rand/v2 that draw nothing from its global source.
var sources = map[string]bool{
	"New": true, "NewPCG": true, "NewChaCha8": true, "NewZipf": true, "Rand": true, "Source": true, "PCG": true,
	"ChaCha8": true, "Zipf": true,
}

// emptyNames say nothing about what a package holds.
var emptyNames = map[string]bool{"util": true, "utils": true, "common": true, "helpers": true, "helper": true, "types": true, "pkg": true, "misc": true}

// Longest files in lines. Generated ones have no limit.
const (
	maxLines     = 500
	maxTestLines = 800
)

// words lists what no file may contain: paths of one machine, and settings that belong to the environment. They are
// written in halves, because this file is checked too.
var words = []string{"/wo" + "rk/", "/ro" + "ot/", "GOPRO" + "XY=", "GONOSUM" + "DB=", "/ho" + "me/"}

// isTestPackage says whether a folder holds test support, which may import any layer and only tests import.
func isTestPackage(dir string) bool {
	base := dir[strings.LastIndexByte(dir, '/')+1:]
	return strings.HasSuffix(base, "test") && base != "test"
}
