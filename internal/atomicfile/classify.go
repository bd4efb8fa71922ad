package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/quarry-rl/quarry"
)

// Classify turns an error of the file system into a *quarry.Error about path with a kind and a hint; nil stays nil and
// a *quarry.Error stays as it is. Full disks and failing devices are unavailable, everything the user must change
// (permissions, names, a file size limit) is invalid.
func Classify(op, path string, err error) error {
	var known *quarry.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	dir := filepath.Dir(filepath.Clean(path))
	e := &quarry.Error{Op: op, Subject: path, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Msg = quarry.KindUnavailable, "the disk or the quota is full"
		e.Hint = fmt.Sprintf("free space on the file system of %s, then run the same command again", dir)
	case errors.Is(err, syscall.EFBIG):
		e.Kind, e.Msg = quarry.KindInvalid, "larger than the file size limit of this process"
		e.Hint = "raise the limit (ulimit -f unlimited), then run the same command again"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		e.Kind, e.Msg = quarry.KindInvalid, "no permission to write"
		e.Hint = fmt.Sprintf("make %s writable (chmod u+w %s), or name another directory", dir, dir)
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Msg = quarry.KindNotFound, "no such file or directory"
		e.Hint = fmt.Sprintf("create it first (mkdir -p %s), or check the spelling", dir)
	case isThere(err), errors.Is(err, syscall.EISDIR):
		e.Kind, e.Msg = quarry.KindExists, "something is already there"
		e.Hint = fmt.Sprintf("remove %s, or name another path", path)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		e.Kind, e.Msg = quarry.KindInvalid, "the file system does not take this name"
		e.Hint = "use a shorter name of plain letters and digits"
	default:
		e.Kind = quarry.KindUnavailable
		e.Hint = fmt.Sprintf("check the file system of %s, then run the same command again", dir)
	}
	return e
}
