package loop

import "testing"

// getrusage counts in kilobytes on Linux and the BSDs and in bytes on Apple's systems.
func TestPeakMemory(t *testing.T) {
	for goos, want := range map[string]int64{"linux": 1024, "freebsd": 1024, "darwin": 1, "ios": 1} {
		if got := maxrssUnit(goos); got != want {
			t.Errorf("%s counts in %d bytes, want %d", goos, got, want)
		}
	}
	ballast := make([]byte, 64<<20)
	for i := range ballast {
		ballast[i] = byte(i)
	}
	if got := peakMemory(); got < int64(len(ballast)) || got > 64<<30 {
		t.Errorf("the peak is %d bytes with %d in use", got, len(ballast))
	}
}
