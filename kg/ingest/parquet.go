package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

// part is what a column of a Parquet table holds.
type part int

const (
	partNone part = iota
	partSubject
	partPredicate
	partObject
	partDoc
	partStart
	partEnd
	partAt
	partMethod
	partID
	partName
	partNameZH
	partAlias
	partType
	partDescription
	parts
)

// edgeColumns and nodeColumns list what columns may be called, in lower case, next to the headers of triple files.
var (
	edgeColumns = map[string]part{"doc": partDoc, "doc_id": partDoc, "document": partDoc, "start": partStart, "end": partEnd, "at": partAt,
		"point_in_time": partAt, "start_time": partStart, "end_time": partEnd, "method": partMethod}
	nodeColumns = map[string]part{"id": partID, "entity": partID, "entity_id": partID, "relation_id": partID, "label": partName, "name": partName, "title": partName,
		"label_en": partName, "name_en": partName, "label_zh": partNameZH, "name_zh": partNameZH, "aliases": partAlias, "alias": partAlias, "alternatives": partAlias,
		"type": partType, "description": partDescription}
)

type parquetTable struct {
	roles    []part // of each leaf column
	edges    bool
	relation bool // rows are relations, not entities
	cells    [parts][]string
}

// readParquet reads a table of edges, entities or relations, told apart by its columns. The rows are the lines.
func (r *run) readParquet(in *input) (err error) {
	if in.file == nil {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: in.name, Msg: "a Parquet file within a packed file cannot be read: expected it plain", Hint: "unpack it; Parquet packs its columns itself"}
	}
	damaged := func(cause any) error {
		return &quarry.Error{Op: op, Kind: quarry.KindCorrupt, Subject: in.name, Msg: fmt.Sprintf("no readable Parquet file: %v", cause), Hint: "copy or download the file again"}
	}
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			err = damaged(p)
		}
	}()
	info, err := in.file.Stat()
	if err != nil {
		return r.readError(in, 0, err)
	}
	if err := checkFooter(in.file, info.Size()); err != nil {
		return damaged(err)
	}
	f, err := parquet.OpenFile(in.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return damaged(err)
	}
	t, err := newParquetTable(in.name, f.Schema().Columns())
	if err != nil {
		return err
	}
	n := 0
	buf := make([]parquet.Row, 128)
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		for {
			k, err := rows.ReadRows(buf)
			for _, row := range buf[:k] {
				n++
				if err := r.parquetRow(in, t, n, row); err != nil {
					rows.Close()
					return err
				}
			}
			if err == io.EOF || err == nil && k == 0 {
				break
			}
			if err != nil {
				rows.Close()
				return damaged(err)
			}
		}
		rows.Close()
	}
	if at, err := in.file.Seek(0, io.SeekCurrent); err == nil { // up to there the head was read
		r.read += info.Size() - at
	}
	return nil
}

// checkFooter makes sure that the length a file states of its own footer is possible: the library allocates it unseen.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if size < 12 {
		return errors.New("it is cut off")
	}
	if _, err := f.ReadAt(end[:], size-8); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); string(end[4:]) != "PAR1" || n > size-12 {
		return errors.New("it does not end in a footer: it is cut off")
	}
	return nil
}

func newParquetTable(name string, columns [][]string) (*parquetTable, error) {
	t := &parquetTable{roles: make([]part, len(columns))}
	var found [3]bool
	for i, c := range columns {
		if p := columnOf(c[0]); p >= 0 && len(c) == 1 && !found[p] && edgeColumns[strings.ToLower(c[0])] == 0 {
			found[p] = true
			t.roles[i] = partSubject + part(p)
		} else {
			t.roles[i] = edgeColumns[strings.ToLower(c[0])]
		}
	}
	if found == [3]bool{true, true, true} {
		t.edges = true
		return t, nil
	}
	for i, c := range columns {
		t.roles[i] = nodeColumns[strings.ToLower(c[0])]
		if strings.EqualFold(c[0], "relation_id") {
			t.relation = true
		}
	}
	base := strings.ToLower(filepath.Base(name))
	t.relation = t.relation || strings.Contains(base, "relation") || strings.Contains(base, "propert") || strings.Contains(base, "predicate")
	if !slices.Contains(t.roles, partID) || !slices.Contains(t.roles, partName) {
		var have []string
		for _, c := range columns {
			have = append(have, c[0])
		}
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: name,
			Msg:  fmt.Sprintf("expected columns subject, predicate, object, or id and label, found %s", strings.Join(slices.Compact(have), ", ")),
			Hint: "rename the columns; docs/formats/sources.md lists the names"}
	}
	return t, nil
}

func (r *run) parquetRow(in *input, t *parquetTable, n int, row parquet.Row) error {
	if err := r.line(); err != nil {
		return err
	}
	for i := range t.cells {
		t.cells[i] = t.cells[i][:0]
	}
	for _, v := range row {
		c := v.Column()
		if c < 0 || c >= len(t.roles) || t.roles[c] == partNone || v.IsNull() {
			continue
		}
		text, ok := cellText(v)
		if !ok {
			return r.bad(in, n, []byte(v.String()), false, faultf("column %d: expected a string or an integer, found %q", c+1, v.String()))
		}
		t.cells[t.roles[c]] = append(t.cells[t.roles[c]], text)
	}
	err := t.send(r)
	if f, ok := err.(*fault); ok {
		return r.bad(in, n, fmt.Appendf(nil, "%v", row), false, f)
	}
	return err
}

func cellText(v parquet.Value) (string, bool) {
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		s := string(v.ByteArray())
		return s, utf8.ValidString(s)
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10), true
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), true
	}
	return "", false
}

func (t *parquetTable) cell(p part) string {
	if len(t.cells[p]) == 0 {
		return ""
	}
	return t.cells[p][0]
}

func (t *parquetTable) send(r *run) error {
	if !t.edges {
		id := t.cell(partID)
		switch {
		case id == "":
			return faultf("expected an id, found none")
		case t.relation:
			return r.relation(&store.Relation{ID: id, Label: t.cell(partName), LabelZH: t.cell(partNameZH), Description: t.cell(partDescription)})
		}
		return r.entity(&store.Entity{ID: id, Name: t.cell(partName), NameZH: t.cell(partNameZH), Aliases: slices.Clone(t.cells[partAlias]), Type: t.cell(partType), Description: t.cell(partDescription)})
	}
	s := store.Statement{Subject: t.cell(partSubject), Predicate: t.cell(partPredicate), Object: t.cell(partObject), Doc: t.cell(partDoc)}
	if s.Subject == "" || s.Predicate == "" || s.Object == "" {
		return faultf("expected subject, predicate and object, found one of them empty")
	}
	for _, q := range []struct {
		part     part
		property string
	}{{partStart, store.QualStart}, {partEnd, store.QualEnd}, {partAt, store.QualAt}, {partMethod, store.QualMethod}} {
		v := t.cell(q.part)
		if v == "" {
			continue
		}
		if q.part != partMethod && !timePattern.MatchString(v) {
			return faultf("%s: expected YYYY, YYYY-MM or YYYY-MM-DD, found %q", q.property, v)
		}
		s.Qualifiers = append(s.Qualifiers, store.Qualifier{Property: q.property, Value: v})
	}
	if s.Doc == "" && s.Qualifiers == nil {
		return r.triple([]byte(s.Subject), []byte(s.Predicate), []byte(s.Object))
	}
	return r.statement(&s)
}
