package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/synth/mix"
)

type mixDoc struct {
	Path      string `json:"path"`
	Questions string `json:"questions"`
	Dataset   string `json:"dataset"`
	*mix.Result
}

func newSynthMix(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mix SPEC --out DIR FILE...",
		Short: "Mix questions of several files by quotas over source, difficulty and language",
		Long: "Mix takes a spec of shares, or a mixture that comes with the program (" + strings.Join(configs.Mixes(), ", ") + "), and questions.jsonl files, each\n" +
			"with the name of its source before it where the questions' own is not meant. Quotas are shared out by largest\n" +
			"remainders; where a cell is short the others give more. It prints what was asked and what there is.",
		Example: "  quarry synth mix minddr --out mixed kg=questions/questions.jsonl real=real.jsonl hard=hard.jsonl\n  quarry synth mix mix.yaml --out mixed --total 1000 questions/questions.jsonl",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return nil
			}
			return exactArgs("SPEC", "FILE")(cmd, args)
		},
	}
	f := cmd.Flags()
	out := f.String(flagOut, "", "folder to write")
	replace := f.Bool(flagReplace, false, "replace an earlier result")
	count := f.Int("total", 0, "questions; 0 is as many as there are with every share met (default that of the spec)")
	seed := f.Uint64(flagSeed, 0, "decides which questions of a cell are taken (default that of the spec)")
	license := f.String(flagLicense, "", "license for the dataset card (default those of the questions)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagOut); err != nil {
			return err
		}
		m, err := a.mixture(args[0])
		if err != nil {
			return err
		}
		if f.Changed("total") {
			if m.Total = *count; *count < 0 {
				return badFlag(cmd, "total", "a number from 0 on")
			}
		}
		if f.Changed(flagSeed) {
			m.Seed = *seed
		}
		spec, err := m.Spec()
		if err != nil {
			return err
		}
		doc := mixDoc{Path: a.Path(*out)}
		if err := newDir(doc.Path, loop.QuestionsFile, *replace); err != nil {
			return err
		}
		qs, items, err := a.mixed(args[1:], spec.Keys)
		if err != nil {
			return err
		}
		if m.Total == 0 {
			m.Total = mix.Most(spec, mix.Supply(spec, items))
		}
		if doc.Result, err = mix.Pick(spec, m.Total, m.Seed, items); err != nil {
			return err
		}
		if doc.Taken == 0 {
			return &quarry.Error{Op: "mix", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d questions", len(qs)), Msg: "none is taken: " + shortest(doc.Result),
				Hint: "give --total, name the sources as in kg=FILE, or change the shares"}
		}
		var picked []quarry.Question
		for _, i := range doc.Picked {
			picked = append(picked, qs[i])
		}
		err = writeDir(doc.Path, func(tmp string) error {
			if err := datasets.WriteQuestionsJSONL(filepath.Join(tmp, loop.QuestionsFile), picked); err != nil {
				return err
			}
			return loop.WriteQ1(filepath.Join(tmp, "q1"), picked, licenses(*license, picked))
		})
		if err != nil {
			return err
		}
		doc.Questions, doc.Dataset = filepath.Join(doc.Path, loop.QuestionsFile), filepath.Join(doc.Path, "q1")
		if err := a.printMix(doc); err != nil {
			return err
		}
		if n := doc.Short(); n > 0 {
			return &quarry.Error{Op: "mix", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d of %d questions", doc.Taken, doc.Total), Msg: "all that have a share are taken", Hint: "give more files, or a smaller --total"}
		}
		return nil
	}
	return cmd
}

func (a *app) mixture(arg string) (configs.Mix, error) {
	if configs.IsMix(arg) {
		return configs.LoadMix(arg)
	}
	if _, err := os.Stat(a.Path(arg)); err != nil && !strings.ContainsAny(arg, `/\.`) {
		return configs.LoadMix(arg) // most likely a name with a typo
	}
	return configs.LoadMix(a.Path(arg))
}

// named is a file with the name of its source before it.
var named = regexp.MustCompile(`^([A-Za-z0-9_-]+)=(.+)$`)

// mixed reads the files and finds the cell of each question.
func (a *app) mixed(files, keys []string) ([]quarry.Question, []mix.Item, error) {
	var qs []quarry.Question
	var items []mix.Item
	for _, f := range files {
		source, name := "", f
		if m := named.FindStringSubmatch(f); m != nil {
			source, name = m[1], m[2]
		}
		path, err := a.input(name, "quarry synth writes questions.jsonl")
		if err != nil {
			return nil, nil, err
		}
		more, err := loop.ReadQuestions(path, "")
		if err != nil {
			return nil, nil, err
		}
		for i := range more {
			items = append(items, mix.Item{ID: more[i].ID, Cell: mix.CellOf(&more[i], keys, source)})
		}
		qs = append(qs, more...)
	}
	return qs, items, nil
}

// shortest says which cell there is least of, against its share.
func shortest(r *mix.Result) string {
	for _, row := range r.Rows {
		if row.Asked > 0 && row.Supply == 0 {
			return "there is no question of " + strings.Join(row.Cell, " x ")
		}
	}
	return "there are too few to meet every share"
}

// licenses are those of the questions, joined, unless one is stated.
func licenses(stated string, qs []quarry.Question) string {
	if stated != "" {
		return stated
	}
	all := map[string]bool{}
	for i := range qs {
		if l := qs[i].License; l != "" {
			all[l] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " AND ")
}

func (a *app) printMix(doc mixDoc) error {
	if !a.JSON() {
		if err := doc.WriteTable(a.Stdout); err != nil {
			return outputError(err)
		}
	}
	return a.print(doc, []row{{"in no share", doc.Beside}, {"questions", doc.Questions}, {"dataset", doc.Dataset}})
}
