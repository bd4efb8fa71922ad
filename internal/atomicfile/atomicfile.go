// Package atomicfile publishes files and directories whole: what is written goes to a temporary sibling, is synced to
// the disk, and is renamed into place. A reader, or a process started after a kill or a power cut, sees the old
// content or the new one, never a part of it.
//
// Temporary siblings are named ".NAME.quarry-tmp-HEX". A killed process leaves them behind; SweepTemps removes them.
package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/quarry-rl/quarry"
)

// tmpMark stands between the name of the target and 16 random hex digits.
const tmpMark = ".quarry-tmp-"

// WriteFile makes data the content of path, whole or not at all. A symbolic link at path is replaced, not followed.
// Errors are *quarry.Error: invalid (directory not writable, bad name), unavailable (disk full), not_found (no such
// directory), exists (path is a directory). On error path is as it was.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// File is a file being written beside its final path. Nothing is visible at the path before Commit.
type File struct {
	f    *os.File
	path string
	tmp  string
	err  error // first error of Write: Commit refuses after it
	done bool
}

// Create starts a file that Commit will publish at path. The caller defers Abort, which does nothing after Commit.
func Create(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, Classify("create file", path, &os.PathError{Op: "create", Path: path, Err: syscall.EEXIST})
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a rename would replace the device itself
		return nil, &quarry.Error{Op: "create file", Kind: quarry.KindInvalid, Subject: path, Msg: "is a device, pipe or socket", Hint: "name a file"}
	}
	tmp := tempName(path)
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, Classify("create file", path, err)
	}
	return &File{f: f, path: path, tmp: tmp}, nil
}

// Write appends p. After an error the file can only be aborted.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	if f.done {
		return 0, closed("write file", f.path)
	}
	n, err := f.f.Write(p)
	if err != nil {
		f.err = Classify("write file", f.path, err)
		return n, f.err
	}
	return n, nil
}

// Commit syncs the content, renames it to the final path and syncs the directory. On error the temporary file is gone
// and the path holds what it held before, unless only the last sync failed.
func (f *File) Commit() error {
	if f.done {
		return closed("commit file", f.path)
	}
	if f.err != nil {
		f.Abort()
		return f.err
	}
	f.done = true
	err := f.f.Sync()
	err = errors.Join(err, f.f.Close())
	if err == nil {
		err = os.Rename(f.tmp, f.path)
	}
	if err != nil {
		os.Remove(f.tmp)
		return Classify("commit file", f.path, err)
	}
	return Classify("commit file", f.path, syncPath(filepath.Dir(f.path)))
}

// Abort drops the temporary file. It does nothing after Commit or a former Abort.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return Classify("abort file", f.path, errors.Join(f.f.Close(), os.Remove(f.tmp)))
}

func closed(op, path string) error {
	return &quarry.Error{Op: op, Kind: quarry.KindInternal, Subject: path, Msg: "already committed or aborted"}
}

// tempName gives a name no other writer has, in the directory of path: rename is atomic within one file system only.
func tempName(path string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails since Go 1.24
	dir, base := filepath.Split(filepath.Clean(path))
	if len(base) > 200 {
		base = base[:200] // file names end at 255 bytes
	}
	return filepath.Join(dir, "."+base+tmpMark+hex.EncodeToString(b[:]))
}

// isTemp says whether name was made by tempName.
func isTemp(name string) bool {
	i := strings.LastIndex(name, tmpMark)
	if i < 1 || name[0] != '.' {
		return false
	}
	b, err := hex.DecodeString(name[i+len(tmpMark):])
	return err == nil && len(b) == 8
}

// syncPath flushes a file or a directory to the disk. File systems that cannot sync a directory say EINVAL or ENOTSUP.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
