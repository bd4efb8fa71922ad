package bm25

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden file anew")

var few = []passage{
	{"Willi Schneider", "Willi Schneider is a German skeleton racer who competed from 1992 to 2002."},
	{"北京大学", "北京大学是中国的一所大学。Peking University is a university in Beijing."},
	{"", ""},
	{"Łódź", "Łódź is a city in central Poland; cities near it are smaller."},
	{"Racer", "A racer races: racer, racer, racer."},
}

func TestRunsDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := drawPassages(t, 30)
		var first []byte
		for _, run := range []int{0, 1, rapid.IntRange(1, 300).Draw(t, "run")} {
			b := New(Options{RunPostings: run})
			for _, p := range ps {
				b.Add(p.title, p.text)
			}
			var buf writeBuffer
			if _, err := b.WriteTo(&buf); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = buf
			} else if !bytes.Equal(first, buf) {
				t.Fatalf("runs of %d postings give another file", run)
			}
		}
	})
}

// masked is a file without what depends on the version of Unicode: the analyser's hash, and the foot's checksum.
func masked(data []byte) []byte {
	data = slices.Clone(data)
	clear(data[len(data)-40:])
	return data
}

func TestGolden(t *testing.T) {
	got := bytesOf(t, Options{}, few)
	golden := filepath.Join("testdata", "v1.bm25")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(masked(want), masked(got)) {
		t.Error("the index of the same passages is another file than v1.bm25: raise the version, keep reading the old one")
	}
}

func TestDamage(t *testing.T) {
	good := bytesOf(t, Options{}, few)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if x, err := FromBytes(bad); err == nil {
			t.Fatalf("byte %d is flipped and %d passages open", i, x.Len())
		} else if k := quarry.KindOf(err); k != quarry.KindCorrupt && (k != quarry.KindInvalid || i < 8 || i > 11) {
			t.Fatalf("byte %d: %s %v", i, k, err)
		}
		if _, err := FromBytes(good[:i]); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

// sealed gives data a foot whose checksum is right.
func sealed(data []byte) []byte {
	data = slices.Clone(data)
	if len(data) >= footSize {
		foot := data[len(data)-footSize:]
		binary.LittleEndian.PutUint32(foot[footSize-8:], crc32.Checksum(foot[:footSize-8], castagnoli))
	}
	return data
}

func TestRefused(t *testing.T) {
	good := bytesOf(t, Options{}, few)
	for name, tc := range map[string]struct {
		change func([]byte)
		kind   quarry.Kind
		says   string
	}{
		"newer":    {func(b []byte) { b[8] = 2 }, quarry.KindInvalid, "version 2 of the format, this program reads version 1"},
		"analyser": {func(b []byte) { copy(b[len(b)-72:], "other/7\x00") }, quarry.KindInvalid, "built by analyser other/7"},
		"tables":   {func(b []byte) { b[len(b)-40] ^= 1 }, quarry.KindInvalid, "built by analyser quarry/1"},
		"section":  {func(b []byte) { b[len(b)-footSize+24] ^= 8 }, quarry.KindCorrupt, "section 1 stands outside"},
		"far":      {func(b []byte) { b[len(b)-footSize+15] = 0xff }, quarry.KindCorrupt, "section 0 stands outside"},
		"body":     {func(b []byte) { b[20] ^= 1 }, quarry.KindCorrupt, "checksum of section 0"},
	} {
		bad := slices.Clone(good)
		tc.change(bad)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, sealed(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if quarry.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %s %v, expected %s with %q", name, quarry.KindOf(err), err, tc.kind, tc.says)
		}
	}
	for path, kind := range map[string]quarry.Kind{filepath.Join(t.TempDir(), "none"): quarry.KindNotFound, t.TempDir(): quarry.KindInvalid} {
		if _, err := Open(path); quarry.KindOf(err) != kind {
			t.Errorf("%s: %v, want %s", path, err, kind)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(empty); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("empty file: %v", err)
	}
}

// TestFsck changes the body of an index and its checksums with it: only the structure can tell.
func TestFsck(t *testing.T) {
	good := bytesOf(t, Options{}, few)
	x, err := FromBytes(good)
	if err != nil {
		t.Fatal(err)
	}
	for s := range x.secs {
		for i := x.secs[s].off; i < x.secs[s].off+x.secs[s].size; i++ {
			if s == secTerms && ((i-x.secs[s].off)%entrySize == entrySize-1 || (i-x.secs[s].off)%entrySize/4 == 4) {
				continue // the byte without a meaning, and weights: any but 0 is possible
			}
			if s == secPostings && good[i] != 0 && i%2 == 1 {
				continue // impacts: any that keep their maximum are possible
			}
			bad := slices.Clone(good)
			bad[i] ^= 0x40
			foot := bad[len(bad)-footSize:]
			binary.LittleEndian.PutUint64(foot[24*s+16:], uint64(crc32.Checksum(bad[x.secs[s].off:x.secs[s].off+x.secs[s].size], castagnoli)))
			y, err := FromBytes(sealed(bad))
			if err != nil {
				t.Fatal(err)
			}
			if err := y.Fsck(); quarry.KindOf(err) != quarry.KindCorrupt && s != secPostings {
				t.Fatalf("section %d byte %d: %v", s, i-x.secs[s].off, err)
			}
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		opt  Options
		kind quarry.Kind
	}{
		"k1":   {Options{K1: -1}, quarry.KindInvalid},
		"b":    {Options{K1: 1, B: 2}, quarry.KindInvalid},
		"temp": {Options{RunPostings: 1, TempDir: filepath.Join(t.TempDir(), "none")}, quarry.KindNotFound},
	} {
		b := New(tc.opt)
		b.Add("a", "b")
		b.Add("a", "b")
		if err := b.WriteFile(filepath.Join(t.TempDir(), "x")); quarry.KindOf(err) != tc.kind {
			t.Errorf("%s: %v, want %s", name, err, tc.kind)
		}
	}
	temp, dir := t.TempDir(), t.TempDir()
	b := New(Options{RunPostings: 1, TempDir: temp})
	b.Add("a c", "b")
	b.Add("a", "d")
	if left, _ := os.ReadDir(temp); len(left) != 2 {
		t.Errorf("%d runs, want 2", len(left))
	}
	if err := b.WriteFile(filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("%d temporary files are left", len(left))
	}
	b.Add("e", "f")
	if err := b.WriteFile(filepath.Join(dir, "y")); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("a builder that is used up: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files, want 1", len(left))
	}
}

// FuzzOpen searches files that are damaged below right checksums of the foot, as large files are opened.
func FuzzOpen(f *testing.F) {
	good := bytesOf(f, Options{}, few)
	f.Add(good, "racer university")
	f.Add(bytesOf(f, Options{}, nil), "a")
	f.Add(good[:100], "北京")
	x, err := FromBytes(good)
	if err != nil {
		f.Fatal(err)
	}
	for s := range x.secs {
		bad := slices.Clone(good)
		for i := range 8 {
			bad[x.secs[s].off+uint64(i)] ^= 0xff
		}
		f.Add(bad, "willi schneider racer city łódź")
	}
	f.Fuzz(func(t *testing.T, data []byte, query string) {
		x, err := open("", sealed(data), false)
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid {
				t.Fatal(err)
			}
			return
		}
		if x.Len() > 1<<20 {
			return // as many windows as passages are claimed
		}
		for _, k := range []int{1, 10, 1000} {
			for _, h := range x.Search(query, k, nil) {
				if int(h.Passage) >= x.Len() {
					t.Fatalf("passage %d of %d", h.Passage, x.Len())
				}
			}
		}
		x.Fsck()
	})
}
