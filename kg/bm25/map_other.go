//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bm25

import "os"

// mapFile reads the whole file, where the system offers no mapping.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, err
}
