package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/bm25"
)

// Setting is one option that decides what a candidate becomes, as text.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Settings are all options that a ledger is bound to, in a fixed order, with the graph's digest and the analyser of texts.
type Settings []Setting

func settingsOf(graph string, o Options) Settings {
	starts := "every entity"
	if o.Starts != nil {
		b := make([]byte, 0, 4*len(o.Starts))
		for _, v := range o.Starts {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		sum := sha256.Sum256(b)
		starts = fmt.Sprintf("%d of them, %s", len(o.Starts), hex.EncodeToString(sum[:8]))
	}
	skip := make([]string, len(o.Skip))
	for i, r := range o.Skip {
		skip[i] = string(r)
	}
	slices.Sort(skip)
	analyser := bm25.AnalyserHash()
	var s Settings
	add := func(name string, value any) { s = append(s, Setting{name, fmt.Sprint(value)}) }
	add("graph", graph)
	add("analyser", hex.EncodeToString(analyser[:8]))
	add("seed", o.Seed)
	add("hops", o.Hops)
	add("shape", o.Shape)
	add("beta", o.Beta)
	add("min_docs", o.MinDocs)
	add("max_degree", o.MaxDegree)
	add("hub_docs", o.HubDocs)
	add("backtracks", o.Backtracks)
	add("starts", starts)
	add("necessity", fmt.Sprintf("N%d", o.Necessity))
	add("leaf", o.Leaf)
	add("conditions", o.Conditions)
	add("no_sets", o.NoSets)
	add("margin", o.Margin)
	add("independent", o.Independent)
	add("k", o.K)
	add("queries", o.Queries)
	add("tool_calls", o.ToolCalls)
	add("as_of", o.AsOf)
	add("stale_years", o.StaleYears)
	add("per_answer", o.PerAnswer)
	add("per_anchor", o.PerAnchor)
	add("skip", strings.Join(slices.Compact(skip), " "))
	if len(o.Benchmarks) > 0 { // not without: a folder from before there were any goes on
		add("benchmarks", benchmarksOf(o.Benchmarks))
	}
	add("lang", o.Lang)
	add("license", o.License)
	add("wording", o.Wording)
	add("policy", o.Policy)
	add("index", o.Index)
	return s
}

// Digest is the identity of the settings, 64 hex digits.
func (s Settings) Digest() string {
	sum := sha256.Sum256(encode(s))
	return hex.EncodeToString(sum[:])
}

// differ is nil when a ledger's settings are ours, else the refusal that names what differs.
func (s Settings) differ(path string, theirs Settings) error {
	if slices.Equal(s, theirs) {
		return nil
	}
	was := map[string]string{}
	for _, t := range theirs {
		was[t.Name] = t.Value
	}
	var parts []string
	for _, m := range s {
		if w, ok := was[m.Name]; !ok {
			parts = append(parts, fmt.Sprintf("%s was not known, now %q", m.Name, m.Value))
		} else if w != m.Value {
			parts = append(parts, fmt.Sprintf("%s was %q, now %q", m.Name, w, m.Value))
		}
		delete(was, m.Name)
	}
	for _, t := range theirs {
		if w, left := was[t.Name]; left {
			parts = append(parts, fmt.Sprintf("%s was %q, now unknown", t.Name, w))
		}
	}
	return &quarry.Error{Op: "synth", Kind: quarry.KindConflict, Subject: path, Msg: "the folder holds another synthesis: " + strings.Join(parts, "; "),
		Hint: "give another folder, or run with the settings of this one"}
}
