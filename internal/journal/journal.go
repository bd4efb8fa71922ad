// Package journal is the durable memory of a run: an append-only list of events and the content-addressed blobs they
// name, in one SQLite file. An event is a small fact; anything large (an episode, a task) is a blob and the event holds
// its digest. Append returns only when its events are on disk, and callers that wait together share one fsync.
//
// The file is described in docs/formats/journal.md. One process writes it at a time; others may read it.
package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // registers the "sqlite" driver

	quarry "github.com/quarry-rl/quarry"
)

const (
	applicationID = 0x71617279 // "qary": says whose SQLite file this is
	layout        = 1          // version of the tables below, kept in PRAGMA user_version
	maxBlob       = 1 << 30    // bytes a blob may have once decompressed
)

// The triggers keep every tool, ours included, from rewriting history.
const tables = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TRIGGER events_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
`

// Journal is an open journal file. Its methods may be called from any goroutine.
type Journal struct {
	path    string
	write   *sql.DB // one connection, used by the writer goroutine alone
	read    *sql.DB
	enc     *zstd.Encoder
	dec     *zstd.Decoder
	appends chan *appendRequest
	quit    chan struct{} // closed by Close
	stopped chan struct{} // closed when the writer goroutine has ended
	once    sync.Once
	lastSeq int64 // owned by the writer goroutine
	broken  error // owned by the writer goroutine: a commit of unknown outcome
}

// Open opens the journal at path, creating it when there is none. schemaName and version say what the events mean. A
// file of an older version is copied to PATH.vN.bak and marked with the new one; what reads the events must know both.
//
// Errors: KindInvalid (not writable, another schema, written by a newer version), KindConflict (locked by another
// process), KindCorrupt (not a sound SQLite file), KindExhausted (disk full).
func Open(path, schemaName string, version int) (*Journal, error) {
	if path == "" || schemaName == "" || version < 1 {
		return nil, &quarry.Error{Op: "journal open", Kind: quarry.KindInvalid, Subject: path,
			Msg: fmt.Sprintf("path, schema name and a version >= 1 are needed, got %q, %q, %d", path, schemaName, version)}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, classify("journal open", path, err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, classify("journal open", path, err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlob))
	if err != nil {
		return nil, classify("journal open", path, err)
	}
	j := &Journal{path: path, enc: enc, dec: dec,
		appends: make(chan *appendRequest), quit: make(chan struct{}), stopped: make(chan struct{})}
	if j.write, err = sql.Open("sqlite", dsn(abs, "journal_mode(WAL)", "synchronous(FULL)")); err != nil {
		return nil, classify("journal open", path, err)
	}
	j.write.SetMaxOpenConns(1)
	if j.read, err = sql.Open("sqlite", dsn(abs, "query_only(1)")); err != nil {
		return nil, errors.Join(classify("journal open", path, err), j.write.Close())
	}
	j.read.SetMaxOpenConns(4) // a trainer loading a batch beside a handful of workers loading tasks
	if err := j.prepare(schemaName, version); err != nil {
		j.closeFiles()
		return nil, err
	}
	go j.runWriter()
	return j, nil
}

// dsn is the driver's name for a file: busy_timeout first, so that the other pragmas wait for a lock too.
func dsn(abs string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...), "_txlock": {"immediate"}}
	return "file:" + (&url.URL{Path: abs}).EscapedPath() + "?" + q.Encode()
}

// prepare creates or checks the tables and finds the last event.
func (j *Journal) prepare(schemaName string, version int) error {
	const op = "journal open"
	var appID, userVersion, objects int
	var mode, health string
	for _, q := range []struct {
		sql string
		dst any
	}{
		{"PRAGMA journal_mode", &mode},
		{"PRAGMA application_id", &appID},
		{"PRAGMA user_version", &userVersion},
		{"SELECT count(*) FROM sqlite_schema", &objects},
	} {
		if err := j.write.QueryRow(q.sql).Scan(q.dst); err != nil {
			return classify(op, j.path, err)
		}
	}
	if mode != "wal" {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: j.path,
			Msg:  fmt.Sprintf("the file system gives journal mode %q, WAL is needed", mode),
			Hint: "put the state directory on a local disk (--state-dir or QUARRY_STATE_DIR)"}
	}
	if objects == 0 {
		if err := j.create(schemaName, version); err != nil {
			return err
		}
	} else if appID != applicationID {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: j.path,
			Msg: "an SQLite file, but not a quarry journal", Hint: "choose another path; the file was left as it is"}
	} else if userVersion > layout {
		return newer(j.path, "journal layout", userVersion, layout)
	}
	if err := j.write.QueryRow("PRAGMA quick_check(1)").Scan(&health); err != nil {
		return classify(op, j.path, err)
	}
	if health != "ok" {
		return corrupt(op, j.path, "SQLite's quick_check says: "+health, nil)
	}
	if err := j.checkSchema(schemaName, version); err != nil {
		return err
	}
	var count int64
	if err := j.write.QueryRow("SELECT coalesce(max(seq), 0), count(*) FROM events").Scan(&j.lastSeq, &count); err != nil {
		return classify(op, j.path, err)
	}
	if count != j.lastSeq {
		return corrupt(op, j.path, fmt.Sprintf("%d events, but the last is number %d: some are missing", count, j.lastSeq), nil)
	}
	return nil
}

// create makes the tables in one transaction, so that a kill leaves an empty file or a whole one.
func (j *Journal) create(schemaName string, version int) error {
	tx, err := j.write.Begin()
	if err != nil {
		return classify("journal create", j.path, err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(tables + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, layout)); err != nil {
		return classify("journal create", j.path, err)
	}
	if _, err := tx.Exec("INSERT INTO meta VALUES ('schema', ?), ('version', ?)", schemaName, fmt.Sprint(version)); err != nil {
		return classify("journal create", j.path, err)
	}
	if err := tx.Commit(); err != nil {
		return classify("journal create", j.path, err)
	}
	return nil
}

// checkSchema compares what the file says about its events with what the program knows.
func (j *Journal) checkSchema(schemaName string, version int) error {
	const op = "journal open"
	var name string
	var has int
	if err := j.write.QueryRow("SELECT value FROM meta WHERE key = 'schema'").Scan(&name); err != nil {
		return corrupt(op, j.path, "it does not say which schema its events have", err)
	}
	if err := j.write.QueryRow("SELECT value FROM meta WHERE key = 'version'").Scan(&has); err != nil {
		return corrupt(op, j.path, "it does not say which version its events have", err)
	}
	switch {
	case name != schemaName:
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: j.path,
			Msg: fmt.Sprintf("holds events of schema %q, expected %q", name, schemaName), Hint: "choose another path"}
	case has > version:
		return newer(j.path, name, has, version)
	case has < version:
		if err := j.backup(has); err != nil {
			return err
		}
		if _, err := j.write.Exec("UPDATE meta SET value = ? WHERE key = 'version'", fmt.Sprint(version)); err != nil {
			return classify("journal upgrade", j.path, err)
		}
	}
	return nil
}

// backup copies the file before its version is raised. A kill half-way leaves only a file with a temporary name.
func (j *Journal) backup(version int) error {
	const op = "journal backup"
	target := fmt.Sprintf("%s.v%d.bak", j.path, version)
	tmp := target + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return classify(op, tmp, err)
	}
	if _, err := j.write.Exec("VACUUM INTO ?", tmp); err != nil {
		return classify(op, target, err)
	}
	f, err := os.OpenFile(tmp, os.O_RDWR, 0)
	if err != nil {
		return classify(op, target, err)
	}
	if err := errors.Join(f.Sync(), f.Close(), os.Rename(tmp, target)); err != nil {
		return classify(op, target, err)
	}
	return nil
}

// Close waits for the appends under way and closes the file. Later calls of any method give KindCanceled.
func (j *Journal) Close() error {
	var err error
	j.once.Do(func() {
		close(j.quit)
		<-j.stopped
		err = j.closeFiles()
	})
	return err
}

func (j *Journal) closeFiles() error {
	j.dec.Close()
	err := errors.Join(j.read.Close(), j.write.Close(), j.enc.Close())
	if err != nil {
		return classify("journal close", j.path, err)
	}
	return nil
}
