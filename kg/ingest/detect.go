package ingest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Format is what a source is written in.
type Format string

// The formats.
const (
	NTriples   Format = "ntriples"   // W3C N-Triples
	NQuads     Format = "nquads"     // W3C N-Quads: the graph is the document
	Triples    Format = "triples"    // three columns parted by tabs, commas or blanks
	OpenKE     Format = "openke"     // a folder with entity2id.txt, relation2id.txt, train2id.txt
	Wikidata   Format = "wikidata"   // lines of the Wikidata JSON dump
	Statements Format = "statements" // JSONL of (entity, statement) with passage and citation
	DocRED     Format = "docred"     // documents with vertexSet, labels, sents
	Folder     Format = "folder"     // a data folder of this project
	Parquet    Format = "parquet"    // tables of edges, entities or relations
	Names      Format = "names"      // JSON object from id to names: entity2wikidata.json, rel_info.json
)

// Formats lists all formats.
func Formats() []Format {
	return []Format{NTriples, NQuads, Triples, OpenKE, Wikidata, Statements, DocRED, Folder, Parquet, Names}
}

// ParseFormat reads the name of a format; "" and "auto" are detection.
func ParseFormat(s string) (Format, error) {
	if s == "" || s == "auto" {
		return "", nil
	}
	names := make([]string, 0, len(Formats()))
	for _, f := range Formats() {
		if string(f) == s {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: "format " + s, Msg: "expected auto, " + strings.Join(names, ", ")}
}

// Detect tells the format of a file by its name, endings such as .gz left out, and its first unpacked bytes. "" is none
// that can be read. Folders are told by the files they hold.
func Detect(name string, head []byte) Format {
	f, _ := detect(name, head)
	return f
}

// detect also says why there is none, when that is known.
func detect(name string, head []byte) (f Format, why string) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	ext := extension(name)
	if bytes.HasPrefix(head, []byte("PAR1")) || ext == ".parquet" {
		return Parquet, ""
	}
	switch ext {
	case ".ttl", ".trig", ".n3", ".rdf", ".owl", ".xml", ".jsonld":
		return "", "this RDF syntax is not read: convert it to N-Triples or N-Quads (riot --output=nquads, rapper -o ntriples)"
	case ".nt":
		return NTriples, ""
	case ".nq":
		return NQuads, ""
	case ".json", ".jsonl", ".ndjson":
		return detectJSON(head), "no known JSON: expected Wikidata entities, DocRED documents, (entity, statement) records or names by id"
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return "", "binary data"
	}
	if ext == ".csv" || ext == ".tsv" {
		return Triples, ""
	}
	line := firstLine(head)
	switch {
	case len(line) == 0:
		return "", "no content"
	case bytes.HasPrefix(line, []byte("<?xml")), bytes.HasPrefix(line, []byte("<!")):
		return "", "XML is not read"
	case line[0] == '<' || bytes.HasPrefix(line, []byte("_:")):
		return NQuads, ""
	case line[0] == '{' || line[0] == '[':
		return detectJSON(head), "no known JSON"
	case bytes.HasPrefix(line, []byte("@prefix")), bytes.HasPrefix(bytes.ToLower(line), []byte("prefix ")):
		return "", "Turtle is not read: convert it to N-Triples"
	case bytes.Count(line, []byte("\t")) == 2, len(bytes.Fields(line)) == 3 && ext == ".txt":
		return Triples, ""
	}
	return "", ""
}

// firstLine is the first line that holds more than blanks and, in RDF, more than a comment.
func firstLine(head []byte) []byte {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return bytes.TrimRight(line, "\r")
		}
		head = rest
	}
	return nil
}

func detectJSON(head []byte) Format {
	has := func(key string) bool { return bytes.Contains(head, []byte(`"`+key+`"`)) }
	start := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(start) == 0:
		return ""
	case has("vertexSet"):
		return DocRED
	case has("labels") && (has("claims") || has("descriptions") || has("item") || has("property")):
		return Wikidata
	case start[0] == '{' && (has("statement") || has("passage")):
		return Statements
	case bytes.HasPrefix(bytes.TrimLeft(start[1:], " \t\r\n"), []byte(`{"sents"`)), start[0] == '[' && has("sents"):
		return DocRED
	case start[0] == '{' && namesHead(start):
		return Names
	}
	return ""
}

// namesHead says whether an object's first value is a string or an object, as in a file of names.
func namesHead(b []byte) bool {
	s := jscan{b: b}
	if !s.object() || !s.more('}') {
		return false
	}
	s.key()
	s.blanks()
	return s.f == nil && s.i < len(b) && (b[s.i] == '"' || b[s.i] == '{')
}

// extension is the ending in lower case without those of packing.
func extension(name string) string {
	for {
		ext := strings.ToLower(filepath.Ext(name))
		switch ext {
		case ".gz", ".zst", ".zstd", ".bz2", ".gzip":
			name = name[:len(name)-len(ext)]
			continue
		}
		return ext
	}
}

// format reads an unpacked stream.
func (r *run) format(in *input, head []byte) error {
	f, why := r.opt.Format, ""
	if f == "" {
		f, why = detect(in.name, head)
	}
	if f == "" && in.optional {
		r.stats.Skipped = append(r.stats.Skipped, in.name)
		return nil
	}
	r.stats.Files++
	switch f {
	case NTriples:
		return r.readRDF(in, false)
	case NQuads:
		return r.readRDF(in, true)
	case Triples:
		return r.readTriples(in)
	case Wikidata:
		return r.readWikidata(in)
	case Statements:
		return r.readPairs(in)
	case DocRED:
		return r.readDocRED(in)
	case Parquet:
		return r.readParquet(in)
	case Names:
		return r.readNames(in)
	case Folder, OpenKE:
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: in.name, Msg: fmt.Sprintf("is one file, expected a folder of format %s", f), Hint: "name the folder; unpack it when it is in an archive"}
	case "":
		if why != "" {
			why = ": " + why
		}
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: in.name, Msg: "the format is not known" + why, Hint: "name the format if it is one of those in docs/formats/sources.md"}
	}
	_, err := ParseFormat(string(f))
	return err
}
