package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	quarry "github.com/quarry-rl/quarry"
)

// classify gives a driver or file error its kind and says what to do about it.
func classify(op, path string, err error) error {
	out := &quarry.Error{Op: op, Kind: quarry.KindInternal, Subject: path, Err: err}
	var se *sqlite.Error
	code := 0
	if errors.As(err, &se) {
		code = se.Code() & 0xff // the primary code; the rest says where it happened
	}
	switch {
	case code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB:
		return corrupt(op, path, "the file is damaged or no SQLite file", err)
	case code == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC):
		out.Kind, out.Msg = quarry.KindExhausted, "no space left"
		out.Hint = "free some space on that disk, then run the same command again"
	case code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_PERM ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		out.Kind, out.Msg = quarry.KindInvalid, "cannot be opened for writing"
		out.Hint = "check that its directory exists and is writable, or choose another with --state-dir or QUARRY_STATE_DIR"
	case code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED:
		out.Kind, out.Msg = quarry.KindConflict, "another process holds the file"
		out.Hint = "stop the other run on this state directory, then try again"
	case code == sqlite3.SQLITE_CONSTRAINT:
		out.Kind, out.Msg = quarry.KindConflict, "another process wrote to the file"
		out.Hint = "stop the other run on this state directory, then run the same command again"
	case code == sqlite3.SQLITE_IOERR:
		out.Kind, out.Msg = quarry.KindUnavailable, "the disk gave an error"
		out.Hint = "check the disk, then run the same command again"
	}
	return out
}

func corrupt(op, path, msg string, cause error) error {
	return &quarry.Error{Op: op, Kind: quarry.KindCorrupt, Subject: path, Msg: msg, Err: cause,
		Hint: "nothing was repaired; restore the file from a copy, or move it and its -wal file away and start afresh"}
}

func newer(path, what string, has, known int) error {
	return &quarry.Error{Op: "journal open", Kind: quarry.KindInvalid, Subject: path,
		Msg:  fmt.Sprintf("written as %s version %d, this program knows up to %d", what, has, known),
		Hint: "use the newer quarry that wrote it"}
}

func closed(op, path string) error {
	return &quarry.Error{Op: op, Kind: quarry.KindCanceled, Subject: path, Msg: "the journal is closed"}
}
