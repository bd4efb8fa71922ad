//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import "os"

// TryLock does nothing where files cannot be locked for as long as a process lives.
func TryLock(*os.File) (held bool, err error) { return false, nil }
