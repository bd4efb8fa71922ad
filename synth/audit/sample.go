package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/synth/mix"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

// Options of a sample.
type Options struct {
	N        int // accepted questions; those there are when there are fewer
	Rejected int // rejected ones that had come as far as a text, shared out over their reasons
	Seed     uint64

	// Draw is the question of a rejected walk with its text; needed with Rejected.
	Draw func(ctx context.Context, walk int) (*quarry.Question, error)
	// Entity and Relation are names of ids; nil leaves those the question itself tells.
	Entity, Relation func(id string) string
}

// Sample is what a sheet holds.
type Sample struct {
	Rows   []Row
	Strata []Stratum // accepted first, then by reason
}

// Stratum is the candidates that ended in one way.
type Stratum struct {
	Name  string `json:"name"`  // accepted, or a reason
	There int    `json:"there"` // candidates
	Drawn int    `json:"drawn"`
}

// accepted is the stratum of accepted questions.
const accepted = "accepted"

// texted are the stages at which a candidate has its text.
var texted = []pipeline.Stage{pipeline.StageLeak, pipeline.StageSingle, pipeline.StageDecontam, pipeline.StageUnique, pipeline.StagePolicy}

// ended is a candidate that can be drawn.
type ended struct {
	pipeline.Entry
	from int64 // of its line in questions.jsonl
	rank [sha256.Size]byte
}

// Draw takes a sample of a folder, the same for the same seed. Each stratum gives the candidates with the lowest hash of
// seed and line, so that what one sample drew a larger one draws too. Rows come in an order that tells nothing of strata.
// Errors: those of the ledger, gate (nothing to draw), and Draw's.
func Draw(ctx context.Context, dir string, o Options) (*Sample, error) {
	pools, at := map[string][]ended{}, int64(0)
	err := pipeline.Entries(dir, func(e pipeline.Entry) error {
		c := ended{Entry: e, from: at, rank: rank("draw", o.Seed, e.Sum)}
		switch {
		case e.State == pipeline.Accepted:
			at = e.End
			pools[accepted] = append(pools[accepted], c)
		case o.Rejected > 0 && slices.Contains(texted, e.Stage):
			pools[string(e.Reason)] = append(pools[string(e.Reason)], c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := &Sample{}
	var drawn []ended
	for _, st := range strata(pools, o) {
		pool := pools[st.Name]
		slices.SortFunc(pool, func(a, b ended) int { return bytes.Compare(a.rank[:], b.rank[:]) })
		drawn = append(drawn, pool[:st.Drawn]...)
		s.Strata = append(s.Strata, st)
	}
	if len(drawn) == 0 {
		return nil, &quarry.Error{Op: "synth audit", Kind: quarry.KindGate, Subject: dir, Msg: "the ledger has no question to review", Hint: "run the synthesis further"}
	}
	slices.SortFunc(drawn, func(a, b ended) int {
		x, y := rank("order", o.Seed, a.Sum), rank("order", o.Seed, b.Sum)
		return bytes.Compare(x[:], y[:])
	})
	for _, c := range drawn {
		q, err := o.question(ctx, dir, c)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, o.row(c.Sum, q))
	}
	return s, nil
}

// rank is a number of a line that is as good as drawn.
func rank(what string, seed uint64, sum string) [sha256.Size]byte {
	return sha256.Sum256(append(binary.LittleEndian.AppendUint64([]byte(what), seed), sum...))
}

// strata shares the sample out: one of each reason while that is possible, the rest in proportion to what there is.
func strata(pools map[string][]ended, o Options) []Stratum {
	out := []Stratum{{accepted, len(pools[accepted]), min(o.N, len(pools[accepted]))}}
	var names []string
	for name := range pools {
		if name != accepted {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(pools[b])-len(pools[a]), strings.Compare(a, b)) })
	var weights []float64
	var left []int
	each := 0
	if o.Rejected >= len(names) {
		each = 1
	}
	for _, n := range names {
		weights, left = append(weights, float64(len(pools[n]))), append(left, len(pools[n])-each)
	}
	more := mix.Quotas(max(o.Rejected-each*len(names), 0), weights, left)
	for i, n := range names {
		out = append(out, Stratum{n, len(pools[n]), each + more[i]})
	}
	return out
}

// question of an accepted candidate comes from the file, that of a rejected one is drawn again.
func (o *Options) question(ctx context.Context, dir string, c ended) (*quarry.Question, error) {
	if c.State != pipeline.Accepted {
		return o.Draw(ctx, c.Walk)
	}
	path := filepath.Join(dir, pipeline.QuestionsFile)
	corrupt := func(err error) error {
		return &quarry.Error{Op: "synth audit", Kind: quarry.KindCorrupt, Subject: path + ", question " + c.Question, Msg: "its line is not the one that the ledger accepted", Err: err,
			Hint: "restore the file from a copy"}
	}
	f, err := atomicfile.Open("synth audit", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if c.End <= c.from {
		return nil, corrupt(nil)
	}
	info, err := f.Stat()
	if err != nil || info.Size() < c.End {
		return nil, corrupt(err)
	}
	line := make([]byte, c.End-c.from)
	if _, err := f.ReadAt(line, c.from); err != nil {
		return nil, atomicfile.Classify("synth audit", path, err)
	}
	if sum := sha256.Sum256(line[:len(line)-1]); hex.EncodeToString(sum[:]) != c.Digest {
		return nil, corrupt(nil)
	}
	q := &quarry.Question{}
	if err := json.Unmarshal(line, q); err != nil {
		return nil, corrupt(err)
	}
	return q, nil
}

// keyOf binds a row to its line of the ledger and to its text. It begins with a letter, so that no spreadsheet takes it for
// a number.
func keyOf(sum, question string) string {
	h := sha256.Sum256([]byte(quarry.Normalize(question)))
	return "k" + sum + "-" + hex.EncodeToString(h[:4])
}

func (o *Options) row(sum string, q *quarry.Question) Row {
	r := Row{Key: keyOf(sum, tidy(q.Text)), Question: q.Text, Answer: q.Answer}
	if len(q.Aliases) > 0 {
		r.Answer += " (also: " + strings.Join(q.Aliases, "; ") + ")"
	}
	names := map[string]string{q.AnswerID: q.Answer}
	for _, e := range q.Entities {
		names[e.ID] = e.Name
	}
	entity := func(id string) string {
		if o.Entity != nil {
			if n := o.Entity(id); n != "" {
				return n
			}
		}
		return cmp.Or(names[id], id)
	}
	relation := func(id string) string {
		if o.Relation != nil {
			if n := o.Relation(id); n != "" {
				return n
			}
		}
		return strings.ReplaceAll(id, "_", " ")
	}
	said := func(s quarry.Statement) string {
		if s.Text == "" {
			return ""
		}
		return fmt.Sprintf("\n   %q [%s]", s.Text, s.Doc)
	}
	var path, conditions []string
	for i, h := range q.Path {
		arrow := " -- " + relation(h.Predicate) + " --> "
		if h.Inverse {
			arrow = " <-- " + relation(h.Predicate) + " -- "
		}
		path = append(path, fmt.Sprintf("%d. %s%s%s%s", i+1, entity(h.From()), arrow, entity(h.To()), said(h.Statement)))
	}
	for _, s := range q.Conditions {
		conditions = append(conditions, fmt.Sprintf("%d. %s -- %s --> %s%s", len(conditions)+1, entity(s.Subject), relation(s.Predicate), entity(s.Object), said(s)))
	}
	var c pipeline.Certificate
	if json.Unmarshal(q.Certificate, &c) == nil {
		for _, m := range c.Members {
			what := "is of the type " + m.Type
			if m.Type == "" {
				what = fmt.Sprintf("is from %d to %d", m.From, m.To)
			}
			of := variable(q, m.Variable)
			if of != "" {
				of = entity(of)
			}
			of = cmp.Or(of, "the answer")
			conditions = append(conditions, fmt.Sprintf("%d. %s %s", len(conditions)+1, of, what))
		}
	}
	r.Path, r.Conditions = strings.Join(path, "\n"), strings.Join(conditions, "\n")
	return r
}

// variable is the id that a variable of the certificate stands for: an entity of the path, or the date that a condition
// names; "" for the answer.
func variable(q *quarry.Question, name string) string {
	var hop int
	if _, err := fmt.Sscanf(name, "?v%d", &hop); err == nil && hop >= 1 && hop <= len(q.Path) {
		return q.Path[hop-1].To()
	}
	for i, c := range q.Conditions {
		if at := len(q.Path) + i; at < len(q.Atoms) && q.Atoms[at].O == name && name != "?a" {
			return c.Object
		}
	}
	return ""
}
