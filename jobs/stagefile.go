package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// StageSchema is the version of stage.json that this package writes and the newest it reads.
const StageSchema = 2

// Names inside a run directory.
const (
	stagesDir = "stages"
	stageName = "stage.json"
	lockName  = "lock"

	keyDigits = 12 // of the key in a stage directory's name
)

func stageDir(name, key string) string { return name + "-" + key[:keyDigits] }

// errNewer marks a stage.json that must not be touched; errUntrusted one that must not be believed.
var (
	errNewer     = errors.New("written by a newer quarry")
	errUntrusted = errors.New("does not verify")
)

// stageFile is stage.json (docs/formats/stage.md).
type stageFile struct {
	Schema  int             `json:"schema"`
	Name    string          `json:"name"`
	Key     string          `json:"key"`
	Digest  string          `json:"digest"` // of Files and Facts
	Seconds float64         `json:"seconds"`
	Files   []fileEntry     `json:"files"`
	Facts   json.RawMessage `json:"facts,omitempty"`
}

// fileEntry is one output: its slash-separated path below the stage's directory, size and content hash.
type fileEntry struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (f *stageFile) record(dir string, cached bool) Record {
	return Record{Name: f.Name, Key: f.Key, Digest: f.Digest, Seconds: f.Seconds, Cached: cached, Dir: dir, Facts: f.Facts}
}

// parseStage decodes stage.json. The schema is read before anything else, so that a newer file is refused whatever
// its other fields look like.
func parseStage(data []byte) (stageFile, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return stageFile{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	if head.Schema > StageSchema {
		return stageFile{}, fmt.Errorf("schema %d, this quarry reads up to %d: %w", head.Schema, StageSchema, errNewer)
	}
	var f stageFile
	if err := json.Unmarshal(data, &f); err != nil {
		return stageFile{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	if f.Schema != StageSchema {
		return stageFile{}, fmt.Errorf("%w: schema %d, this quarry reads %d only", errUntrusted, f.Schema, StageSchema)
	}
	for _, e := range f.Files {
		if !filepath.IsLocal(e.Path) {
			return stageFile{}, fmt.Errorf("%w: file %q leaves the directory", errUntrusted, e.Path)
		}
	}
	if len(f.Facts) > 0 { // indented with the rest of the file; a cached record must equal a fresh one
		var b bytes.Buffer
		if err := json.Compact(&b, f.Facts); err != nil {
			return stageFile{}, fmt.Errorf("%w: %w", errUntrusted, err)
		}
		f.Facts = b.Bytes()
	}
	return f, nil
}

// readStage reads stage.json and checks it against key, files and facts. The error is fs.ErrNotExist when the stage
// never finished, errUntrusted when what is there does not verify, errNewer when it is not this version's to judge.
//
// What does not verify is a cache miss, as in Go's build cache or Bazel's: a stage can always be computed anew from its
// inputs. A backup program must refuse instead, because it may hold the only copy.
func readStage(dir, name, key string) (stageFile, error) {
	file := filepath.Join(dir, stageName)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return stageFile{}, fs.ErrNotExist
	}
	if err != nil {
		return stageFile{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	f, err := parseStage(data)
	if errors.Is(err, errNewer) {
		return stageFile{}, &quarry.Error{Op: "stage", Kind: quarry.KindInvalid, Subject: file, Err: err,
			Hint: "use the newer quarry that wrote it, or start afresh in another state directory (QUARRY_STATE_DIR)"}
	}
	if err != nil {
		return stageFile{}, err
	}
	if f.Name != name || f.Key != key {
		return stageFile{}, fmt.Errorf("%w: it is stage %s with key %s", errUntrusted, f.Name, f.Key)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return stageFile{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	defer root.Close()
	for _, want := range f.Files {
		got, err := hashFile(root, want.Path)
		if err != nil {
			return stageFile{}, fmt.Errorf("%w: %w", errUntrusted, err)
		}
		if got != want {
			return stageFile{}, fmt.Errorf("%w: %s has sha256 %.12s and %d bytes, recorded are %.12s and %d",
				errUntrusted, want.Path, got.SHA256, got.Bytes, want.SHA256, want.Bytes)
		}
	}
	if f.Digest != digestOf(f.Files, f.Facts) {
		return stageFile{}, fmt.Errorf("%w: its digest is not that of its files and facts", errUntrusted)
	}
	return f, nil
}

// writeStage makes the stage finished.
func writeStage(dir string, f stageFile) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, stageName), append(data, '\n'))
}

// listFiles hashes the named files, directories expanded, sorted by path without repetition.
func listFiles(dir string, names []string) ([]fileEntry, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var paths []string
	for _, n := range names {
		n = path.Clean(filepath.ToSlash(n))
		if !filepath.IsLocal(n) {
			return nil, &quarry.Error{Kind: quarry.KindInternal, Subject: n, Msg: "a result lies outside the stage's directory"}
		}
		err := fs.WalkDir(root.FS(), n, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && p != stageName {
				paths = append(paths, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	out := []fileEntry{}
	for _, p := range slices.Compact(paths) {
		e, err := hashFile(root, p)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func hashFile(root *os.Root, name string) (fileEntry, error) {
	st, err := root.Lstat(name)
	if err != nil {
		return fileEntry{}, err
	}
	if !st.Mode().IsRegular() {
		return fileEntry{}, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return fileEntry{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return fileEntry{}, err
	}
	return fileEntry{Path: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// digestOf hashes path and content hash of every file, in the order of the list (sorted by path), and the compact facts.
func digestOf(files []fileEntry, facts json.RawMessage) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s  %s\n", f.SHA256, f.Path)
	}
	if len(facts) > 0 {
		fmt.Fprintf(h, "facts %x\n", sha256.Sum256(facts))
	}
	return hex.EncodeToString(h.Sum(nil))
}
