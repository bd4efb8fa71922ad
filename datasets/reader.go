package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

const copyAgain = "build the dataset again, or copy it again from where it is whole"

// Dataset is a published dataset whose files have been checked against its manifest.
type Dataset struct {
	Dir      string
	Manifest Manifest
}

// Open reads the manifest and checks size and SHA-256 of every shard. A directory without a manifest is not_found, a
// newer schema version invalid, everything that does not fit the manifest corrupt.
func Open(dir string) (*Dataset, error) {
	path := filepath.Join(dir, manifestName)
	file, err := atomicfile.Open("open dataset", path)
	if quarry.KindOf(err) == quarry.KindNotFound {
		return nil, &quarry.Error{Op: "open dataset", Kind: quarry.KindNotFound, Subject: path, Msg: "no manifest, so no dataset here",
			Hint: "give the directory that holds manifest.json, or build the dataset first"}
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	file.Close()
	if err != nil {
		return nil, atomicfile.Classify("open dataset", path, err)
	}
	m, err := parseManifest(path, data)
	if err != nil {
		return nil, err
	}
	ds := &Dataset{Dir: dir, Manifest: m}
	for _, f := range m.Files {
		in, name, err := ds.open(f)
		if err != nil {
			return nil, err
		}
		err = checkBytes(in, f, name)
		in.Close()
		if err != nil {
			return nil, err
		}
	}
	return ds, nil
}

func (ds *Dataset) open(f File) (*os.File, string, error) {
	name := filepath.Join(ds.Dir, filepath.FromSlash(f.Path))
	in, err := atomicfile.Open("open dataset", name)
	if quarry.KindOf(err) == quarry.KindNotFound {
		return nil, name, corrupt("open dataset", name, "the manifest lists this shard, but it is missing", copyAgain)
	}
	return in, name, err
}

// Read returns all rows in order.
func Read[T Row](ds *Dataset) ([]T, error) {
	var out []T
	for row, err := range Rows[T](ds) {
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// Rows goes through the rows in order, holding a few at a time; the first error ends it. T must be the dataset's kind
// (invalid otherwise).
func Rows[T Row](ds *Dataset) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if want := zero.spec().kind; ds.Manifest.Kind != want {
			yield(zero, &quarry.Error{Op: "read dataset", Kind: quarry.KindInvalid, Subject: ds.Dir,
				Msg:  fmt.Sprintf("holds %s rows, want %s", ds.Manifest.Kind, want),
				Hint: fmt.Sprintf("give the directory of a %s dataset", want)})
			return
		}
		for _, f := range ds.Manifest.Files {
			in, name, err := ds.open(f)
			if err != nil {
				yield(zero, err)
				return
			}
			more := readShard(in, f, name, yield)
			in.Close()
			if !more {
				return
			}
		}
	}
}

// readShard yields the rows of one file and says whether to go on.
func readShard[T Row](in io.ReaderAt, f File, name string, yield func(T, error) bool) bool {
	var zero T
	pf, err := openParquet[T](in, f, name)
	if err != nil {
		yield(zero, err)
		return false
	}
	r := parquet.NewGenericReader[T](pf)
	defer r.Close()
	buf := make([]T, 16)
	for read := int64(0); read < f.Rows; {
		clear(buf) // the reader fills slices in place; the caller may keep a row
		n, err := readRows(r, buf, name)
		if err != nil {
			yield(zero, err)
			return false
		}
		if n == 0 {
			yield(zero, corrupt("read dataset", name, fmt.Sprintf("ends after %d of %d rows", read, f.Rows), copyAgain))
			return false
		}
		for _, row := range buf[:n] {
			if !yield(row, nil) {
				return false
			}
		}
		read += int64(n)
	}
	return true
}

// readRows fills buf. parquet-go may panic on pages that are damaged in a way the footer does not show; the digest check
// of Open catches those, unless somebody wrote the digest of a damaged file into the manifest.
func readRows[T Row](r *parquet.GenericReader[T], buf []T, name string) (n int, err error) {
	defer guard(name, "a page is unreadable", &err)
	n, err = r.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		e := corrupt("read dataset", name, "a page is unreadable", copyAgain)
		e.Err = err
		return 0, e
	}
	return n, nil
}

func guard(name, msg string, err *error) {
	if p := recover(); p != nil {
		e := corrupt("read dataset", name, msg, copyAgain)
		e.Err = fmt.Errorf("%v", p)
		*err = e
	}
}

// openParquet opens a shard and checks footer, columns and row count.
func openParquet[T Row](in io.ReaderAt, f File, name string) (pf *parquet.File, err error) {
	defer guard(name, "the footer is unreadable", &err)
	pf, err = parquet.OpenFile(in, f.Bytes)
	if err != nil {
		e := corrupt("read dataset", name, "the footer is unreadable", copyAgain)
		e.Err = err
		return nil, e
	}
	if got, want := pf.Schema().String(), schemaText[T](); got != want {
		return nil, corrupt("read dataset", name, fmt.Sprintf("foreign columns: %s", firstDifference(got, want)),
			fmt.Sprintf("give a dataset that quarry wrote, with the columns of %s", specOf[T]().kind))
	}
	if pf.NumRows() != f.Rows {
		return nil, corrupt("read dataset", name, fmt.Sprintf("holds %d rows, the manifest says %d", pf.NumRows(), f.Rows), copyAgain)
	}
	return pf, nil
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		line := func(l []string) string {
			if i < len(l) {
				return shown(strings.TrimSpace(l[i]))
			}
			return "nothing"
		}
		if line(g) != line(w) {
			return fmt.Sprintf("line %d of the schema is %s, want %s", i+1, line(g), line(w))
		}
	}
	return "they differ in layout only"
}

// checkBytes compares a shard with its entry in the manifest.
func checkBytes(in *os.File, f File, name string) error {
	info, err := in.Stat()
	if err != nil {
		return atomicfile.Classify("open dataset", name, err)
	}
	if info.Size() != f.Bytes {
		return corrupt("open dataset", name, fmt.Sprintf("has %d bytes, the manifest says %d", info.Size(), f.Bytes), copyAgain)
	}
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return atomicfile.Classify("open dataset", name, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return corrupt("open dataset", name, fmt.Sprintf("has sha256 %s, the manifest says %s", got, f.SHA256), copyAgain)
	}
	return nil
}
