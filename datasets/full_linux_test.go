package datasets

import (
	"os"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// A disk that fills up under a shard gives the kernel's ENOSPC with a hint, and neither a dataset nor remains.
func TestFullDisk(t *testing.T) {
	full := must(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	dir := t.TempDir()
	w := must(NewWriter[Q1](dir, "ds", Options{}))(t)
	if err := w.Write(q1Rows(2)...); err != nil {
		t.Fatal(err)
	}
	w.cur.buf.Reset(full)
	_, err := w.Close(Meta{})
	if quarry.KindOf(err) != quarry.KindUnavailable || !strings.Contains(quarry.HintOf(err), "free space") {
		t.Errorf("%s: %v (hint %q)", quarry.KindOf(err), err, quarry.HintOf(err))
	}
	if got := listing(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
