package resolve

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// MapVersion is the version of the mapping file (docs/formats/extract.md).
const MapVersion = 1

const mapMagic = "quarry-entity-map"

type mapHead struct {
	Magic   string `json:"format"`
	Version int    `json:"version"`
	Source  string `json:"source"` // digest of the graph, or what the caller says
	Report  Report `json:"report"`
}

type mapEnd struct {
	Rows int    `json:"rows"`
	SHA  string `json:"sha256"` // of all lines before
}

// Write publishes a mapping, whole or not at all. source says what it was made from, usually the graph's digest.
func Write(path string, m *Mapping, source string) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(mapHead{mapMagic, MapVersion, source, m.Report})
	for i := range m.Links {
		if err == nil {
			err = enc.Encode(&m.Links[i])
		}
	}
	sum := sha256.Sum256(buf.Bytes())
	if err == nil {
		err = enc.Encode(mapEnd{len(m.Links), hex.EncodeToString(sum[:])})
	}
	if err != nil {
		return &quarry.Error{Op: op, Kind: quarry.KindInternal, Subject: path, Err: err}
	}
	return atomicfile.WriteFile(path, buf.Bytes())
}

// Read reads a mapping and the source it was made from. Errors: corrupt (file:line, a line that changed or is missing), invalid (another file,
// a newer version), not_found.
func Read(path string) (m *Mapping, source string, err error) {
	f, err := atomicfile.Open(op, path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	return readMap(f, path)
}

func readMap(f io.Reader, path string) (*Mapping, string, error) {
	r := mapReader{path: path, in: bufio.NewReaderSize(f, 1<<16), sum: sha256.New(), to: map[string]bool{}, from: map[string]bool{}}
	line, err := r.next()
	if err != nil {
		return nil, "", err
	}
	var h mapHead
	switch err := json.Unmarshal(line, &h); {
	case err != nil || h.Magic != mapMagic:
		return nil, "", r.fault(quarry.KindInvalid, fmt.Sprintf("expected {\"format\":%q,...}: this is no mapping of entities", mapMagic), "name the file that quarry kg resolve wrote")
	case h.Version > MapVersion:
		return nil, "", r.fault(quarry.KindInvalid, fmt.Sprintf("version %d is newer than this program reads, %d", h.Version, MapVersion), "use a newer quarry")
	case h.Version != MapVersion:
		return nil, "", r.fault(quarry.KindInvalid, fmt.Sprintf("expected version %d, found %d", MapVersion, h.Version), "resolve the graph anew")
	}
	m := &Mapping{Report: h.Report}
	for {
		before := hex.EncodeToString(r.sum.Sum(nil))
		line, err := r.next()
		if err != nil {
			return nil, "", err
		}
		if bytes.HasPrefix(line, []byte(`{"rows":`)) {
			return m, h.Source, r.end(line, m, before)
		}
		var l Link
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, "", r.damaged("the line is no row: " + err.Error())
		}
		if msg := r.row(&l, m); msg != "" {
			return nil, "", r.damaged(msg)
		}
		m.Links = append(m.Links, l)
	}
}

type mapReader struct {
	path     string
	in       *bufio.Reader
	n        int
	sum      hash.Hash
	from, to map[string]bool
}

func (r *mapReader) next() ([]byte, error) {
	r.n++
	line, err := r.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, r.damaged("the file ends before its last line: it is cut off")
	}
	if err != nil {
		return nil, atomicfile.Classify(op, r.path, err)
	}
	r.sum.Write(line)
	return line, nil
}

func (r *mapReader) row(l *Link, m *Mapping) string {
	switch {
	case l.From == "" || l.To == "" || l.From == l.To:
		return "expected two ids that differ"
	case len(m.Links) > 0 && m.Links[len(m.Links)-1].From >= l.From:
		return fmt.Sprintf("expected rows in the order of from, found %q", l.From)
	case r.to[l.From] || r.from[l.To]:
		return fmt.Sprintf("%q and %q are a chain: expected every to to stay", l.From, l.To)
	case !(l.Score > 0 && l.Score <= 1):
		return fmt.Sprintf("expected a score above 0 and at most 1, found %v", l.Score)
	}
	r.from[l.From], r.to[l.To] = true, true
	return ""
}

func (r *mapReader) end(line []byte, m *Mapping, sum string) error {
	var e mapEnd
	if err := json.Unmarshal(line, &e); err != nil || e.Rows != len(m.Links) || e.SHA != sum {
		return r.damaged("the lines do not match the checksum in the last one")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return r.damaged("there is something after the last line")
	}
	return nil
}

func (r *mapReader) damaged(msg string) error {
	return r.fault(quarry.KindCorrupt, msg, "write it anew; to keep two entities apart name them to quarry kg resolve instead of editing the file")
}

func (r *mapReader) fault(kind quarry.Kind, msg, hint string) error {
	return &quarry.Error{Op: op, Kind: kind, Subject: fmt.Sprintf("%s:%d", r.path, r.n), Msg: msg, Hint: hint}
}
