package retrieve

import (
	"fmt"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/bm25"
)

// How many passages a query gets when the request does not say, by project.
const (
	defaultSearchR1 = 3
	defaultReCall   = 10
	defaultR1       = 3
	defaultOpen     = 10
)

// perQuery makes the answer's list for each query.
func perQuery[T any](c *call, one func(bm25.Hit) T) [][]T {
	out := make([][]T, len(c.Hits))
	for i, hits := range c.Hits {
		out[i] = make([]T, len(hits)) // an empty list, never null
		for j, h := range hits {
			out[i][j] = one(h)
		}
	}
	return out
}

func scores(hits [][]bm25.Hit) [][]float32 {
	out := make([][]float32, len(hits))
	for i := range hits {
		out[i] = make([]float32, len(hits[i]))
		for j, h := range hits[i] {
			out[i][j] = h.Score
		}
	}
	return out
}

func (s *server) retrieve(c *call) (any, error) {
	var r retrieveRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	c.Shape = ASearcher
	if r.ReturnScores {
		c.Shape = SearchR1
	}
	if err := s.find(c, "queries", r.Queries, "topk", r.TopK, defaultSearchR1); err != nil {
		return nil, err
	}
	one := func(h bm25.Hit) document {
		d := s.passage(c, h.Passage)
		return document{ID: d.ID, Contents: contents(d.Title, d.Text), Title: d.Title, Text: d.Text, URL: d.URL}
	}
	if r.ReturnScores {
		return result[[]scoredDocument]{perQuery(c, func(h bm25.Hit) scoredDocument { return scoredDocument{one(h), h.Score} })}, nil
	}
	return result[[]document]{perQuery(c, one)}, nil
}

func (s *server) access(c *call) (any, error) {
	c.Shape = ASearcher
	var r accessRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if r.URLs == nil {
		return nil, invalid("urls", "is missing", expected[c.Route])
	}
	if len(r.URLs) > s.opt.MaxBatch {
		return nil, invalid("urls", fmt.Sprintf("has %d URLs, at most %d are answered at once", len(r.URLs), s.opt.MaxBatch), "send them in parts")
	}
	out := make([]*accessed, len(r.URLs))
	for i, url := range r.URLs {
		if p, ok := s.page(c, url); ok {
			out[i] = &accessed{Contents: p.Text, URL: url, Title: p.Title}
		}
	}
	return result[*accessed]{out}, nil
}

func (s *server) search(c *call) (any, error) {
	var r searchRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	recall := r.TopN != nil || r.ReturnScore != nil
	switch {
	case recall && r.Topn != nil:
		return nil, invalid("topn", "stands beside a key of another shape", expected[c.Route])
	case r.Query == nil:
		return nil, invalid("query", "is missing", expected[c.Route])
	case strings.TrimSpace(*r.Query) == "":
		return nil, invalid("query", "is empty", "send the words to search for")
	case r.Topn != nil:
		return s.searchOpen(c, *r.Query, r.Topn)
	}
	c.Shape = ReCall
	if err := s.find(c, "query", []string{*r.Query}, "top_n", r.TopN, defaultReCall); err != nil {
		return nil, err
	}
	docs := perQuery(c, func(h bm25.Hit) bare { return s.bare(c, h) })[0]
	if r.ReturnScore != nil && *r.ReturnScore {
		return []any{docs, scores(c.Hits)[0]}, nil
	}
	return docs, nil
}

func (s *server) bare(c *call, h bm25.Hit) bare {
	d := s.passage(c, h.Passage)
	return bare{ID: d.ID, Contents: contents(d.Title, d.Text)}
}

func (s *server) searchOpen(c *call, query string, topn *int) (any, error) {
	c.Shape = OpenResearcher
	// The project's own client puts quotes around its queries; they are no part of them.
	query = strings.Trim(query, `"'`)
	if err := s.find(c, "query", []string{query}, "topn", topn, defaultOpen); err != nil {
		return nil, err
	}
	return openResults{perQuery(c, func(h bm25.Hit) openResult {
		d := s.passage(c, h.Passage)
		return openResult{URL: d.URL, Title: d.Title, Summary: cut(d.Text, s.opt.Summary)}
	})[0]}, nil
}

func (s *server) batch(c *call) (any, error) {
	c.Shape = ReCall
	var r batchRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if err := s.find(c, "query", r.Query, "top_n", r.TopN, defaultReCall); err != nil {
		return nil, err
	}
	docs := perQuery(c, func(h bm25.Hit) bare { return s.bare(c, h) })
	if r.ReturnScore {
		return []any{docs, scores(c.Hits)}, nil
	}
	return docs, nil
}

func (s *server) queries(c *call) (any, error) {
	c.Shape = R1Searcher
	var r queriesRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if err := s.find(c, "queries", r.Queries, "k", r.K, defaultR1); err != nil {
		return nil, err
	}
	return queriesAnswer{r.Queries, perQuery(c, func(h bm25.Hit) string {
		d := s.passage(c, h.Passage)
		return line(h.Passage, d.Title, d.Text)
	})}, nil
}

func (s *server) content(c *call) (any, error) {
	c.Shape = OpenResearcher
	var r contentRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if r.URL == nil {
		return nil, invalid("url", "is missing", expected[c.Route])
	}
	p, ok := s.page(c, *r.URL)
	if !ok {
		return nil, &quarry.Error{Op: "retrieve", Kind: quarry.KindNotFound, Subject: *r.URL, Msg: "is no page of this corpus",
			Hint: "ask for a URL that a search gave"}
	}
	return contentAnswer{Title: p.Title, Content: p.Text}, nil
}

func (s *server) health(c *call) (any, error) {
	var h healthAnswer
	h.Status, h.Retrievers.Total, h.Retrievers.Available = "healthy", 1, 1
	return h, nil
}
