//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package store

import (
	"io"
	"os"
)

// mapFile reads size bytes of f into memory: there is no portable map on this system.
func mapFile(f *os.File, size int) (data []byte, unmap func() error, err error) {
	data = aligned(size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
