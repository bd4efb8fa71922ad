package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// manifestSchema names the form of manifest.json itself; the number counts its changes.
const (
	manifestSchema  = "quarry.dataset"
	manifestVersion = 1
	manifestName    = "manifest.json"
)

// Manifest says what a dataset holds. It is the last file written, and readers trust nothing else.
type Manifest struct {
	Schema        string   `json:"schema"`         // "quarry.dataset/1": the form of this file
	Kind          string   `json:"kind"`           // Q1, S1, D1, R1, T1
	SchemaVersion int      `json:"schema_version"` // of the columns of Kind
	SchemaSHA256  string   `json:"schema_sha256"`  // of the Parquet schema as text
	Files         []File   `json:"files"`
	Rows          int64    `json:"rows"`
	Tokens        int64    `json:"tokens"` // S1: num_tokens summed; T1: ids; 0 for the others
	Parents       []Parent `json:"parents"`
	Producer      string   `json:"producer,omitempty"`
	Created       string   `json:"created,omitempty"`
}

// File is one shard.
type File struct {
	Path      string `json:"path"` // relative, with slashes
	Rows      int64  `json:"rows"`
	RowGroups int    `json:"row_groups"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
}

// Parent is something the dataset was made from.
type Parent struct {
	Kind   string `json:"kind"`   // a dataset's kind, or "kg", "weights", "journal"
	Digest string `json:"digest"` // hex SHA-256
}

// Meta is what the caller says about a dataset when it closes it. Nothing of it enters the digest.
type Meta struct {
	Producer string   // program and version, or the stage
	Created  string   // RFC 3339; empty leaves it out, so that reruns give the same file
	Parents  []Parent // lineage
	License  string   // SPDX name for the card
	Note     string   // a sentence or two for the card
}

// Digest identifies the content: hex SHA-256 over kind, schema version and the files' digests and row counts in order.
// Times, names and lineage do not enter.
func (m Manifest) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s %d\n", manifestSchema, m.Kind, m.SchemaVersion)
	for _, f := range m.Files {
		fmt.Fprintf(h, "%s %d\n", f.SHA256, f.Rows)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (m Manifest) encode() []byte {
	m.Parents = append([]Parent{}, m.Parents...)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	e.Encode(m) // strings and numbers only: cannot fail
	return b.Bytes()
}

// versions of the kinds this program reads.
func knownKinds() map[string]spec {
	return map[string]spec{"Q1": Q1{}.spec(), "S1": S1{}.spec(), "D1": D1{}.spec(), "R1": R1{}.spec(), "T1": T1{}.spec()}
}

// manifestForm reads the version of a manifest's form alone: the rest of a newer one may have another shape. It is 0 when
// there is none.
func manifestForm(data []byte) (form int) {
	var head struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(data, &head) != nil {
		return 0
	}
	if version, ok := strings.CutPrefix(head.Schema, manifestSchema+"/"); ok {
		_, _ = fmt.Sscanf(version, "%d", &form)
	}
	return form
}

// parseManifest reads and checks a manifest; name is its path for errors.
func parseManifest(name string, data []byte) (Manifest, error) {
	const rebuild = "build the dataset again, or copy it again from where it is whole"
	if form := manifestForm(data); form > manifestVersion {
		return Manifest{}, tooNew(name, "manifest", form, manifestVersion)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		e := corrupt("open dataset", name, "not a manifest", rebuild)
		e.Err = err
		return m, e
	}
	bad := func(format string, args ...any) (Manifest, error) {
		return Manifest{}, corrupt("open dataset", name, fmt.Sprintf(format, args...), rebuild)
	}
	if manifestForm(data) < 1 {
		return bad("schema is %s, want %s/%d", shown(m.Schema), manifestSchema, manifestVersion)
	}
	sp, ok := knownKinds()[m.Kind]
	switch {
	case !ok:
		return bad("kind is %s, want one of Q1, S1, D1, R1, T1", shown(m.Kind))
	case m.SchemaVersion > sp.version:
		return Manifest{}, tooNew(name, m.Kind, m.SchemaVersion, sp.version)
	case m.SchemaVersion < 1:
		return bad("schema_version of %s is %d, want 1 to %d", m.Kind, m.SchemaVersion, sp.version)
	case m.SchemaVersion < sp.version:
		return Manifest{}, &quarry.Error{Op: "open dataset", Kind: quarry.KindInvalid, Subject: name,
			Msg:  fmt.Sprintf("%s version %d is older than version %d, which this program reads", m.Kind, m.SchemaVersion, sp.version),
			Hint: "build the dataset again with this program"}
	case len(m.Files) == 0:
		return bad("files is empty, want at least one shard")
	}
	var rows int64
	var seen []string
	for i, f := range m.Files {
		if path.Clean(f.Path) != f.Path || !filepath.IsLocal(filepath.FromSlash(f.Path)) || path.Ext(f.Path) != ".parquet" {
			return bad("files[%d].path is %s, want a relative path of a .parquet file", i, shown(f.Path))
		}
		if slices.Contains(seen, f.Path) {
			return bad("files[%d].path %s stands there twice", i, shown(f.Path))
		}
		seen = append(seen, f.Path)
		if b, err := hex.DecodeString(f.SHA256); err != nil || len(b) != sha256.Size {
			return bad("files[%d].sha256 is %s, want 64 hex digits", i, shown(f.SHA256))
		}
		if f.Rows < 0 || f.Bytes < 0 || f.RowGroups < 0 {
			return bad("files[%d] has a negative count", i)
		}
		rows += f.Rows
	}
	if rows != m.Rows {
		return bad("rows is %d, but the files sum up to %d", m.Rows, rows)
	}
	return m, nil
}

func tooNew(name, what string, got, known int) error {
	return &quarry.Error{Op: "open dataset", Kind: quarry.KindInvalid, Subject: name,
		Msg:  fmt.Sprintf("%s version %d is newer than this program, which reads up to version %d", what, got, known),
		Hint: "use the quarry that wrote the dataset or a later one, or build the dataset again with this one"}
}
