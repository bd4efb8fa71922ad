package datasets

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Defaults of Options, in bytes.
const (
	DefaultRowGroupBytes = 64 << 20
	DefaultShardBytes    = 400 << 20
)

// Options of a writer; zero values take the defaults. Sizes and DatasetID are part of the bytes, and so of the digest.
type Options struct {
	RowGroupBytes int64  // raw bytes of values after which a row group ends
	ShardBytes    int64  // file bytes after which a shard ends, checked between row groups
	DatasetID     string // stored in each file as quarry.dataset_id when not empty
	Replace       bool   // publish over a dataset of the same name
}

// Writer makes one dataset. It works in a temporary directory beside the final one; a writer that is never closed, or a
// killed process, leaves that directory behind (atomicfile.SweepTemps) and no dataset. It is not safe for concurrent use:
// the order of rows is part of the content.
type Writer[T Row] struct {
	dir    string // the final directory
	name   string
	opts   Options
	tmp    *atomicfile.Dir
	cur    *shard[T]
	files  []File
	ids    map[string]int64 // row number by id
	rows   int64
	tokens int64
	err    error
	done   bool
}

// NewWriter starts the dataset dir/name; dir must exist. A dataset that is already there is an exists error unless
// Options.Replace is set.
func NewWriter[T Row](dir, name string, opts Options) (*Writer[T], error) {
	if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return nil, &quarry.Error{Op: "write dataset", Kind: quarry.KindInvalid, Subject: shown(name), Msg: "not the name of a directory",
			Hint: "name the dataset with one plain word, such as sft-train"}
	}
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil && !opts.Replace {
		return nil, &quarry.Error{Op: "write dataset", Kind: quarry.KindExists, Subject: path, Msg: "something is already there",
			Hint: fmt.Sprintf("remove %s, or name another dataset", path)}
	}
	opts.RowGroupBytes = cmp.Or(opts.RowGroupBytes, DefaultRowGroupBytes)
	opts.ShardBytes = cmp.Or(opts.ShardBytes, DefaultShardBytes)
	tmp, err := atomicfile.CreateDir(path)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(tmp.Path(), "data"), 0o755); err != nil {
		tmp.Abort()
		return nil, atomicfile.Classify("write dataset", path, err)
	}
	return &Writer[T]{dir: path, name: name, opts: opts, tmp: tmp, ids: map[string]int64{}}, nil
}

// Write checks and adds rows in order. A row that breaks a rule is an invalid error that names dataset, row (from 0),
// column, value and what was expected; after any error the dataset can no longer be closed, only aborted. Validate tells
// beforehand. Write keeps no reference to the rows' slices.
func (w *Writer[T]) Write(rows ...T) error {
	for _, row := range rows {
		if w.err == nil {
			w.err = w.add(row)
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

func (w *Writer[T]) add(row T) error {
	if w.done {
		return w.closed()
	}
	var c checker
	row.check(&c)
	if before, ok := w.ids[row.key()]; ok && c.bad == nil {
		c.fail("id", row.key(), fmt.Sprintf("an id of its own: row %d has the same", before))
	}
	if c.bytes > maxRow && c.bad == nil {
		c.fail("(all)", note(fmt.Sprintf("%d bytes", c.bytes)), fmt.Sprintf("a row of at most %d bytes", maxRow))
	}
	if c.bad != nil {
		e := c.bad.error(fmt.Sprintf("dataset %s %s row %d", w.name, row.spec().kind, w.rows), row.key())
		e.Op = "write dataset"
		return e
	}
	if w.cur == nil {
		var err error
		if w.cur, err = newShard[T](w.shardPath("part", len(w.files)), w.opts.DatasetID); err != nil {
			return err
		}
	}
	if err := w.cur.write(row, &c); err != nil {
		return err
	}
	w.ids[row.key()] = w.rows
	w.rows++
	w.tokens += c.tokens
	if w.cur.raw < w.opts.RowGroupBytes {
		return nil
	}
	if err := w.cur.flush(); err != nil {
		return err
	}
	if w.cur.out.n < w.opts.ShardBytes {
		return nil
	}
	return w.endShard()
}

func (w *Writer[T]) endShard() error {
	f, err := w.cur.close()
	w.cur = nil
	if err != nil {
		return err
	}
	w.files = append(w.files, f)
	return nil
}

func (w *Writer[T]) shardPath(word string, i int) string {
	return filepath.Join(w.tmp.Path(), "data", fmt.Sprintf("%s-%05d.parquet", word, i))
}

// Close ends the last shard, writes the card and then the manifest, and renames the directory into place. On error no
// dataset appears. A dataset without rows has one shard without rows, so that readers see the columns.
func (w *Writer[T]) Close(meta Meta) (Manifest, error) {
	if w.done {
		return Manifest{}, w.closed()
	}
	defer w.Abort()
	if w.err != nil {
		return Manifest{}, w.err
	}
	if w.cur == nil && len(w.files) == 0 {
		if w.cur, w.err = newShard[T](w.shardPath("part", 0), w.opts.DatasetID); w.err != nil {
			return Manifest{}, w.err
		}
	}
	if w.cur != nil {
		if w.err = w.endShard(); w.err != nil {
			return Manifest{}, w.err
		}
	}
	sp := specOf[T]()
	m := Manifest{Schema: fmt.Sprintf("%s/%d", manifestSchema, manifestVersion), Kind: sp.kind, SchemaVersion: sp.version,
		SchemaSHA256: schemaSHA(schemaText[T]()), Files: w.files, Rows: w.rows, Tokens: w.tokens, Parents: meta.Parents,
		Producer: meta.Producer, Created: meta.Created}
	for i := range m.Files {
		// Only now the number of shards is known.
		m.Files[i].Path = fmt.Sprintf("data/train-%05d-of-%05d.parquet", i, len(m.Files))
		if err := os.Rename(w.shardPath("part", i), filepath.Join(w.tmp.Path(), filepath.FromSlash(m.Files[i].Path))); err != nil {
			return Manifest{}, atomicfile.Classify("write dataset", w.dir, err)
		}
	}
	if err := atomicfile.WriteFile(filepath.Join(w.tmp.Path(), "README.md"), card(w.name, m, meta)); err != nil {
		return Manifest{}, err
	}
	if err := atomicfile.WriteFile(filepath.Join(w.tmp.Path(), manifestName), m.encode()); err != nil {
		return Manifest{}, err
	}
	publish := w.tmp.Commit
	if w.opts.Replace {
		publish = w.tmp.Replace
	}
	if err := publish(); err != nil {
		return Manifest{}, err
	}
	w.done = true
	return m, nil
}

// Abort drops what was written. It does nothing after Close or a former Abort, so it can be deferred.
func (w *Writer[T]) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.cur != nil {
		w.cur.file.Abort()
		w.cur = nil
	}
	return w.tmp.Abort()
}

func (w *Writer[T]) closed() error {
	return &quarry.Error{Op: "write dataset", Kind: quarry.KindInternal, Subject: w.dir, Msg: "already closed or aborted"}
}
