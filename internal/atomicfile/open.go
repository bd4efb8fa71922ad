package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/quarry-rl/quarry"
)

// Open opens a regular file for reading. Anything else is refused before it is opened: a named pipe without a writer
// would block for ever. Errors are *quarry.Error: not_found, invalid (no regular file, not readable), unavailable.
func Open(op, path string) (*os.File, error) {
	e := &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: path}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		e.Msg, e.Hint = "is "+what(info.Mode())+", expected a file", "write what it holds to a file and name that"
		return nil, e
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			return f, nil
		}
	}
	e.Err = err
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Msg, e.Err, e.Hint = quarry.KindNotFound, "no such file", nil, "check the spelling, or write the file first"
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "make it readable (chmod u+r " + path + ")"
	default:
		e.Kind, e.Hint = quarry.KindUnavailable, "check that it is a file that can be read"
	}
	return nil, e
}

// ReadFile is Open and reading all of it.
func ReadFile(op, path string) ([]byte, error) {
	f, err := Open(op, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindUnavailable, Subject: path, Err: err, Hint: "check the disk and that nothing else writes the file"}
	}
	return data, nil
}

func what(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}
