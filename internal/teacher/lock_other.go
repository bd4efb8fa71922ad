//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package teacher

import "os"

// lock does nothing where files cannot be locked for as long as a process lives.
func lock(*os.File) error { return nil }
