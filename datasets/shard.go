package datasets

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Settings that decide the bytes of a file. Changing one changes every digest: count writerVersion up with it.
const (
	writerVersion      = "1.0.0"
	pageBufferSize     = 256 << 10
	maxRowsPerRowGroup = 1 << 20 // backstop: row groups are cut by bytes
	writeBufferSize    = 256 << 10
)

// schemaText is the Parquet schema of a record type as text; schemaSHA its digest, which stands in every file.
func schemaText[T Row]() string {
	var row T
	return parquet.SchemaOf(row).String()
}

func schemaSHA(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writerOptions are the settings of every file: page version 1 for old readers, zstd, and neither bounds nor statistics
// on free text, because parquet-go stores them uncut and a value above 1 MiB would make the file unreadable for others.
func writerOptions[T Row](datasetID string) []parquet.WriterOption {
	sp := specOf[T]()
	var row T
	schema := parquet.SchemaOf(row)
	opts := []parquet.WriterOption{
		parquet.DataPageVersion(1),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.PageBufferSize(pageBufferSize),
		parquet.WriteBufferSize(0), // the buffer stands behind the meter, which must see every byte at once
		parquet.MaxRowsPerRowGroup(maxRowsPerRowGroup),
		parquet.CreatedBy("quarry", writerVersion, "parquet-go"),
		parquet.KeyValueMetadata("quarry.schema", sp.kind),
		parquet.KeyValueMetadata("quarry.schema_version", strconv.Itoa(sp.version)),
		parquet.KeyValueMetadata("quarry.sha", schemaSHA(schema.String())),
	}
	if datasetID != "" {
		opts = append(opts, parquet.KeyValueMetadata("quarry.dataset_id", datasetID))
	}
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		if leaf.Node.Type().Kind() == parquet.ByteArray && !slices.Contains(sp.short, strings.Join(path, ".")) {
			opts = append(opts, parquet.SkipPageBounds(path...), parquet.SkipPageStatistics(path...))
		}
	}
	return opts
}

// shard is one Parquet file being written.
type shard[T Row] struct {
	path  string // final path within the unpublished dataset
	file  *atomicfile.File
	buf   *bufio.Writer
	out   *meter
	pw    *parquet.GenericWriter[T]
	one   [1]T
	raw   int64 // bytes of values since the last row group
	rows  int64
	nulls map[string]int64
}

// meter counts and digests what goes to the file.
type meter struct {
	w   io.Writer
	sum hash.Hash
	n   int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.sum.Write(p[:n])
	m.n += int64(n)
	return n, err
}

func newShard[T Row](path, datasetID string) (*shard[T], error) {
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(file, writeBufferSize)
	out := &meter{w: buf, sum: sha256.New()}
	return &shard[T]{path: path, file: file, buf: buf, out: out, nulls: map[string]int64{},
		pw: parquet.NewGenericWriter[T](out, writerOptions[T](datasetID)...)}, nil
}

// write adds a checked row. Rows go in one at a time: parquet-go cuts pages at the end of a call, so calls of varying
// size would make the bytes depend on how the caller batches.
func (s *shard[T]) write(row T, c *checker) error {
	s.one[0] = row
	if _, err := s.pw.Write(s.one[:]); err != nil {
		return atomicfile.Classify("write shard", s.path, err)
	}
	s.rows++
	s.raw += c.bytes
	for _, column := range c.nulls {
		s.nulls[column]++
	}
	return nil
}

// flush ends the row group.
func (s *shard[T]) flush() error {
	s.raw = 0
	return atomicfile.Classify("write shard", s.path, s.pw.Flush())
}

// close finishes the file, reads its footer and bytes back, and compares them with what was written.
func (s *shard[T]) close() (File, error) {
	defer s.file.Abort()
	if err := s.pw.Close(); err != nil {
		return File{}, atomicfile.Classify("write shard", s.path, err)
	}
	if err := s.buf.Flush(); err != nil {
		return File{}, atomicfile.Classify("write shard", s.path, err)
	}
	if err := s.file.Commit(); err != nil {
		return File{}, err
	}
	f := File{Rows: s.rows, Bytes: s.out.n, SHA256: hex.EncodeToString(s.out.sum.Sum(nil))}
	in, err := os.Open(s.path)
	if err != nil {
		return File{}, atomicfile.Classify("verify shard", s.path, err)
	}
	defer in.Close()
	if err := checkBytes(in, f, s.path); err != nil {
		return File{}, err
	}
	pf, err := openParquet[T](in, f, s.path)
	if err != nil {
		return File{}, err
	}
	f.RowGroups = len(pf.RowGroups())
	for column, got := range nullCounts(pf) {
		if want := s.nulls[column]; got != want {
			return File{}, corrupt("verify shard", s.path, fmt.Sprintf("column %s has %d nulls in the file, %d were written", column, got, want),
				"run the same command again; if it repeats, report the rows as a bug of the writer")
		}
	}
	return f, nil
}

// nullCounts sums the nulls of the optional columns outside lists over the row groups.
func nullCounts(f *parquet.File) map[string]int64 {
	out := map[string]int64{}
	for _, path := range f.Schema().Columns() {
		if leaf, _ := f.Schema().Lookup(path...); leaf.MaxRepetitionLevel == 0 && leaf.MaxDefinitionLevel > 0 {
			out[strings.Join(path, ".")] = 0
		}
	}
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			column := strings.Join(c.MetaData.PathInSchema, ".")
			if _, ok := out[column]; ok {
				out[column] += c.MetaData.Statistics.NullCount
			}
		}
	}
	return out
}

func corrupt(op, subject, msg, hint string) *quarry.Error {
	return &quarry.Error{Op: op, Kind: quarry.KindCorrupt, Subject: subject, Msg: msg, Hint: hint}
}
