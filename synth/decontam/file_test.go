package decontam_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/decontam"
)

var update = flag.Bool("update", false, "write testdata/v1.qdecon anew")

const golden = "testdata/v1.qdecon"

func TestGolden(t *testing.T) {
	b := build(t, benchmarkItems(t))
	if *update {
		if err := os.WriteFile(golden, b.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Encode(), want) {
		t.Error("the file differs from the golden one: a change of format or hashes needs a new version")
	}
	got, err := decontam.Decode(golden, want)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "planted" || got.Len() != b.Len() || !bytes.Equal(got.Encode(), want) {
		t.Errorf("%s with %d questions does not come back", got.Name, got.Len())
	}
	for _, it := range benchmarkItems(t) {
		if a, b := b.Check(it), got.Check(it); !reflect.DeepEqual(a, b) {
			t.Errorf("%q: %+v from the file, %+v from memory", it.Text, b, a)
		}
	}
}

func TestNothingInClear(t *testing.T) {
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range benchmarkItems(t) {
		for _, w := range strings.Fields(it.Text + " " + strings.Join(it.Answers, " ")) {
			if len(w) >= 4 && bytes.Contains(bytes.ToLower(data), []byte(strings.ToLower(w))) {
				t.Errorf("%q stands in the file", w)
			}
		}
	}
	// another salt shares no hash
	other, err := decontam.Build("planted", benchmarkItems(t), decontam.Salt{9})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := 0; i+8 <= len(data)-32; i++ {
		seen[string(data[i:i+8])] = true
	}
	enc := other.Encode()
	record := enc[82+len("planted") : len(enc)-32]
	n := binary.LittleEndian.Uint32(record[8:])
	for i := range int(n) {
		if at := 32 + 128 + 8*i; seen[string(record[at:at+8])] {
			t.Errorf("n-gram %d has the same hash under another salt", i)
		}
	}
}

func TestDamage(t *testing.T) {
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		flipped := bytes.Clone(data)
		flipped[i] ^= 1 << (i % 8)
		_, err := decontam.Decode("f", flipped)
		want := quarry.KindCorrupt
		if i >= 8 && i < 12 {
			want = quarry.KindInvalid // the version
		}
		if quarry.KindOf(err) != want {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
		if _, err := decontam.Decode("f", data[:i]); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Fatalf("cut off at %d: %v", i, err)
		}
	}
	newer := bytes.Clone(data)
	newer[8] = 2
	if _, err := decontam.Decode("f", seal(newer)); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("newer: %v", err)
	}
	tables := bytes.Clone(data)
	tables[50] ^= 1
	if _, err := decontam.Decode("f", seal(tables)); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "other tables") {
		t.Errorf("other tables: %v", err)
	}
}

// seal renews the checksum.
func seal(data []byte) []byte {
	body := data[:len(data)-32]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

func TestHashFile(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	out := filepath.Join(dir, "out.qdecon")
	s, err := decontam.HashFile(ctx, "testdata/benchmark.json", out)
	if err != nil {
		t.Fatal(err)
	}
	items := benchmarkItems(t)
	if s.Questions != len(items) || s.Answers != len(items) || s.Pages != 1 {
		t.Errorf("%+v", s)
	}
	for _, path := range []string{out, "testdata/benchmark.json"} { // hashed and plain serve alike
		b, err := decontam.Load(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		for i, it := range items {
			rules := map[decontam.Rule]bool{}
			for _, m := range b.Check(it) {
				if m.Question == i+1 {
					rules[m.Rule] = true
				}
			}
			if !rules[decontam.RuleGram] || !rules[decontam.RuleNear] || rules[decontam.RulePages] != (len(it.Pages) > 0) {
				t.Errorf("%s: question %d: %v", path, i+1, rules)
			}
		}
	}
	first, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decontam.HashFile(ctx, "testdata/benchmark.json", out); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(out); err != nil || bytes.Equal(first, second) {
		t.Errorf("the salt is the same twice: %v", err)
	}
	if _, err := decontam.HashFile(ctx, out, out); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("hashed twice: %v", err)
	}
	if _, err := decontam.Load(ctx, filepath.Join(dir, "none")); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("missing: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := os.ReadFile(golden)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[:len(data)-32])
	f.Add(data[:90])
	f.Fuzz(func(t *testing.T, body []byte) {
		// with a right checksum, so that what stands behind it is tried too
		b, err := decontam.Decode("f", seal(append(bytes.Clone(body), make([]byte, 32)...)))
		if err != nil {
			return
		}
		b.Check(decontam.Item{Text: "Who is Nemo, and which river flows through the town of the painter?", Answers: []string{"Teviel"}, Pages: []string{"x"}})
		if !bytes.Equal(b.Encode(), seal(append(bytes.Clone(body), make([]byte, 32)...))) {
			t.Fatal("what was read is not what was written")
		}
	})
}

// The same plain file finds the same again: its salt is its own, so that a ledger can name it. A hashed file's is drawn.
func TestLoadIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	load := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := decontam.Load(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return b.Digest()
	}
	const text = "Who wrote the longest book about the history of lighthouses?\nWhere is it kept?\n"
	first := load("a.txt", text)
	if load("a.txt", text) != first || load("a.txt", text+"And why?\n") == first || load("b.txt", text) == first {
		t.Error("the digest is not that of name and text")
	}
	var digests []string
	for _, name := range []string{"1.qdecon", "2.qdecon"} {
		s, err := decontam.HashFrom(t.Context(), "a.txt", strings.NewReader(text), filepath.Join(dir, name))
		if err != nil || s.Questions != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(data), "lighthouses") {
			t.Fatalf("the text is in the file: %v", err)
		}
		b, err := decontam.Decode(name, data)
		if err != nil || len(b.Check(decontam.Item{Text: "Who wrote the longest book about the history of lighthouses?"})) == 0 {
			t.Fatalf("the question is not found: %v", err)
		}
		digests = append(digests, b.Digest())
	}
	if digests[0] == digests[1] {
		t.Error("two hashed files have one salt")
	}
}
