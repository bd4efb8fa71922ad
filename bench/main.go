// Command bench measures quarry beside its peers in one run on one machine. It prints one line per row and writes the
// same rows to results.json. With names it measures those rows only and keeps the others of the file.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

const resultsFile = "results.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, names []string) int {
	chosen, err := choose(rows(), names)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 2
	}
	l, err := newLab("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	defer l.close()
	var results []result
	failed := 0
	for _, r := range chosen {
		if r.data && os.Getenv(dataEnv) == "" {
			fmt.Fprintf(os.Stderr, "left out %s: set %s to the folder with the data sets that bench/rows.go names\n", r.name, dataEnv)
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", r.name)
		res, err := r.run(ctx, l)
		if err != nil {
			failed = 1
			fmt.Fprintf(os.Stderr, "error: %s: %v\n", r.name, err)
		}
		results = append(results, res)
	}
	fmt.Print(table(results))
	if ctx.Err() != nil {
		return 130 // an interrupted measurement is no result
	}
	if err := save(resultsFile, rows(), results); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return failed
}

func choose(all []row, names []string) ([]row, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []row
	for _, n := range names {
		i := slices.IndexFunc(all, func(r row) bool { return r.name == n })
		if i < 0 {
			var known []string
			for _, r := range all {
				known = append(known, r.name)
			}
			return nil, fmt.Errorf("no benchmark %q, there are: %s", n, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}
