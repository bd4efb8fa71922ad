//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bm25

import (
	"math"
	"os"
	"syscall"

	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// mapFile maps a file read-only. An empty file, which cannot be mapped, is an empty slice.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	f, err := atomicfile.Open("bm25 open", path) // opening a named pipe would wait for a writer
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // the mapping outlives it
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 {
		return nil, func() error { return nil }, nil
	}
	if info.Size() > math.MaxInt {
		return nil, nil, &os.PathError{Op: "map", Path: path, Err: syscall.EFBIG}
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "map", Path: path, Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
