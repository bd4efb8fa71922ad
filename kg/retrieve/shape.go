package retrieve

import (
	"strconv"
	"strings"
)

// Shape is how a public project asks its retrieval server.
type Shape string

// The shapes. SearchR1 is also that of verl's search tool, ReCall also that of ReSearch.
const (
	SearchR1       Shape = "search-r1"      // POST /retrieve, scores asked for
	ASearcher      Shape = "asearcher"      // POST /retrieve without scores, POST /access
	ReCall         Shape = "recall"         // POST /search with top_n, POST /batch_search, GET /health
	R1Searcher     Shape = "r1-searcher"    // POST /queries
	OpenResearcher Shape = "openresearcher" // POST /search with topn, POST /get_content
)

// Shapes lists them all.
func Shapes() []Shape { return []Shape{SearchR1, ASearcher, ReCall, R1Searcher, OpenResearcher} }

// Document is a passage that was found. A shape carries only some of the fields; the others are empty.
type Document struct {
	ID    string
	Title string
	Text  string
	URL   string
	Score float64 // 0 where the shape has none
}

// Page is a whole text by its URL.
type Page struct {
	Title string
	Text  string
}

// contents is title and text as Search-R1's corpora have them: the title quoted on the first line.
func contents(title, text string) string { return `"` + title + "\"\n" + text }

// cutContents is the reverse of contents; a text without a quoted first line has no title.
func cutContents(s string) (title, text string) {
	first, rest, ok := strings.Cut(s, "\n")
	if !ok || len(first) < 2 || first[0] != '"' || first[len(first)-1] != '"' {
		return "", s
	}
	return first[1 : len(first)-1], rest
}

// line is a passage as R1-Searcher's corpora have it: number, tab, contents in one line.
func line(n uint32, title, text string) string {
	oneLine := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")
	return strconv.FormatUint(uint64(n), 10) + "\t" + `"` + oneLine.Replace(title) + `" ` + oneLine.Replace(text)
}

// cutLine is the reverse of line, as far as it goes: a title with `" ` in it ends there.
func cutLine(s string) (d Document) {
	if id, rest, ok := strings.Cut(s, "\t"); ok {
		d.ID, s = id, rest
	}
	d.Text = s
	if len(s) > 0 && s[0] == '"' {
		if title, text, ok := strings.Cut(s[1:], `" `); ok {
			d.Title, d.Text = title, text
		}
	}
	return d
}
