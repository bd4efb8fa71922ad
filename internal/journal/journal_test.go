package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	quarry "github.com/quarry-rl/quarry"
)

func open(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := Open(path, "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func all(t testing.TB, j *Journal) []Event {
	t.Helper()
	var out []Event
	if err := j.Replay(func(e Event) error { out = append(out, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func event(n int) Event {
	return Event{At: time.Unix(1700000000, int64(n)).UTC(), Kind: "k", Body: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n))}
}

func wantKind(t *testing.T, err error, kind quarry.Kind, words ...string) {
	t.Helper()
	if quarry.KindOf(err) != kind {
		t.Fatalf("kind %q, want %q: %v", quarry.KindOf(err), kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error()+" | "+quarry.HintOf(err), w) {
			t.Errorf("error does not say %q: %v | %s", w, err, quarry.HintOf(err))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	// A name full of characters that mean something in a URI.
	path := filepath.Join(t.TempDir(), "a b%41?x=#1.db")
	j := open(t, path)
	big := bytes.Repeat([]byte("episode "), 100_000)
	if err := j.Append(t.Context(), []Event{event(0), event(1)}, [][]byte{big, {}, big}); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 100_000 {
		t.Fatalf("file of its own name, compressed: %v %v", info, err)
	}
	j = open(t, path)
	if err := j.Append(t.Context(), []Event{event(2)}, nil); err != nil {
		t.Fatal(err)
	}
	want := []Event{event(0), event(1), event(2)}
	for i := range want {
		want[i].Seq = int64(i + 1)
	}
	if d := cmp.Diff(want, all(t, j)); d != "" {
		t.Error(d)
	}
	for _, b := range [][]byte{big, {}} {
		got, err := j.Blob(Digest(b))
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("blob of %d bytes: got %d, %v", len(b), len(got), err)
		}
	}
	_, err := j.Blob(Digest([]byte("never stored")))
	wantKind(t, err, quarry.KindNotFound)
	stop := fmt.Errorf("stop")
	n := 0
	if err := j.Replay(func(Event) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("Replay after an error: %v, %d calls", err, n)
	}
}

// SHA-256 of "abc", FIPS 180-2 appendix B.1.
func TestDigest(t *testing.T) {
	if got := Digest([]byte("abc")); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
}

func TestAppendRefuses(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j.db"))
	for name, e := range map[string]Event{
		"no kind":  {Body: json.RawMessage(`{}`)},
		"no body":  {Kind: "k"},
		"bad body": {Kind: "k", Body: json.RawMessage(`{"a":`)},
	} {
		t.Run(name, func(t *testing.T) {
			wantKind(t, j.Append(t.Context(), []Event{event(0), e}, [][]byte{[]byte("b")}), quarry.KindInvalid, "event 2 of 2")
		})
	}
	if got := all(t, j); len(got) != 0 {
		t.Errorf("a refused append left %v", got)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	wantKind(t, j.Append(t.Context(), []Event{event(0)}, nil), quarry.KindCanceled)
	wantKind(t, j.Replay(func(Event) error { return nil }), quarry.KindCanceled)
	_, err := j.Blob("x")
	wantKind(t, err, quarry.KindCanceled)
	if err := j.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// Two journals on one file: the one whose numbers are behind is refused instead of weaving the two together.
func TestSecondWriterIsFenced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	a, b := open(t, path), open(t, path)
	if err := a.Append(t.Context(), []Event{event(0)}, nil); err != nil {
		t.Fatal(err)
	}
	wantKind(t, b.Append(t.Context(), []Event{event(1)}, nil), quarry.KindConflict, "another process")
	if got := all(t, a); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestAppendWithEndedContext(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j.db"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Either the writer took it, then it is there, or it did not, then it is not: never in between.
	stored := 0
	for i := range 50 {
		if err := j.Append(ctx, []Event{event(i)}, nil); err == nil {
			stored++
		} else {
			wantKind(t, err, quarry.KindCanceled)
		}
	}
	if got := all(t, j); len(got) != stored {
		t.Errorf("%d events there, %d reported", len(got), stored)
	}
}

// Whatever callers append at the same time, each call's events stay together and in order, and all are there.
func TestConcurrentAppends(t *testing.T) {
	dir, run := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		j, err := Open(filepath.Join(dir, fmt.Sprintf("%d.db", run)), "test", 1)
		if err != nil {
			rt.Fatal(err)
		}
		defer j.Close()
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 12).Draw(rt, "sizes")
		var wg sync.WaitGroup
		for caller, n := range sizes {
			wg.Go(func() {
				var ev []Event
				for i := range n {
					ev = append(ev, Event{Kind: strconv.Itoa(caller), Body: json.RawMessage(strconv.Itoa(i))})
				}
				if err := j.Append(t.Context(), ev, [][]byte{fmt.Appendf(nil, "blob %d", caller%3)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		seen := map[string]int{}
		last := ""
		total := 0
		if err := j.Replay(func(e Event) error {
			total++
			if seen[e.Kind] > 0 && last != e.Kind {
				rt.Errorf("events of caller %s are torn apart", e.Kind)
			}
			if string(e.Body) != strconv.Itoa(seen[e.Kind]) {
				rt.Errorf("caller %s: event %s at place %d", e.Kind, e.Body, seen[e.Kind])
			}
			seen[e.Kind]++
			last = e.Kind
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		want := 0
		for caller, n := range sizes {
			want += n
			if _, err := j.Blob(Digest(fmt.Appendf(nil, "blob %d", caller%3))); err != nil {
				rt.Error(err)
			}
		}
		if total != want {
			rt.Errorf("%d events, want %d", total, want)
		}
	})
}

// Every event that Append reported is there after SIGKILL.
func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMain$")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_WRITER="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reported := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("writer said %q", lines.Text())
		}
		reported = n
		if reported == 40 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || reported < 40 {
		t.Fatalf("writer ended by itself (%v) after %d", err, reported)
	}
	j := open(t, path)
	got := all(t, j)
	if len(got) < reported {
		t.Errorf("%d events there, %d were reported durable", len(got), reported)
	}
	for i := range got {
		if _, err := j.Blob(Digest(fmt.Appendf(nil, "blob %d", i+1))); err != nil {
			t.Error(err)
		}
	}
}

func TestMain(m *testing.M) {
	if path := os.Getenv("JOURNAL_TEST_WRITER"); path != "" {
		writeForever(path)
	}
	os.Exit(m.Run())
}

func writeForever(path string) {
	j, err := Open(path, "test", 1)
	for i := 1; err == nil; i++ {
		if err = j.Append(context.Background(), []Event{event(i)}, [][]byte{fmt.Appendf(nil, "blob %d", i)}); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// The file of version 1 stays readable: testdata/v1.db was written by the first version of this package.
func TestGoldenFile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "v1.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "v1.db")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	j, err := Open(path, "golden", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	want := []Event{{Seq: 1, At: time.Unix(1700000000, 5).UTC(), Kind: "finished", Body: json.RawMessage(`{"blob":"` + Digest([]byte("golden episode")) + `"}`)}}
	if d := cmp.Diff(want, all(t, j)); d != "" {
		t.Error(d)
	}
	blob, err := j.Blob(Digest([]byte("golden episode")))
	if err != nil || string(blob) != "golden episode" {
		t.Errorf("%q, %v", blob, err)
	}
}
