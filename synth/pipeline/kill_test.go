package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
)

// The child of a test is this test program with a folder to work in and a graph to work on.
const (
	childDir   = "QUARRY_PIPELINE_DIR"
	childGraph = "QUARRY_PIPELINE_GRAPH"
)

// child runs a synthesis and prints a line for each block that is written.
func child(dir string) {
	g, err := kg.OpenMapped(os.Getenv(childGraph))
	if err == nil {
		o := denseOptions()
		o.MaxWalks, o.Concurrency = killedWalks, 3
		var s *Space
		if s, err = NewSpace(g, o, Hooks{Writer: plain{}, Progress: func(walks, _ int) { fmt.Println(walks) }}); err == nil {
			s.block = 8
			_, err = s.Run(context.Background(), dir)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const killedWalks = 240

// A process that is killed with SIGKILL again and again leaves, in the end, what one that was not leaves.
func TestKilledProcessGoesOn(t *testing.T) {
	g := dense(t)
	o := denseOptions()
	o.MaxWalks = killedWalks
	whole, dir := t.TempDir(), t.TempDir()
	must[Report](t)(Run(t.Context(), g, whole, o, Hooks{Writer: plain{}}))
	kills := 0
	for ended := false; !ended; {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), childDir+"="+dir, childGraph+"="+filepath.Dir(graphFile(t, g)))
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for blocks := 0; lines.Scan(); blocks++ {
			if blocks == 5+kills%3 {
				if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
		}
		err = c.Wait()
		if ended = err == nil; ended {
			break
		}
		if c.ProcessState.Exited() {
			t.Fatalf("the child failed: %s", stderr.String())
		}
		kills++
	}
	if kills < 4 {
		t.Fatalf("only %d kills", kills)
	}
	equal(t, fmt.Sprint("after ", kills, " kills"), bothFiles(t, whole), bothFiles(t, dir))
}

var errCut = errors.New("the disk is gone")

// dying lets some operations on the files of a run through, then one write in part, then nothing.
type dying struct {
	file
	left *int
	part float64
}

func (d dying) ok() bool { *d.left--; return *d.left >= 0 }

// Write writes all, or the last time a part.
func (d dying) Write(b []byte) (int, error) {
	if d.ok() {
		return d.file.Write(b)
	}
	if *d.left == -1 {
		n, err := d.file.Write(b[:int(d.part*float64(len(b)))])
		return n, errors.Join(err, errCut)
	}
	return 0, errCut
}

// Sync fails when the time has come.
func (d dying) Sync() error {
	if !d.ok() {
		return errCut
	}
	return nil // what is in the page cache is all a killed process loses nothing of
}

// Truncate too.
func (d dying) Truncate(size int64) error {
	if !d.ok() {
		return errCut
	}
	return d.file.Truncate(size)
}

// A run that is cut off at any operation on its files, with the write done in any part, goes on to the same bytes.
func TestCutOffAtEveryWrite(t *testing.T) {
	g := dense(t)
	o := denseOptions()
	o.MaxWalks = 24
	s := must[*Space](t)(NewSpace(g, o, Hooks{Writer: plain{}}))
	s.block = 6
	whole := t.TempDir()
	want := must[Report](t)(s.Run(t.Context(), whole))
	cuts := 0
	for at := 0; ; at++ {
		over := false
		for _, part := range []float64{0, 0.5, 0.99} {
			dir := t.TempDir()
			left := at
			s.wrap = func(_ string, f file) file { return dying{f, &left, part} }
			_, err := s.Run(t.Context(), dir)
			if over = left >= 0; over {
				break
			}
			if quarry.KindOf(err) == quarry.KindInternal || !errors.Is(err, errCut) {
				t.Fatalf("operation %d: %v", at, err)
			}
			cuts++
			if at%5 == 0 { // and a second time on the way
				left = 5
				_, _ = s.Run(t.Context(), dir)
			}
			left = 1 << 30
			got := must[Report](t)(s.Run(t.Context(), dir))
			equal(t, fmt.Sprintf("cut at operation %d after %v of it", at, part), bothFiles(t, whole), bothFiles(t, dir))
			if got.Digest != want.Digest {
				t.Fatal("another digest")
			}
		}
		if over {
			break
		}
	}
	if cuts < 40 {
		t.Fatalf("%d cuts", cuts)
	}
}

// A ledger that is cut short at any byte is taken up again; one with any other byte in it is refused, or was unfinished
// there.
func TestDamagedFiles(t *testing.T) {
	g := dense(t)
	o := denseOptions()
	o.MaxWalks = 6
	s := must[*Space](t)(NewSpace(g, o, Hooks{Writer: plain{}}))
	dir := t.TempDir()
	must[Report](t)(s.Run(t.Context(), dir))
	whole := bothFiles(t, dir)
	write := func(ledger, questions []byte) {
		for name, b := range map[string][]byte{LedgerFile: ledger, QuestionsFile: questions} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := bytes.IndexByte(whole[0], '\n') + 1
	for n := 0; n < len(whole[0]); n += 83 {
		questions := whole[1]
		if n < first {
			questions = nil // they come after the header
		}
		write(whole[0][:n], questions)
		must[Report](t)(s.Run(t.Context(), dir))
		equal(t, fmt.Sprint("cut at ", n), whole, bothFiles(t, dir))
	}
	refused := 0
	for i := range whole[0] {
		b := bytes.Clone(whole[0])
		b[i] ^= 1 << (i % 7)
		if i%127 > 0 && i < len(b)-1 { // most without files
			_, _, _, err := scan("x", bytes.NewReader(b), func(*header) error { return nil }, func(Entry) error { return nil })
			if kind := quarry.KindOf(err); kind != quarry.KindCorrupt && kind != quarry.KindInvalid {
				t.Fatalf("byte %d of the ledger changed: %v", i, err)
			}
			refused++
			continue
		}
		write(b, whole[1])
		_, err := s.Run(t.Context(), dir)
		switch kind := quarry.KindOf(err); {
		case err == nil && i == len(b)-1: // the last line break
			equal(t, "without the last line break", whole, bothFiles(t, dir))
		case (kind == quarry.KindCorrupt || kind == quarry.KindInvalid) && quarry.HintOf(err) != "":
			refused++
			if now := bothFiles(t, dir); !bytes.Equal(now[0], b) || !bytes.Equal(now[1], whole[1]) {
				t.Fatalf("byte %d: a refused file was changed", i)
			}
		default:
			t.Fatalf("byte %d of the ledger changed: %v", i, err)
		}
	}
	for i := 0; i < len(whole[1]); i += 503 {
		b := bytes.Clone(whole[1])
		b[i] ^= 1
		write(whole[0], b)
		if _, err := s.Run(t.Context(), dir); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Fatalf("byte %d of the questions changed: %v", i, err)
		}
	}
	write(whole[0], whole[1][:len(whole[1])-1])
	if _, err := s.Run(t.Context(), dir); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Fatalf("questions cut short: %v", err)
	}
	write(bytes.Replace(whole[0], []byte("ledger/1"), []byte("ledger/2"), 1), whole[1])
	if _, err := s.Run(t.Context(), dir); quarry.KindOf(err) != quarry.KindInvalid || !bytes.Contains([]byte(err.Error()), []byte("newer")) {
		t.Fatalf("a newer ledger: %v", err)
	}
	write(nil, whole[1])
	if _, err := s.Run(t.Context(), dir); quarry.KindOf(err) != quarry.KindConflict {
		t.Fatalf("questions without a ledger: %v", err)
	}
	if refused < len(whole[0])-2 {
		t.Fatalf("%d of %d refused", refused, len(whole[0]))
	}
}

// Two runs in one folder at once: the second is refused.
func TestLocked(t *testing.T) {
	g, dir := dense(t), t.TempDir()
	inner := errors.New("not run")
	_, err := Run(t.Context(), g, dir, denseOptions(), Hooks{Writer: plain{}, Progress: func(int, int) {
		_, inner = Run(t.Context(), g, dir, denseOptions(), Hooks{Writer: plain{}})
	}})
	if err != nil || quarry.KindOf(inner) != quarry.KindConflict {
		t.Fatalf("%v, then %v", err, inner)
	}
}

func FuzzScan(f *testing.F) {
	var c chain
	head := c.seal(nil, header{Schema: Schema, Settings: Settings{{"seed", "1"}}})
	good := c.seal(bytes.Clone(head), Entry{State: Rejected, Stage: StageWalk, Reason: WalkDeadEnd, Detail: "from <x>"})
	f.Add(good)
	f.Add(good[:len(good)-9])
	f.Add(head)
	f.Add([]byte(headStart))
	f.Add([]byte("{}\n{}\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		h, c, whole, err := scan("x", bytes.NewReader(b), func(*header) error { return nil }, func(e Entry) error {
			if e.Walk != n {
				t.Fatalf("walk %d after %d", e.Walk, n-1)
			}
			n++
			return nil
		})
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid {
				t.Fatal(err)
			}
			return
		}
		if whole > int64(len(b)) || (h == nil) != (whole == 0) || h == nil && n > 0 {
			t.Fatalf("%d of %d bytes, header %v, %d entries", whole, len(b), h, n)
		}
		// what was read whole goes on
		again := c.seal(bytes.Clone(b[:whole]), Entry{Walk: n, State: Rejected, Stage: StageWalk, Reason: WalkDeadEnd})
		if h != nil {
			if _, _, w, err := scan("x", bytes.NewReader(again), func(*header) error { return nil }, func(Entry) error { return nil }); err != nil || w != int64(len(again)) {
				t.Fatal(w, err)
			}
		}
	})
}
