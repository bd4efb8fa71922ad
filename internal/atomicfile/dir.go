package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a directory being filled beside its final path. Nothing is visible at the path before Commit or Replace.
type Dir struct {
	path string
	tmp  string
	done bool
}

// CreateDir starts a directory that Commit will publish at path. The caller writes below Path() and defers Abort, which
// does nothing after Commit.
func CreateDir(path string) (*Dir, error) {
	d := &Dir{path: path, tmp: tempName(path)}
	if err := os.Mkdir(d.tmp, 0o755); err != nil {
		return nil, Classify("create directory", path, err)
	}
	return d, nil
}

// Path is where the files of the unpublished directory go.
func (d *Dir) Path() string { return d.tmp }

// Commit syncs every file and directory below Path and renames the whole to the final path. Something already there is
// an error of kind exists, and the temporary directory is removed.
func (d *Dir) Commit() error { return d.publish("commit directory", false) }

// Replace is Commit over a directory that may exist: the old one is moved aside, the new one renamed, the old one
// removed. A kill between the two renames leaves nothing at the path, never a mixture.
func (d *Dir) Replace() error { return d.publish("replace directory", true) }

func (d *Dir) publish(op string, replace bool) error {
	if d.done {
		return closed(op, d.path)
	}
	d.done = true
	if err := syncTree(d.tmp); err != nil {
		os.RemoveAll(d.tmp)
		return Classify(op, d.path, err)
	}
	err := os.Rename(d.tmp, d.path)
	if err != nil && replace && isThere(err) {
		aside := tempName(d.path)
		if err = os.Rename(d.path, aside); err == nil {
			if err = os.Rename(d.tmp, d.path); err == nil {
				err = os.RemoveAll(aside)
			} else {
				err = errors.Join(err, os.Rename(aside, d.path))
			}
		}
	}
	if err != nil {
		os.RemoveAll(d.tmp)
		return Classify(op, d.path, err)
	}
	return Classify(op, d.path, syncPath(filepath.Dir(filepath.Clean(d.path))))
}

// Abort removes the temporary directory. It does nothing after Commit, Replace or a former Abort.
func (d *Dir) Abort() error {
	if d.done {
		return nil
	}
	d.done = true
	return Classify("abort directory", d.path, os.RemoveAll(d.tmp))
}

// RemoveAll removes a file or a directory with all it holds, which is moved aside first: a kill leaves it whole at path,
// or nothing there and a temporary sibling for SweepTemps. A missing path is no error.
func RemoveAll(path string) error {
	const op = "remove"
	aside := tempName(path)
	err := os.Rename(path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncPath(filepath.Dir(aside)) // the move must not come after a part of the removal
	}
	if err == nil {
		err = os.RemoveAll(aside)
	}
	return Classify(op, path, err)
}

// SweepTemps removes the temporary files and directories that killed processes left directly in dir and returns their
// number. The caller must be the only writer in dir (hold its lock) and have nothing open there. A missing dir is empty.
func SweepTemps(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, Classify("sweep temporary files", dir, err)
	}
	n := 0
	for _, e := range entries {
		if !isTemp(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return n, Classify("sweep temporary files", dir, err)
		}
		n++
	}
	return n, nil
}

func isThere(err error) bool {
	return errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOTDIR)
}

func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !(e.IsDir() || e.Type().IsRegular()) {
			return err
		}
		return syncPath(path)
	})
}
