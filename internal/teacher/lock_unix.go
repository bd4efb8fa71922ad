//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package teacher

import (
	"os"
	"syscall"
)

// lock is held until the file is closed, also by a kill.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
