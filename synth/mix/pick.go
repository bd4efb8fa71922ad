package mix

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Item is a question to choose from: an id, and its value for each key of the mixture.
type Item struct {
	ID   string
	Cell []string
}

// Row is one line of the account: what was asked of a cell and what it gave.
type Row struct {
	Cell     []string `json:"cell"`
	Asked    float64  `json:"asked"`    // share, of 1
	Quota    int      `json:"quota"`    // questions asked when nothing is short
	Supply   int      `json:"supply"`   // questions there are
	Taken    int      `json:"taken"`    // questions picked
	Achieved float64  `json:"achieved"` // share of all picked, of 1; 0 when none is
}

// Result is a pick with its account.
type Result struct {
	Keys   []string `json:"keys"`
	Total  int      `json:"total"`  // questions asked
	Taken  int      `json:"taken"`  // questions picked
	Picked []int    `json:"-"`      // indices into the items, ascending
	Rows   []Row    `json:"rows"`   // in the order of the shares
	Beside int      `json:"beside"` // questions in cells that no share names or whose weight is 0
}

// Pick chooses total items by the shares of a mixture. Within a cell those with the lowest SHA-256 of seed and id are
// taken: the order of items changes nothing, and a larger total keeps what a smaller one took as long as no cell's
// quota falls. Ids must be unique.
func Pick(s Spec, total int, seed uint64, items []Item) (*Result, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if total < 0 || total > 1<<40 {
		return nil, bad(fmt.Sprintf("total %d", total), "expected 0 to 2^40", "")
	}
	cell := make(map[string]int, len(s.Shares))
	weights := make([]float64, len(s.Shares))
	sum := 0.
	for i, sh := range s.Shares {
		cell[cellKey(sh.Cell)], weights[i] = i, sh.Weight
		sum += sh.Weight
	}
	res := &Result{Keys: s.Keys, Total: total}
	members := make([][]int, len(s.Shares))
	ids := make(map[string]bool, len(items))
	for n, it := range items {
		if len(it.Cell) != len(s.Keys) {
			return nil, bad("question "+it.ID, fmt.Sprintf("has %d values for the %d keys %s", len(it.Cell), len(s.Keys), strings.Join(s.Keys, ", ")), "")
		}
		if ids[it.ID] {
			return nil, bad("question "+it.ID, "is there twice", "ids must be unique: remove one of them")
		}
		ids[it.ID] = true
		if i, ok := cell[cellKey(it.Cell)]; ok && weights[i] > 0 {
			members[i] = append(members[i], n)
		} else {
			res.Beside++
		}
	}
	supply := make([]int, len(members))
	for i := range members {
		supply[i] = len(members[i])
	}
	quota, take := Quotas(total, weights, nil), Quotas(total, weights, supply)
	for i, m := range members {
		res.Picked = append(res.Picked, lowest(m, take[i], seed, items)...)
		res.Taken += take[i]
		res.Rows = append(res.Rows, Row{Cell: s.Shares[i].Cell, Asked: weights[i] / sum, Quota: quota[i], Supply: supply[i], Taken: take[i]})
	}
	for i := range res.Rows {
		if res.Taken > 0 {
			res.Rows[i].Achieved = float64(res.Rows[i].Taken) / float64(res.Taken)
		}
	}
	slices.Sort(res.Picked)
	return res, nil
}

// lowest is the n members with the lowest hash.
func lowest(members []int, n int, seed uint64, items []Item) []int {
	type drawn struct {
		hash [sha256.Size]byte
		item int
	}
	all := make([]drawn, len(members))
	for i, m := range members {
		all[i] = drawn{hash: sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), items[m].ID...)), item: m}
	}
	slices.SortFunc(all, func(a, b drawn) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	out := make([]int, 0, n)
	for _, d := range all[:n] {
		out = append(out, d.item)
	}
	return out
}

// Short says how many questions are missing to the total.
func (r *Result) Short() int { return r.Total - r.Taken }

// WriteTable writes asked against achieved share, one cell a line.
func (r *Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\tasked\tachieved\tquota\ttaken\tsupply\n", strings.Join(r.Keys, " x "))
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f %%\t%d\t%d\t%d\n", strings.Join(row.Cell, " x "), 100*row.Asked, 100*row.Achieved, row.Quota, row.Taken, row.Supply)
	}
	fmt.Fprintf(t, "all\t100.0 %%\t\t%d\t%d\t\n", r.Total, r.Taken)
	return t.Flush()
}
