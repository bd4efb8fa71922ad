package journal

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	quarry "github.com/quarry-rl/quarry"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	made := func(name, schema string, version int) string {
		p := filepath.Join(dir, name)
		j, err := Open(p, schema, version)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			if err := j.Append(t.Context(), []Event{event(i)}, [][]byte{[]byte(strings.Repeat(strconv.Itoa(i), 50))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	exec := func(path string, stmts ...string) string {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, s := range stmts {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	torn := made("torn.db", "test", 1)
	info, err := os.Stat(torn)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(torn, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path  string
		kind  quarry.Kind
		words []string
	}{
		"newer schema":   {made("newer.db", "test", 2), quarry.KindInvalid, []string{"test version 2", "newer quarry"}},
		"newer layout":   {exec(made("layout.db", "test", 1), "PRAGMA user_version = 9"), quarry.KindInvalid, []string{"layout version 9"}},
		"other schema":   {made("other.db", "jobs", 1), quarry.KindInvalid, []string{`"jobs"`, `"test"`}},
		"foreign":        {exec(filepath.Join(dir, "foreign.db"), "CREATE TABLE mine (a)"), quarry.KindInvalid, []string{"not a quarry journal"}},
		"text":           {write("text.db", strings.Repeat("no database at all\n", 100)), quarry.KindCorrupt, nil},
		"torn":           {torn, quarry.KindCorrupt, []string{"restore"}},
		"event missing":  {exec(made("gap.db", "test", 1), "DROP TRIGGER events_delete", "DELETE FROM events WHERE seq = 7"), quarry.KindCorrupt, []string{"199 events"}},
		"meta missing":   {exec(made("meta.db", "test", 1), "DELETE FROM meta"), quarry.KindCorrupt, nil},
		"no directory":   {filepath.Join(dir, "none", "j.db"), quarry.KindInvalid, []string{"directory exists and is writable"}},
		"is a directory": {dir, quarry.KindInvalid, nil},
		"no path":        {"", quarry.KindInvalid, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			j, err := Open(tc.path, "test", 1)
			if err == nil {
				j.Close()
			}
			wantKind(t, err, tc.kind, tc.words...)
		})
	}
}

func TestUpgradeKeepsACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	j := open(t, path)
	if err := j.Append(t.Context(), []Event{event(0)}, nil); err != nil {
		t.Fatal(err)
	}
	j.Close()
	up, err := Open(path, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Append(t.Context(), []Event{event(1)}, nil); err != nil {
		t.Fatal(err)
	}
	up.Close()
	_, err = Open(path, "test", 1)
	wantKind(t, err, quarry.KindInvalid, "version 2")
	if got := all(t, open(t, path+".v1.bak")); len(got) != 1 {
		t.Errorf("backup holds %v", got)
	}
}

func TestDamagedContents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	j := open(t, path)
	blobs := [][]byte{[]byte("one"), []byte("two")}
	if err := j.Append(t.Context(), []Event{event(0), event(1)}, blobs); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"DROP TRIGGER events_update",
		"UPDATE events SET body = '{' WHERE seq = 2",
		"UPDATE blobs SET data = (SELECT data FROM blobs b WHERE b.digest <> blobs.digest)",
	} {
		if _, err := j.write.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	wantKind(t, j.Replay(func(Event) error { return nil }), quarry.KindCorrupt, "event 2")
	_, err := j.Blob(Digest(blobs[0]))
	wantKind(t, err, quarry.KindCorrupt, Digest(blobs[1]))
	if _, err := j.write.Exec("UPDATE blobs SET data = x'00'"); err != nil {
		t.Fatal(err)
	}
	_, err = j.Blob(Digest(blobs[0]))
	wantKind(t, err, quarry.KindCorrupt, "decompressed")
}

func TestEventsCannotBeRewritten(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j.db"))
	if err := j.Append(t.Context(), []Event{event(0)}, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"UPDATE events SET kind = 'x'", "DELETE FROM events"} {
		if _, err := j.write.Exec(s); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// A full disk fails the append as a whole, and the journal goes on once there is room.
func TestDiskFull(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j.db"))
	if err := j.Append(t.Context(), []Event{event(0)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := j.write.Exec("PRAGMA max_page_count = 12"); err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	wantKind(t, j.Append(t.Context(), []Event{event(1)}, [][]byte{noise}), quarry.KindExhausted, "no space", "free some space")
	if got := all(t, j); len(got) != 1 {
		t.Errorf("%d events after the failure", len(got))
	}
	if _, err := j.write.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), []Event{event(1)}, [][]byte{noise}); err != nil {
		t.Fatal(err)
	}
	if got := all(t, j); len(got) != 2 || got[1].Seq != 2 {
		t.Errorf("after making room: %v", got)
	}
}
