package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// result is one measured row; null stands for what there is none of.
type result struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Ours  *float64 `json:"ours"`
	Peer  *float64 `json:"peer"`
	Ratio *float64 `json:"ratio"` // ours / peer
	Bar   *string  `json:"bar"`
	Met   *bool    `json:"met"` // null without a bar or a measurement
}

// run measures one row. After an error the result holds what could still be measured.
func (r row) run(ctx context.Context, l *lab) (result, error) {
	res := result{Name: r.name, Unit: r.unit}
	if r.bar.op != "" {
		res.Bar = new(r.bar.String())
	}
	ours, err := r.ours(ctx, l)
	if err == nil {
		res.Ours = new(ours)
		if r.bar.op != "" {
			res.Met = new(r.bar.met(ours))
		}
	}
	if r.peer == nil {
		return res, err
	}
	peer, peerErr := r.peer(ctx, l)
	if peerErr == nil {
		res.Peer = new(peer)
	}
	if err == nil && peerErr == nil && peer != 0 {
		res.Ratio = new(ours / peer)
	}
	return res, errors.Join(err, peerErr)
}

func table(results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tunit\tours\tpeer\tratio\tbar\tmet")
	for _, r := range results {
		bar, met := "-", "null"
		if r.Bar != nil {
			bar = *r.Bar
		}
		if r.Met != nil {
			met = strconv.FormatBool(*r.Met)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Unit, number(r.Ours), number(r.Peer), number(r.Ratio), bar, met)
	}
	w.Flush()
	return b.String()
}

func number(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 100:
		return strconv.FormatFloat(*v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(*v, 'g', 3, 64)
	}
}

// save writes the results over those of the file, in the order of all; rows that no longer exist go.
func save(path string, all []row, results []result) error {
	var old []result
	src, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(src, &old); err != nil {
			return fmt.Errorf("%s: %w: remove it to start afresh", path, err)
		}
	}
	out := []result{}
	for _, r := range all {
		for _, from := range [][]result{results, old} {
			if i := slices.IndexFunc(from, func(x result) bool { return x.Name == r.name }); i >= 0 {
				out = append(out, from[i])
				break
			}
		}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
