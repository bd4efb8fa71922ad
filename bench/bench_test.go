package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseBench(t *testing.T) {
	const out = `goos: linux
BenchmarkWalk-2       	     100	   2000 ns/op	 1000 steps/s
BenchmarkWalk-2       	     100	   2500 ns/op	 800.5 steps/s	 12 B/op
BenchmarkWalkLong-2   	     100	   9999 ns/op	 1 steps/s
BenchmarkAppend/callers=64-2 	     100	   9999 ns/op	 64 events/s
BenchmarkAppend/callers=1-2 	     100	   9999 ns/op	 1 events/s
BenchmarkOneCore 	     100	   9999 ns/op
PASS
`
	for _, tc := range []struct {
		name, metric string
		want         []float64
		err          string
	}{
		{"BenchmarkWalk", "steps/s", []float64{1000, 800.5}, ""},
		{"BenchmarkWalk", "ns/op", []float64{2000, 2500}, ""},
		{"BenchmarkAppend/callers=64", "events/s", []float64{64}, ""},
		{"BenchmarkOneCore", "ns/op", []float64{9999}, ""},
		{"BenchmarkAppend", "events/s", nil, "BenchmarkAppend did not run"},
		{"BenchmarkWalk", "tokens/s", nil, "BenchmarkWalk reports no tokens/s"},
		{"BenchmarkRun", "steps/s", nil, "BenchmarkRun did not run"},
	} {
		got, err := parseBench(out, tc.name, tc.metric)
		if !reflect.DeepEqual(got, tc.want) || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%s %s: %v, %v", tc.name, tc.metric, got, err)
		}
	}
	if _, err := parseBench("BenchmarkWalk-2 1 0 ns/op\n", "BenchmarkWalk", "ns/op"); err == nil {
		t.Error("0 ns/op passes for a measurement")
	}
}

func constant(v float64) measure {
	return func(context.Context, *lab) (float64, error) { return v, nil }
}

func broken(context.Context, *lab) (float64, error) { return 7, errors.New("broken") }

func TestRows(t *testing.T) {
	for _, tc := range []struct {
		row  row
		want string // JSON of the result
		err  bool
	}{
		{row{name: "a", unit: "s", bar: bar{"<=", 3}, ours: constant(4), peer: constant(8)},
			`{"name":"a","unit":"s","ours":4,"peer":8,"ratio":0.5,"bar":"\u003c= 3","met":false}`, false},
		{row{name: "a", unit: "s", bar: bar{"<", 3}, ours: constant(3)},
			`{"name":"a","unit":"s","ours":3,"peer":null,"ratio":null,"bar":"\u003c 3","met":false}`, false},
		{row{name: "a", unit: "s", bar: bar{">=", 3}, ours: constant(3)},
			`{"name":"a","unit":"s","ours":3,"peer":null,"ratio":null,"bar":"\u003e= 3","met":true}`, false},
		{row{name: "a", unit: "s", ours: constant(3)},
			`{"name":"a","unit":"s","ours":3,"peer":null,"ratio":null,"bar":null,"met":null}`, false},
		{row{name: "a", unit: "s", bar: bar{"<=", 9}, ours: broken, peer: constant(2)},
			`{"name":"a","unit":"s","ours":null,"peer":2,"ratio":null,"bar":"\u003c= 9","met":null}`, true},
	} {
		res, err := tc.row.run(t.Context(), nil)
		got, _ := json.Marshal(res)
		if string(got) != tc.want || (err != nil) != tc.err {
			t.Errorf("%s, %v\nwant %s", got, err, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	res, err := row{name: "wall", unit: "s", bar: bar{"<=", 180}, ours: constant(151.7), peer: constant(0.5)}.run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "name  unit  ours  peer  ratio  bar     met\nwall  s     152   0.5   303    <= 180  true\nmem   MB    -     -     -      -       null\n"
	if got := table([]result{res, {Name: "mem", Unit: "MB"}}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSaveKeepsTheOtherRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	all := []row{{name: "a"}, {name: "b"}}
	if err := save(path, all, []result{{Name: "b", Ours: new(1.0)}}); err != nil {
		t.Fatal(err)
	}
	if err := save(path, append(all, row{name: "c"}), []result{{Name: "c"}, {Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []result
	if err := json.Unmarshal(src, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Name != "a" || got[1].Name != "b" || *got[1].Ours != 1 || got[2].Name != "c" {
		t.Errorf("%s", src)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := save(path, all, nil); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("torn file: %v", err)
	}
}

func TestChoose(t *testing.T) {
	got, err := choose(rows(), []string{"walk", "build-cpu"})
	if err != nil || len(got) != 2 || got[0].name != "walk" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := choose(rows(), []string{"walks"}); err == nil || !strings.Contains(err.Error(), "there are: build-cpu") {
		t.Errorf("%v", err)
	}
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name] || r.unit == "" || r.ours == nil {
			t.Errorf("row %q: twice, without unit or without measurement", r.name)
		}
		seen[r.name] = true
	}
}

// TestCommandMeasures burns CPU and memory in a child and expects to see both.
func TestCommandMeasures(t *testing.T) {
	u, err := command(t.Context(), t.TempDir(), nil, nil, "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	if err != nil || u.cpu <= 0 || u.wall < u.cpu/4 || u.memory < 1e5 || u.memory > 1e9 {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := command(t.Context(), t.TempDir(), nil, nil, "sh", "-c", "echo lost >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%v", err)
	}
}
