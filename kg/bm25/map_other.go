//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bm25

import "github.com/quarry-rl/quarry/internal/atomicfile"

// mapFile reads the whole file, where the system offers no mapping.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	data, err = atomicfile.ReadFile("bm25 open", path)
	return data, func() error { return nil }, err
}
