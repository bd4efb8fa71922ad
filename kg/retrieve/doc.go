// Package retrieve is text search over HTTP in the request shapes of public retrieval servers, as server and as client:
// Search-R1 and verl's search tool, ASearcher, ReCall and ReSearch, R1-Searcher, OpenResearcher. The shapes are written
// down in docs/formats/retrieve-http.md.
package retrieve
