package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/ingest"
)

// BuildGraph makes a graph folder of a data folder or file, and counts it.
func BuildGraph(ctx context.Context, src, out string) (kg.Stats, error) {
	if _, _, err := kg.Build(ctx, out, ingest.Options{}, src); err != nil {
		return kg.Stats{}, err
	}
	g, err := kg.Open(out)
	if err != nil {
		return kg.Stats{}, err
	}
	return g.Stats(), nil
}

// contentDigest hashes what a graph is built from, one file or the files of a folder that are not hidden, so that what was
// edited is built anew. Names count, times do not.
func contentDigest(data string) (string, error) {
	h := sha256.New()
	root, err := filepath.EvalSymlinks(data)
	if err == nil {
		err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { return hashEntry(h, root, path, e, err) })
	}
	var known *quarry.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &quarry.Error{Op: "kg", Kind: quarry.KindNotFound, Subject: data, Msg: "no such data",
			Hint: "the demo's data folder examples/wiki comes with the source: run inside a clone of the repository, or set data: in the spec to a file or folder that quarry kg build reads"}
	case err == nil || errors.As(err, &known):
	default:
		err = &quarry.Error{Op: "kg", Kind: quarry.KindUnavailable, Subject: data, Err: err, Hint: "check that it can be read"}
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

func hashEntry(h io.Writer, root, path string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if path != root && strings.HasPrefix(e.Name(), ".") { // a build passes over it
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	f, err := atomicfile.Open("kg", path)
	if err != nil {
		return err
	}
	defer f.Close()
	name, err := filepath.Rel(root, path)
	if err == nil {
		fmt.Fprintf(h, "%s\x00", filepath.ToSlash(name))
		_, err = io.Copy(h, f)
	}
	return err
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return &quarry.Error{Op: "write", Kind: quarry.KindInternal, Subject: path, Err: err}
	}
	return atomicfile.WriteFile(path, append(data, '\n'))
}
