package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// Every flipped bit of the file is found, by Open or by Fsck, and neither panics.
func TestEveryFlippedByteIsFound(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", GraphFile))
	if err != nil {
		t.Fatal(err)
	}
	good, err := parse("whole", whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		data := clone(whole)
		data[i] ^= 1 << (i % 8)
		g, err := parse("flipped", data)
		if err != nil {
			var e *quarry.Error
			if !errors.As(err, &e) || e.Hint == "" || e.Kind != quarry.KindCorrupt && e.Kind != quarry.KindInvalid {
				t.Fatalf("byte %d: %#v", i, err)
			}
			continue
		}
		g.manifest.Counts.fill(&good.arrays)
		faults, err := g.Fsck(context.Background())
		if err != nil || len(faults) == 0 {
			t.Fatalf("byte %d of %d: not found: %v", i, len(whole), err)
		}
	}
}

func TestEveryCutIsFound(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", GraphFile))
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := parse("cut", whole[:n:n]); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := parse("longer", append(clone(whole), 0)); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Fatalf("one byte more: %v", err)
	}
}

// clone keeps the alignment of a mapped file.
func clone(b []byte) []byte {
	out := aligned(len(b))
	copy(out, b)
	return out
}

func TestOpenRefuses(t *testing.T) {
	golden := filepath.Join("testdata", "tiny")
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		kind   quarry.Kind
		says   string
	}{
		"no manifest": {func(t *testing.T, dir string) { remove(t, dir, ManifestFile) }, quarry.KindNotFound, "did not finish"},
		"no graph":    {func(t *testing.T, dir string) { remove(t, dir, GraphFile) }, quarry.KindNotFound, "no such file"},
		"newer graph": {func(t *testing.T, dir string) {
			edit(t, dir, GraphFile, func(b []byte) []byte { b[8] = 2; return b })
		}, quarry.KindInvalid, "version 2, this program reads version 1"},
		"older graph": {func(t *testing.T, dir string) {
			edit(t, dir, GraphFile, func(b []byte) []byte { b[8] = 0; return b })
		}, quarry.KindCorrupt, "version 0, expected 1"},
		"newer manifest": {func(t *testing.T, dir string) {
			edit(t, dir, ManifestFile, func(b []byte) []byte { return []byte(`{"schema": "quarry.graph/2", "more": 1}`) })
		}, quarry.KindInvalid, `"quarry.graph/2", this program reads quarry.graph/1`},
		"other manifest": {func(t *testing.T, dir string) {
			edit(t, dir, ManifestFile, func(b []byte) []byte { return []byte(`{"schema": "quarry.dataset/1"}`) })
		}, quarry.KindCorrupt, "expected quarry.graph/1"},
		"cut manifest": {func(t *testing.T, dir string) {
			edit(t, dir, ManifestFile, func(b []byte) []byte { return b[:40] })
		}, quarry.KindCorrupt, "not a JSON object"},
		"other key": {func(t *testing.T, dir string) {
			edit(t, dir, ManifestFile, func(b []byte) []byte { return []byte(strings.Replace(string(b), `"bytes"`, `"size"`, 1)) })
		}, quarry.KindCorrupt, "size"},
		"other file name": {func(t *testing.T, dir string) {
			edit(t, dir, ManifestFile, func(b []byte) []byte { return []byte(strings.Replace(string(b), GraphFile, "../x", 1)) })
		}, quarry.KindCorrupt, "expected graph.qkg"},
		"other digest": {func(t *testing.T, dir string) {
			edit(t, dir, ManifestFile, func(b []byte) []byte { return []byte(strings.Replace(string(b), `"digest": "`, `"digest": "0`, 1)) })
		}, quarry.KindCorrupt, "is not the file that manifest.json describes"},
		"empty": {func(t *testing.T, dir string) { edit(t, dir, GraphFile, func([]byte) []byte { return nil }) }, quarry.KindCorrupt, "0 bytes"},
		"other magic": {func(t *testing.T, dir string) {
			edit(t, dir, GraphFile, func(b []byte) []byte { b[0] = 'q'; return b })
		}, quarry.KindCorrupt, "does not begin"},
		"cut": {func(t *testing.T, dir string) {
			edit(t, dir, GraphFile, func(b []byte) []byte { return b[:len(b)-100] })
		}, quarry.KindCorrupt, "cut off"},
		"table": {func(t *testing.T, dir string) {
			edit(t, dir, GraphFile, func(b []byte) []byte { b[len(b)-200] ^= 1; return b })
		}, quarry.KindCorrupt, "table of sections"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
				t.Fatal(err)
			}
			c.change(t, dir)
			g, err := Open(dir)
			if g != nil || quarry.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) || quarry.HintOf(err) == "" {
				t.Fatalf("%v of kind %s, expected %s saying %q", err, quarry.KindOf(err), c.kind, c.says)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, dir, name string, change func([]byte) []byte) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

// reseal gives a changed file the checksums of its content: only Fsck's other checks can find the change.
func reseal(data []byte) {
	tableLen := len((&arrays{}).columns()) * entryLen
	table := data[len(data)-tailLen-tableLen : len(data)-tailLen]
	for e := table; len(e) > 0; e = e[entryLen:] {
		at, n := binary.LittleEndian.Uint64(e[16:]), binary.LittleEndian.Uint64(e[24:])
		sum := sha256.Sum256(data[at : at+n])
		copy(e[32:entryLen], sum[:])
	}
	copy(data[len(data)-tailLen:], seal(data[:headLen], table, uint64(len(data))))
}

// place is where an item of a section stands in the file.
func place(t *testing.T, data []byte, name string) (at, n int) {
	t.Helper()
	g, err := parse("whole", data)
	if err != nil {
		t.Fatal(err)
	}
	tableLen := len(g.table) * entryLen
	for i, s := range g.table {
		if s.name == name {
			e := data[len(data)-tailLen-tableLen+i*entryLen:]
			return int(binary.LittleEndian.Uint64(e[16:])), len(s.data)
		}
	}
	t.Fatal("no section " + name)
	return 0, 0
}

// Faults that have the right checksums, as a broken writer would make them, are found in their section and place.
func TestFsckNamesThePlace(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", GraphFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		section string
		at      int // byte
		to      byte
		want    string
	}{
		{"csr.off", 4, 200, "section csr.off, item 2: 5 after 200"},
		{"csr.out", 4, 0, "section csr.steps, half-edge 0 of entity 0: inverse is false, expected true by section csr.out"},
		{"csr.targets", 0, 9, "section csr.targets, item 0: 9, expected below 4"},
		{"csr.targets", 0, 2, "section csr.in, half-edge 3 of entity 1: edge 0 leads from 0 by 0 to 2, expected by 0 to 1"},
		{"csr.steps", 0, 7, "section csr.steps, item 0: relation 7, expected below 2"},
		{"csr.in", 0, 9, "section csr.in, item 0: 9, expected below 3"},
		{"csr.in", 0, 1, "section csr.in, half-edge 3 of entity 1: edge 1, expected one of entity 0, 0 to below 1"},
		{"csr.docs", 0, 7, "section csr.docs, item 0: document 7, expected below 3"},
		{"csr.docs", 0, 1, "section csr.docs, edge 0: document 1, its evidence begins with document 0"},
		{"ent.id.off", 8, 99, "section ent.id.off, item 2: 4 after 99"},
		{"ent.id", 1, '9', "section ent.id, item 2: \"Q9\" is also the id of item 0"},
		{"ent.id.hash", 0, 1, "section ent.id.hash, item 0: 4 items do not lead to their texts, from this one on; expected 4 items"},
		{"ent.id.num", 0, 2, "section ent.id.num, item 0: 4 items do not lead to their texts, from this one on; expected 4 items"},
		{"ent.name", 0, 99, "section ent.name, item 0: 99, expected below 22"},
		{"ent.name.num", 0, 3, "section ent.name.num, item 0: 8 items do not lead to their texts, from this one on; expected 8 items"},
		{"ent.alias", 0, 99, "section ent.alias, item 0: 99, expected below 22"},
		{"ent.doc", 4, 99, "section ent.doc, item 1: 99, expected below 3"},
		{"ent.doc", 4, 0, "section ent.doc, item 1: 0 after 1 in one list"},
		{"ent.type", 0, 99, "section ent.type, item 0: 99, expected below 4"},
		{"rel.label", 0, 99, "section rel.label, item 0: 99, expected below 22"},
		{"doc.first", 4, 99, "section doc.first, item 2: 3 after 99"},
		{"doc.sha256", 0, 0, "section text, document \"d1\": the text does not have the SHA-256 of section doc.sha256"},
		{"pas.off", 8, 0, "section pas.off, item 1: 0 after 0"},
		{"text", 0, 'a', "section text, document \"d1\": the text does not have the SHA-256 of section doc.sha256"},
		{"text", 16, '_', "section text, byte 16, after sentence 0 of document \"d1\": '_', expected ' '"},
		{"ev", 0, 99, "section ev, item 0: 99, expected below 6"},
		{"ev", 0, 2, "section ev, edge 0: 2 after 2: not sorted"},
		{"ev.off", 4, 99, "section ev.off, item 2: 3 after 99"},
		{"span.edge", 0, 99, "section span.edge, item 0: 99, expected below 3"},
		{"span.end", 0, 99, "section span.end, item 0: span 4 to 99 of a document of 52 bytes"},
		{"qual.edge", 0, 99, "section qual.edge, item 0: 99, expected below 3"},
		{"qual.doc", 0, 9, "section qual.doc, item 0: document 9, expected below 3"},
		{"qual.off", 4, 99, "section qual.off, item 2: 3 after 99"},
		{"qual.prop", 0, 99, "section qual.prop, item 0: 99, expected below 22"},
		{"str.off", 8, 1, "section str.off, item 1: 1: string 0 is not empty"},
	} {
		data := clone(whole)
		at, n := place(t, data, c.section)
		if c.at >= n || data[at+c.at] == c.to {
			t.Fatalf("%s: byte %d of %d is %d already", c.section, c.at, n, c.to)
		}
		data[at+c.at] = c.to
		reseal(data)
		g, err := parse("changed", data)
		if err != nil {
			t.Fatalf("%s: %v", c.section, err)
		}
		g.manifest.Counts.fill(&g.arrays)
		faults, err := g.Fsck(context.Background())
		if err != nil || len(faults) == 0 {
			t.Errorf("%s byte %d: no fault, %v", c.section, c.at, err)
			continue
		}
		var all []string
		for _, f := range faults {
			all = append(all, f.String())
		}
		if !strings.Contains(strings.Join(all, "\n")+"\n", c.want+"\n") {
			t.Errorf("%s byte %d: expected %s, got\n%s", c.section, c.at, c.want, strings.Join(all, "\n"))
		}
	}
}

func TestFsckCountsAndGaps(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", GraphFile))
	if err != nil {
		t.Fatal(err)
	}
	data := clone(whole)
	at, n := place(t, data, "csr.off")
	data[at+n] = 1 // between two sections
	g, err := parse("changed", data)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := g.Fsck(context.Background())
	if err != nil || len(faults) != 2 || faults[0].Section != "csr.out" || faults[1].Section != ManifestFile {
		t.Fatal(faults, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.Fsck(ctx); quarry.KindOf(err) != quarry.KindCanceled {
		t.Fatal(err)
	}
}
