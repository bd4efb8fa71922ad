package loop

import (
	"runtime"
	"syscall"
)

// peakMemory is the largest resident set this process had, in bytes.
func peakMemory() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return int64(ru.Maxrss) * maxrssUnit(runtime.GOOS)
}

// maxrssUnit is what a system counts Maxrss in: bytes on Apple's, kilobytes on Linux and the BSDs.
func maxrssUnit(goos string) int64 {
	if goos == "darwin" || goos == "ios" {
		return 1
	}
	return 1024
}
