package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/kg"
)

// Flags that several commands have; each keeps its name and meaning everywhere.
const (
	flagKG        = "kg"
	flagQuestions = "questions"
	flagWeights   = "weights"
	flagOut       = "out"
	flagReplace   = "replace"
	flagSpec      = "spec"
	flagSeed      = "seed"
	flagSplit     = "split"
	flagLimit     = "limit"
	flagName      = "name"
	flagLicense   = "license"
)

const splitAll = "all"

// specFlag adds --spec; the function gives the spec it names.
func (a *app) specFlag(cmd *cobra.Command) func() (configs.Run, error) {
	name := cmd.Flags().String(flagSpec, "demo", "spec or preset that settings come from")
	return func() (configs.Run, error) { return a.Spec(*name) }
}

// specFlags adds --seed too, for commands that draw.
func (a *app) specFlags(cmd *cobra.Command) func() (configs.Run, error) {
	load := a.specFlag(cmd)
	seed := cmd.Flags().Uint64(flagSeed, 0, "root of the random streams (default that of the spec)")
	return func() (configs.Run, error) {
		spec, err := load()
		if err == nil && cmd.Flags().Changed(flagSeed) {
			spec.Seed = *seed
		}
		return spec, err
	}
}

// required gives an error for the first of the flags without a value.
func required(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Lookup(name).Value.String() == "" {
			return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: "--" + name + " is missing",
				Hint: "for example: " + example(cmd)}
		}
	}
	return nil
}

// example is the first of a command's.
func example(cmd *cobra.Command) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return first
}

// badFlag is a flag with a value out of range.
func badFlag(cmd *cobra.Command, name, want string) error {
	return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: "--" + name,
		Msg: fmt.Sprintf("is %q, expected %s", cmd.Flags().Lookup(name).Value, want), Hint: cmd.CommandPath() + " --help lists the flags"}
}

// input resolves a file that must be there; from says what writes such a file.
func (a *app) input(path, from string) (string, error) {
	path = a.Path(path)
	info, err := os.Stat(path)
	e := &quarry.Error{Op: "read", Kind: quarry.KindNotFound, Subject: path, Hint: from}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Msg = "no such file"
	case err != nil:
		e.Kind, e.Err = quarry.KindInvalid, err
	case info.IsDir():
		e.Kind, e.Msg = quarry.KindInvalid, "is a folder, expected a file"
	case !info.Mode().IsRegular(): // opening a named pipe may wait for ever
		e.Kind, e.Msg = quarry.KindInvalid, "is no regular file"
	default:
		return path, nil
	}
	return "", e
}

// folder resolves a folder that others may find wanting; what stands there and is none is refused at once.
func (a *app) folder(path, from string) (string, error) {
	path = a.Path(path)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return "", &quarry.Error{Op: "read", Kind: quarry.KindInvalid, Subject: path, Msg: "is a file, expected a folder", Hint: from}
	}
	return path, nil
}

// weights resolves a weights file; "" and loop's own words stay as they are.
func (a *app) weights(name string) (string, error) {
	if name == "" || name == loop.Untrained {
		return name, nil
	}
	return a.input(name, "quarry train writes weights files; "+loop.Untrained+" is the policy before any training")
}

const makesGraph = "quarry kg build --out DIR SOURCE makes a graph folder"

// graph loads the folder of --kg.
func (a *app) graph(dir string) (*kg.Graph, error) {
	path, err := a.folder(dir, makesGraph)
	if err != nil {
		return nil, err
	}
	return kg.Open(path)
}

// questions reads the questions of one part, at most limit (0 is all of them).
func (a *app) questions(cmd *cobra.Command, file, split string, limit int) ([]quarry.Question, error) {
	parts := []string{string(quarry.SplitTrain), string(quarry.SplitTier), string(quarry.SplitHeldout), splitAll}
	if !slices.Contains(parts, split) {
		return nil, badFlag(cmd, flagSplit, "one of "+strings.Join(parts, ", "))
	}
	if limit < 0 {
		return nil, badFlag(cmd, flagLimit, "a number from 0 on")
	}
	path, err := a.input(file, "quarry synth writes questions.jsonl")
	if err != nil {
		return nil, err
	}
	qs, err := loop.ReadQuestions(path, "")
	if err != nil {
		return nil, err
	}
	if len(qs) == 0 {
		return nil, &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: path, Msg: "the file holds no question", Hint: "quarry synth writes questions.jsonl"}
	}
	if want := part(split); want != "" {
		qs = slices.DeleteFunc(qs, func(q quarry.Question) bool { return q.Split != want })
	}
	if len(qs) == 0 {
		return nil, &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: path, Msg: "no question of the part " + split,
			Hint: "--split " + splitAll + " takes every question of the file"}
	}
	if limit > 0 {
		qs = qs[:min(limit, len(qs))]
	}
	return qs, nil
}

// part is the split a flag names; loop takes "" for all.
func part(flag string) quarry.Split {
	if flag == splitAll {
		return ""
	}
	return quarry.Split(flag)
}

// episodes reads an episodes file.
func (a *app) episodes(file string) ([]*quarry.Episode, error) {
	path, err := a.input(file, "quarry rollout writes episodes.jsonl")
	if err != nil {
		return nil, err
	}
	eps, err := loop.ReadEpisodes(path)
	if err == nil && len(eps) == 0 {
		err = &quarry.Error{Op: "read episodes", Kind: quarry.KindInvalid, Subject: path, Msg: "the file is empty", Hint: "quarry rollout writes episodes.jsonl"}
	}
	return eps, err
}

// newFile makes sure, before any work is done, that a file can be published at path.
func newFile(path string) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	return f.Abort()
}

// newDir makes sure that a folder may be published at path: nothing is there, or an earlier result, known by the file
// marker, and the user asked to replace it. Any other folder is never touched.
func newDir(path, marker string, replace bool) error {
	e := &quarry.Error{Op: "write", Kind: quarry.KindExists, Subject: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		d, err := atomicfile.CreateDir(path)
		if err != nil {
			return err
		}
		return d.Abort()
	}
	if err != nil {
		return atomicfile.Classify("write", path, err)
	}
	_, err = os.Stat(filepath.Join(path, marker))
	switch {
	case !info.IsDir():
		e.Msg, e.Hint = "is no folder", "name another folder"
	case err != nil:
		e.Msg, e.Hint = "a folder is there that is no earlier result: it has no "+marker, "name another folder; --replace replaces earlier results only"
	case !replace:
		e.Msg, e.Hint = "an earlier result is there", "add --replace to replace it, or name another folder"
	default:
		return nil
	}
	return e
}

// writeDir fills a folder and publishes it whole.
func writeDir(path string, fill func(dir string) error) error {
	d, err := atomicfile.CreateDir(path)
	if err != nil {
		return err
	}
	defer d.Abort()
	if err := fill(d.Path()); err != nil {
		return err
	}
	return d.Replace()
}

// stage runs work under a progress line; note says what came of it.
func (a *app) stage(name string, work func(p *report.Progress) (note string, err error)) error {
	tty, width := terminal(a.Stderr, a.Env)
	p := report.NewProgress(a.Stderr, tty, width, time.Now)
	p.Stage(name)
	note, err := work(p)
	if err != nil {
		p.Fail("")
		return err
	}
	p.Done(note)
	return nil
}

// env prepares a graph, or nil for commands that need none, for the stages.
func (a *app) env(spec configs.Run, g *kg.Graph, p loop.Progress) *loop.Env {
	return loop.NewEnv(spec, g, a.Settings.Endpoint, a.Log, p)
}

// row is one line of a result printed as text, whatever is in it.
type row struct {
	name  string
	value any
}

// print writes the document of -o json, or its rows as text.
func (a *app) print(doc any, rows []row) error {
	if a.JSON() {
		return writeJSON(a.Stdout, doc)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		line := oneLine(r.name)
		if r.value != "" {
			line += "\t" + oneLine(fmt.Sprint(r.value))
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return outputError(err)
		}
	}
	return outputError(w.Flush())
}

// reasons are rows of a count by reason, largest first.
func reasons(prefix string, m map[string]int) []row {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	})
	rows := make([]row, len(names))
	for i, n := range names {
		rows[i] = row{prefix + n, m[n]}
	}
	return rows
}

func total(m map[string]int) int {
	n := 0
	for _, k := range m {
		n += k
	}
	return n
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
