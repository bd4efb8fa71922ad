package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg/csr"
)

// Graph is an open graph file. It is read-only and safe for concurrent use until Close. Texts it gives are copies; the
// arrays of csr.Graph and the lists of numbers are parts of the mapped file and end with it.
//
// Numbers that are out of range are given no names and no texts; csr.Graph indexes its arrays with them and panics.
type Graph struct {
	*csr.Graph
	arrays
	manifest Manifest
	table    []section
	last     []byte // the zeros before the table
	path     string
	unmap    func() error
}

// section is a line of the file's table.
type section struct {
	name   string
	data   []byte
	gap    []byte // the zeros before it
	sha256 []byte
}

// Open maps the graph in a folder. It checks the manifest, the table of sections and how their lengths fit, not their
// content, so that it takes no longer for a large graph: Fsck reads all. Before Fsck has passed, walking a damaged file
// can panic. Errors: not_found (no manifest: no graph, or an unfinished one), invalid (written by a newer quarry),
// corrupt (which section, and what was expected), unavailable.
func Open(dir string) (*Graph, error) {
	m, err := loadManifest(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, GraphFile)
	f, err := atomicfile.Open("kg open", path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // a map outlives its file
	info, err := f.Stat()
	if err != nil {
		return nil, atomicfile.Classify("kg open", path, err)
	}
	size := info.Size()
	if size < headLen || uint64(size) > math.MaxInt {
		return nil, corrupt(path, fmt.Sprintf("%d bytes: cut off, or no graph file", size))
	}
	data, unmap, err := mapFile(f, int(size))
	if err != nil {
		return nil, &quarry.Error{Op: "kg open", Kind: quarry.KindUnavailable, Subject: path, Msg: "cannot be mapped", Err: err,
			Hint: "check the limit of address space (ulimit -v) and the file system"}
	}
	g, err := parse(path, data)
	if err == nil && (g.manifest.Digest != m.Digest || m.Bytes != size) {
		err = corrupt(path, "is not the file that "+ManifestFile+" describes")
	}
	if err != nil {
		unmap()
		return nil, err
	}
	g.manifest, g.unmap = m, unmap
	return g, nil
}

// Close unmaps the file. No array or list of the graph may be used afterwards.
func (g *Graph) Close() error {
	if g.unmap == nil {
		return nil
	}
	err := g.unmap()
	g.unmap, g.Graph, g.arrays, g.table = nil, nil, arrays{}, nil
	if err != nil {
		return &quarry.Error{Op: "kg close", Kind: quarry.KindInternal, Subject: g.path, Err: err}
	}
	return nil
}

// Manifest says what the graph holds and was made from. Sources are not to be changed.
func (g *Graph) Manifest() Manifest { return g.manifest }

// Digest is the identity of the graph, 64 hex digits: equal digests mean equal content.
func (g *Graph) Digest() string { return g.manifest.Digest }

// parse reads head, table and tail and lays the sections over data.
func parse(path string, data []byte) (*Graph, error) {
	if len(data) < headLen || string(data[:8]) != magic {
		return nil, corrupt(path, "does not begin like a graph file")
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v > version {
		return nil, newer(path, fmt.Sprintf("graph file of version %d, this program reads version %d", v, version))
	} else if v != version {
		return nil, corrupt(path, fmt.Sprintf("version %d, expected %d", v, version))
	}
	g := &Graph{path: path}
	columns := g.columns()
	tableLen := len(columns) * entryLen
	if len(data) < headLen+tableLen+tailLen {
		return nil, corrupt(path, fmt.Sprintf("%d bytes: cut off", len(data)))
	}
	tail := data[len(data)-tailLen:]
	table := data[len(data)-tailLen-tableLen : len(data)-tailLen]
	if string(tail[16:24]) != endMagic {
		return nil, corrupt(path, fmt.Sprintf("%d bytes and no end mark: cut off, or something was appended", len(data)))
	}
	if size := binary.LittleEndian.Uint64(tail); size != uint64(len(data)) {
		return nil, corrupt(path, fmt.Sprintf("%d bytes, written with %d", len(data), size))
	}
	if !bytes.Equal(tail, seal(data[:headLen], table, uint64(len(data)))) {
		return nil, corrupt(path, "the table of sections does not have its checksum")
	}
	g.manifest.Digest = hex.EncodeToString(tail[32:])
	end, room := uint64(headLen), uint64(len(data)-tailLen-tableLen)
	for i, c := range columns {
		e := table[i*entryLen : (i+1)*entryLen]
		name := string(bytes.TrimRight(e[:nameBytes], "\x00"))
		at, length := binary.LittleEndian.Uint64(e[16:]), binary.LittleEndian.Uint64(e[24:])
		if name != c.name || at != (end+align-1)/align*align || at > room || length > room-at {
			return nil, corrupt(path, fmt.Sprintf("section %d is %s of %d bytes at %d, expected %s after byte %d", i, cut(name), length, at, c.name, end))
		}
		s := section{c.name, data[at : at+length : at+length], data[end:at], e[32:]}
		if !c.bind(s.data) {
			return nil, corrupt(path, fmt.Sprintf("section %s: %d bytes are no whole number of items", c.name, length))
		}
		g.table = append(g.table, s)
		end = at + length
	}
	if room != (end+align-1)/align*align {
		return nil, corrupt(path, fmt.Sprintf("%d bytes between the last section and the table", room-end))
	}
	g.last = data[end:room]
	if name, msg := g.lengths(); msg != "" {
		return nil, corrupt(path, "section "+name+": "+msg)
	}
	g.Graph = g.arrays.graph()
	return g, nil
}

// bind lays a column over its bytes.
func (c column) bind(b []byte) (ok bool) {
	switch v := c.data.(type) {
	case *[]byte:
		*v, ok = b, true
	case *[]uint32:
		*v, ok = view[uint32](b)
	case *[]uint64:
		*v, ok = view[uint64](b)
	case *[]csr.Step:
		*v, ok = view[csr.Step](b)
	}
	return ok
}

// lengths checks how the sections fit together by their lengths and last items alone.
func (a *arrays) lengths() (name, msg string) {
	want := func(section string, got, want int) {
		if name == "" && got != want {
			name, msg = section, fmt.Sprintf("%d items, expected %d", got, want)
		}
	}
	positions := func(section string, off []uint64, items, end int) {
		want(section, len(off), items+1)
		if name == "" && (off[0] != 0 || off[items] != uint64(end)) {
			name, msg = section, fmt.Sprintf("runs from %d to %d, expected 0 to %d", off[0], off[items], end)
		}
	}
	rows := func(section string, off []uint32, items, end int) {
		want(section, len(off), items+1)
		if name == "" && (off[0] != 0 || int64(off[items]) != int64(end)) {
			name, msg = section, fmt.Sprintf("runs from %d to %d, expected 0 to %d", off[0], off[items], end)
		}
	}
	optional := func(section string, got, full int) {
		if got != 0 {
			want(section, got, full)
		}
	}
	n, m, d := max(a.entities(), 0), a.edges(), max(a.documents(), 0)
	rows("csr.off", a.off, n, 2*m)
	rows("csr.out", a.out, n, m)
	want("csr.targets", len(a.targets), 2*m)
	want("csr.steps", len(a.steps), 2*m)
	want("csr.in", len(a.inEdges), m)
	positions("ent.id.off", a.entIDOff, n, len(a.entID))
	for _, c := range []struct {
		name string
		col  []uint32
	}{{"ent.name", a.entName}, {"ent.zh", a.entZH}, {"ent.desc", a.entDesc}, {"ent.type", a.entType}} {
		optional(c.name, len(c.col), n)
	}
	if len(a.aliasOff) > 0 || len(a.alias) > 0 {
		rows("ent.alias.off", a.aliasOff, n, len(a.alias))
	}
	if len(a.mentionOff) > 0 || len(a.mention) > 0 {
		rows("ent.doc.off", a.mentionOff, n, len(a.mention))
	}
	r := max(a.relations(), 0)
	positions("rel.id.off", a.relIDOff, r, len(a.relID))
	if name == "" && r > csr.MaxRelations {
		name, msg = "rel.id.off", fmt.Sprintf("%d relations, a graph holds at most %d", r, csr.MaxRelations)
	}
	optional("rel.label", len(a.relLabel), r)
	optional("rel.zh", len(a.relZH), r)
	optional("rel.desc", len(a.relDesc), r)
	positions("type.off", a.typeOff, max(len(a.typeOff)-1, 1), len(a.types))
	rows("doc.first", a.docFirst, d, max(a.passages(), 0))
	positions("doc.id.off", a.docIDOff, d, len(a.docID))
	optional("doc.title", len(a.docTitle), d)
	optional("doc.url", len(a.docURL), d)
	want("doc.sha256", len(a.docSHA), 32*d)
	positions("pas.off", a.pasOff, max(a.passages(), 0), len(a.text))
	positions("str.off", a.strOff, max(a.strings(), 1), len(a.str))
	for _, x := range []struct {
		name string
		index
		ids int // -1: any number
	}{{"ent.id", a.entByID, n}, {"ent.name", a.entByName, -1}, {"rel.id", a.relByID, r}, {"rel.name", a.relByName, -1}, {"doc.id", a.docByID, d}} {
		want(x.name+".num", len(x.num), len(x.hash))
		if x.ids >= 0 {
			want(x.name+".hash", len(x.hash), x.ids)
		}
	}
	if len(a.evOff) > 0 || len(a.ev) > 0 {
		rows("ev.off", a.evOff, m, len(a.ev))
	}
	k := len(a.spanEdge)
	want("span.doc", len(a.spanDoc), k)
	want("span.start", len(a.spanStart), k)
	want("span.end", len(a.spanEnd), k)
	k = len(a.qualEdge)
	want("qual.doc", len(a.qualDoc), k)
	want("qual.value", len(a.qualTo), len(a.qualProp))
	if k > 0 || len(a.qualOff) > 0 || len(a.qualProp) > 0 {
		rows("qual.off", a.qualOff, k, len(a.qualProp))
	}
	return name, msg
}
