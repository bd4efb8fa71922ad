package cli

import (
	"bytes"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quarry-rl/quarry/synth/audit"
)

// judge SHEET VERDICT[:REASON]...: fills a review sheet in, row by row.
func judge(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	rows, err := audit.ReadSheet(path, bytes.NewReader(data))
	ts.Check(err)
	if len(rows) != len(args)-1 {
		ts.Fatalf("%d rows, %d verdicts", len(rows), len(args)-1)
	}
	for i := range rows {
		rows[i].Verdict, rows[i].Reason, _ = strings.Cut(args[i+1], ":")
	}
	var out bytes.Buffer
	ts.Check(audit.WriteSheet(&out, rows))
	ts.Check(os.WriteFile(path, out.Bytes(), 0o644))
}
