package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// The files of a graph folder (docs/formats/graph.md).
const (
	GraphFile    = "graph.qkg"
	ManifestFile = "manifest.json"
)

const (
	schemaName  = "quarry.graph/"
	Schema      = schemaName + "1" // of a graph folder
	maxManifest = 16 << 20         // bytes
)

// Manifest says what a graph folder holds. It is written last: a folder without one is unfinished.
type Manifest struct {
	Schema  string   `json:"schema"` // quarry.graph/1
	File    string   `json:"file"`
	Bytes   int64    `json:"bytes"`  // of the file
	Digest  string   `json:"digest"` // identity of the graph: SHA-256 over the digests of all sections, 64 hex digits
	Counts  Counts   `json:"counts"`
	Sources []Source `json:"sources"`
}

// Counts are the sizes of a graph.
type Counts struct {
	Entities   int `json:"entities"`
	Relations  int `json:"relations"`
	Statements int `json:"statements"` // as they came, with repetitions
	Edges      int `json:"edges"`      // distinct subject, relation, object
	Documents  int `json:"documents"`
	Passages   int `json:"passages"` // sentences
	Evidence   int `json:"evidence"` // edge and what carries it: a sentence, a span or a whole document
	Qualifiers int `json:"qualifiers"`
	Strings    int `json:"strings"` // distinct names, aliases, descriptions, titles, URLs and qualifiers
}

func (c *Counts) fill(a *arrays) {
	c.Entities, c.Relations, c.Edges = a.entities(), a.relations(), a.edges()
	c.Documents, c.Passages, c.Evidence = a.documents(), a.passages(), len(a.ev)+len(a.spanEdge)
	c.Qualifiers, c.Strings = len(a.qualProp), a.strings()-1
}

// Source is one input of a build. Path is what the user wrote, without the folders above the source.
type Source struct {
	Path        string `json:"path"`
	Format      string `json:"format,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
	SHA256      string `json:"sha256,omitempty"`
	Records     int64  `json:"records,omitempty"`
	Quarantined int64  `json:"quarantined,omitempty"`
}

func (m *Manifest) save(dir string) error {
	if m.Sources == nil {
		m.Sources = []Source{}
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return &quarry.Error{Op: "kg build", Kind: quarry.KindInternal, Subject: ManifestFile, Err: err}
	}
	return atomicfile.WriteFile(filepath.Join(dir, ManifestFile), append(data, '\n'))
}

func loadManifest(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, ManifestFile)
	f, err := atomicfile.Open("kg open", path)
	if quarry.KindOf(err) == quarry.KindNotFound {
		return m, &quarry.Error{Op: "kg open", Kind: quarry.KindNotFound, Subject: path, Msg: "no such file: no graph folder, or one whose build did not finish",
			Hint: "quarry kg build --out DIR SOURCE makes a graph folder"}
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return m, atomicfile.Classify("kg open", path, err)
	}
	if len(data) > maxManifest {
		return m, corrupt(path, "longer than 16 MiB")
	}
	return parseManifest(path, data)
}

func parseManifest(path string, data []byte) (m Manifest, err error) {
	var only struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &only); err != nil {
		return m, corrupt(path, "not a JSON object: "+err.Error())
	}
	if only.Schema != Schema {
		if strings.HasPrefix(only.Schema, schemaName) {
			return m, newer(path, fmt.Sprintf("schema %s, this program reads %s", cut(only.Schema), Schema))
		}
		return m, corrupt(path, fmt.Sprintf("schema is %s, expected %s", cut(only.Schema), Schema))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, corrupt(path, "not a manifest: "+err.Error())
	}
	if m.File != GraphFile {
		return m, corrupt(path, fmt.Sprintf("file is %s, expected %s", cut(m.File), GraphFile))
	}
	return m, nil
}

func corrupt(subject, msg string) error {
	return &quarry.Error{Op: "kg open", Kind: quarry.KindCorrupt, Subject: subject, Msg: msg,
		Hint: "copy the folder again from where it is whole, or build it again with: quarry kg build"}
}

func newer(subject, msg string) error {
	return &quarry.Error{Op: "kg open", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: "use a newer quarry, or build the graph again with this one"}
}
