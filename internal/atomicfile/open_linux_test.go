package atomicfile

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry"
)

// Only regular files are opened. A named pipe without a writer would hang the reader; this test would then never end.
func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for link, to := range map[string]string{"link": "file", "pipe-link": "pipe"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		path, says string
		kind       quarry.Kind
	}{
		{at("pipe"), "is a named pipe", quarry.KindInvalid},
		{at("pipe-link"), "is a named pipe", quarry.KindInvalid},
		{at("socket"), "is a socket", quarry.KindInvalid},
		{dir, "is a folder", quarry.KindInvalid},
		{"/dev/null", "is a device", quarry.KindInvalid},
		{at("absent"), "no such file", quarry.KindNotFound},
		{at("file") + "/x", "not a directory", quarry.KindUnavailable},
	} {
		f, err := Open("test", tc.path)
		if f != nil || quarry.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.path+": ") || !strings.Contains(err.Error(), tc.says) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v (%s, hint %q), want %s", tc.path, err, quarry.KindOf(err), quarry.HintOf(err), tc.says)
		}
	}
	for _, name := range []string{"file", "link"} {
		f, err := Open("test", at(name))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		f.Close()
		if string(data) != "text" || err != nil {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}
