package pipeline

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/near"
)

// Head is the first line of a ledger: what a folder is bound to.
type Head struct {
	Graph    string // digest of the graph
	Options  string // digest of the settings
	Settings Settings
	Sum      string // of the line: the identity of the ledger
}

// ReadHead reads it. Errors: not_found (no ledger, or one that had not begun), invalid, corrupt.
func ReadHead(dir string) (Head, error) {
	path := filepath.Join(dir, LedgerFile)
	f, err := atomicfile.Open("synth", path)
	if err != nil {
		return Head{}, err
	}
	defer f.Close()
	done := &quarry.Error{Kind: quarry.KindNotFound} // ends the scan after the first line
	var out Head
	_, _, _, err = scan(path, f, func(h *header) error {
		out = Head{h.Graph, h.Options, h.Settings, h.Sum}
		return done
	}, func(Entry) error { return nil })
	switch {
	case err == nil:
		return out, &quarry.Error{Op: "synth", Kind: quarry.KindNotFound, Subject: path, Msg: "it has no header: the run had not begun", Hint: "run the synthesis"}
	case err != error(done):
		return out, err
	}
	return out, nil
}

// Reopen is the space that filled a folder, for drawing its candidates again; nothing is written. Benchmarks and policy
// are left out: they decide about a question when it has its text. Errors: conflict (another graph), invalid (the
// settings hold what no ledger keeps, such as a list of starts, or are of another quarry), and those of ReadHead.
func Reopen(g *kg.Mapped, dir string, hooks Hooks) (*Space, error) {
	head, err := ReadHead(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, LedgerFile)
	if head.Graph != g.Digest() {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindConflict, Subject: path, Msg: "it is of another graph than the one given", Hint: "give the graph with the digest " + head.Graph}
	}
	o, err := head.Settings.options(path)
	if err != nil {
		return nil, err
	}
	if o.Index != "" && hooks.Search == nil {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: path, Msg: fmt.Sprintf("it was made with the index %q, and none was given", o.Index), Hint: "give that index"}
	}
	hooks.Filter, o.Policy = nil, ""
	s, err := NewSpace(g, o, hooks)
	if err != nil {
		return nil, err
	}
	var theirs Settings
	for _, t := range head.Settings {
		switch t.Name {
		case "benchmarks":
			continue
		case "policy":
			t.Value = ""
		}
		theirs = append(theirs, t)
	}
	return s, s.settings.differ(path, theirs)
}

// options is the other way round of settingsOf.
func (s Settings) options(path string) (Options, error) {
	var o Options
	bad := func(t Setting, err error) error {
		return &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: path + ":1", Msg: fmt.Sprintf("setting %s is %q, which cannot be followed", t.Name, t.Value), Err: err,
			Hint: "use the quarry and the program that wrote the folder"}
	}
	numbers := map[string]*int{"hops": &o.Hops, "min_docs": &o.MinDocs, "max_degree": &o.MaxDegree, "hub_docs": &o.HubDocs, "backtracks": &o.Backtracks, "leaf": &o.Leaf,
		"conditions": &o.Conditions, "margin": &o.Margin, "k": &o.K, "queries": &o.Queries, "tool_calls": &o.ToolCalls, "stale_years": &o.StaleYears, "per_answer": &o.PerAnswer, "per_anchor": &o.PerAnchor}
	texts := map[string]*string{"as_of": &o.AsOf, "lang": &o.Lang, "license": &o.License, "wording": &o.Wording, "policy": &o.Policy, "index": &o.Index}
	truths := map[string]*bool{"no_sets": &o.NoSets, "independent": &o.Independent}
	for _, t := range s {
		var err error
		switch {
		case numbers[t.Name] != nil:
			*numbers[t.Name], err = strconv.Atoi(t.Value)
		case texts[t.Name] != nil:
			*texts[t.Name] = t.Value
		case truths[t.Name] != nil:
			*truths[t.Name], err = strconv.ParseBool(t.Value)
		case t.Name == "seed":
			o.Seed, err = strconv.ParseUint(t.Value, 10, 64)
		case t.Name == "beta":
			o.Beta, err = strconv.ParseFloat(t.Value, 64)
		case t.Name == "shape":
			o.Shape = walk.Shape(t.Value)
		case t.Name == "necessity":
			var n int
			n, err = strconv.Atoi(strings.TrimPrefix(t.Value, "N"))
			o.Necessity = Level(n)
		case t.Name == "skip":
			for _, r := range strings.Fields(t.Value) {
				o.Skip = append(o.Skip, near.Rule(r))
			}
		case t.Name == "starts" && t.Value != "every entity":
			return o, bad(t, nil)
		}
		if err != nil {
			return o, bad(t, err)
		}
	}
	if o.MinDocs == 0 {
		o.MinDocs = -1 // it was asked for: 0 would be the default
	}
	return o, nil
}
