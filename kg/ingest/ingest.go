// Package ingest reads the formats knowledge graphs come in, as streams, into the records of kg/store: N-Triples and
// N-Quads, TSV and CSV triples, OpenKE folders, the Wikidata JSON dump, (entity, statement) records with their passage,
// DocRED, Parquet tables, data folders and label files; plain or compressed, one file, a folder or a glob.
// docs/formats/sources.md has every format and option.
//
// The same sources and options give the same calls of the sink in the same order: one goroutine reads, files of a
// folder or a glob come in sorted order.
package ingest

import (
	"context"
	"io"

	"github.com/quarry-rl/quarry/kg/store"
)

const op = "kg ingest"

// Sink takes what the readers find. Several entity records of one id add up: the first name, type and description that
// is not empty stays, aliases are collected; relations likewise. An entity's record may come after its statements.
// Slices and the records' own slices are valid during the call only; strings stay valid.
type Sink interface {
	Add(store.Record) error
	// Triple is a statement without document and qualifiers.
	Triple(subject, predicate, object []byte) error
}

// Policy says what happens to a line that cannot be read.
type Policy int

// The policies.
const (
	Stop       Policy = iota // the first bad line ends the run
	Quarantine               // bad lines are counted and written to Options.Quarantine
)

// Columns is the order of the columns of triple files.
type Columns int

// The orders. A header line goes before both.
const (
	HeadRelationTail Columns = iota
	HeadTailRelation         // DBpedia50 and others
)

// DefaultMaxLine is how long a line, or one JSON value of a file that is not lines, may be: 64 MiB.
const DefaultMaxLine = 64 << 20

// Options of a run; the zero value is right for most sources.
type Options struct {
	Format       Format  // of all sources; "" detects it file by file
	Columns      Columns // of triple files without a header line
	Separator    byte    // of triple files: '\t', ',' or ' '; 0 looks at the first line
	RawRDF       bool    // rdfs:label, skos:altLabel, schema:description, rdf:type and the like stay edges
	DropLiterals bool    // no edges to dates, numbers and texts

	MaxLine     int       // bytes; 0 is DefaultMaxLine. Buffers grow to at most twice this
	OnError     Policy    // for bad lines; unreadable or damaged files always stop the run
	Quarantine  io.Writer // takes bad lines as JSONL, or nil
	MaxBadShare float64   // of bad lines in all lines above which the run stops, from 100 lines on; 0 is no limit

	Progress func(Progress) // called now and then and at the end of each file, or nil
}

// Progress is how far a run has come. Bytes are of the files as they are on disk, compressed or not.
type Progress struct {
	File              string
	Bytes, TotalBytes int64
	Statements        int64
	Bad               int64
}

// Stats counts what a run read.
type Stats struct {
	Files      int
	Lines      int64 // lines, JSON values or rows that hold something
	Statements int64
	Entities   int64 // entity records; one entity may have several
	Relations  int64
	Documents  int64
	Bad        int64
	Left       map[string]int64 // what was left out on purpose, by reason
	Skipped    []string         // files of a folder or an archive whose format is none of ours
}

// Read reads sources, each a file, a folder or a glob, into sink. Errors are *quarry.Error: invalid (a bad line, with
// file:line), gate (too many bad lines), corrupt (a damaged file), not_found, unavailable, canceled; those of the sink
// come back as they are. The stats are those up to the error.
func Read(ctx context.Context, sink Sink, o Options, sources ...string) (Stats, error) {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	r := &run{ctx: ctx, sink: sink, opt: o, stats: Stats{Left: map[string]int64{}}, literals: map[string]struct{}{}}
	err := r.all(sources)
	return r.stats, err
}

// run is the state of one call of Read.
type run struct {
	ctx      context.Context
	sink     Sink
	opt      Options
	stats    Stats
	literals map[string]struct{} // literal entities told to the sink lately
	rdf      *rdfReader
	pairs    *pairReader
	docred   *docred

	name        string // of the current file
	read, total int64
}

func (r *run) all(sources []string) error {
	units, err := r.expand(sources)
	if err != nil {
		return err
	}
	for _, u := range units {
		r.total += u.bytes
	}
	for i, u := range units {
		if err := r.unit(i, u); err != nil {
			return err
		}
		r.progress()
	}
	return r.finish()
}

// finish sends what readers could tell only after the last file.
func (r *run) finish() error {
	if r.docred != nil {
		if err := r.docred.finish(r); err != nil {
			return err
		}
		r.progress()
	}
	return r.checkShare()
}

func (r *run) unit(number int, u unit) error {
	switch u.format {
	case Folder:
		return r.folder(u.path)
	case OpenKE:
		return r.openKE(u.path)
	}
	f, err := r.open(u.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.stream(&input{name: u.path, r: f, file: f.f, number: number, optional: u.found}, 0)
}

// line counts a line that holds something; now and then it looks whether to go on.
func (r *run) line() error {
	r.stats.Lines++
	if r.stats.Lines&0xfff != 0 {
		return nil
	}
	if err := r.canceled(); err != nil {
		return err
	}
	if r.stats.Lines&0xffff == 0 {
		r.progress()
	}
	return nil
}

func (r *run) progress() {
	if r.opt.Progress != nil {
		r.opt.Progress(Progress{File: r.name, Bytes: r.read, TotalBytes: r.total, Statements: r.stats.Statements, Bad: r.stats.Bad})
	}
}

func (r *run) triple(s, p, o []byte) error {
	r.stats.Statements++
	return r.sink.Triple(s, p, o)
}

func (r *run) statement(s *store.Statement) error {
	r.stats.Statements++
	return r.sink.Add(store.Record{Statement: s})
}

func (r *run) entity(e *store.Entity) error {
	r.stats.Entities++
	return r.sink.Add(store.Record{Entity: e})
}

func (r *run) relation(rel *store.Relation) error {
	r.stats.Relations++
	return r.sink.Add(store.Record{Relation: rel})
}

func (r *run) document(d *store.Document) error {
	r.stats.Documents++
	return r.sink.Add(store.Record{Document: d})
}

// left counts something that is left out on purpose.
func (r *run) left(reason string) { r.stats.Left[reason]++ }
