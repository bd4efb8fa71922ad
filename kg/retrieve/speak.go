package retrieve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quarry-rl/quarry"
)

// speech is what a client does in a shape. searchAll is nil where there is no request for lists, page where there are no
// pages.
type speech struct {
	search    func(context.Context, *Client, string, int) ([]Document, error)
	searchAll func(context.Context, *Client, []string, int) ([][]Document, error)
	page      func(context.Context, *Client, string) (Page, error)
}

var shapes = map[Shape]speech{
	SearchR1:       {first(askRetrieve), askRetrieve, nil},
	ASearcher:      {first(askRetrieve), askRetrieve, askAccess},
	ReCall:         {askSearch, askBatch, nil},
	R1Searcher:     {first(askQueries), askQueries, nil},
	OpenResearcher: {askOpen, nil, askContent},
}

// first asks for a list of one.
func first(all func(context.Context, *Client, []string, int) ([][]Document, error)) func(context.Context, *Client, string, int) ([]Document, error) {
	return func(ctx context.Context, c *Client, query string, k int) ([]Document, error) {
		out, err := all(ctx, c, []string{query}, k)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
}

// counted refuses an answer with another number of lists than queries: no document may be taken for another query's.
func (c *Client) counted(route string, got, want int) error {
	if got == want {
		return nil
	}
	return c.malformed(route, fmt.Sprintf("%d answers for %d queries", got, want), nil)
}

func (d document) document() Document {
	out := Document{ID: d.ID, Title: d.Title, Text: d.Text, URL: d.URL}
	if d.Text == "" {
		title, text := cutContents(d.Contents)
		out.Text = text
		if out.Title == "" {
			out.Title = title
		}
	}
	return out
}

// foundDocument is a document with or without a score around it; ids are numbers on some servers.
type foundDocument struct {
	document
	ID       json.RawMessage `json:"id"`
	Document *struct {
		document
		ID json.RawMessage `json:"id"`
	} `json:"document"`
	Score float64 `json:"score"`
}

func askRetrieve(ctx context.Context, c *Client, queries []string, k int) ([][]Document, error) {
	const route = "/retrieve"
	var got result[[]foundDocument]
	if err := c.post(ctx, route, retrieveRequest{queries, &k, c.opt.Shape == SearchR1}, &got); err != nil {
		return nil, err
	}
	if err := c.counted(route, len(got.Result), len(queries)); err != nil {
		return nil, err
	}
	out := make([][]Document, len(queries))
	for i, docs := range got.Result {
		out[i] = make([]Document, len(docs))
		for j, f := range docs {
			d, id := f.document, f.ID
			if f.Document != nil {
				d, id = f.Document.document, f.Document.ID
			}
			out[i][j] = d.document()
			out[i][j].ID, out[i][j].Score = text(id), f.Score
		}
	}
	return out, nil
}

// text is a JSON string without its quotes, any other value as it stands.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func askAccess(ctx context.Context, c *Client, url string) (Page, error) {
	const route = "/access"
	var got result[*accessed]
	if err := c.post(ctx, route, accessRequest{[]string{url}}, &got); err != nil {
		return Page{}, err
	}
	if err := c.counted(route, len(got.Result), 1); err != nil {
		return Page{}, err
	}
	if got.Result[0] == nil {
		return Page{}, &quarry.Error{Op: "retrieve", Kind: quarry.KindNotFound, Subject: url, Msg: "the server has no such page"}
	}
	return Page{Title: got.Result[0].Title, Text: got.Result[0].Contents}, nil
}

func fromBare(docs []bare, scores []float64) []Document {
	out := make([]Document, len(docs))
	for i, d := range docs {
		title, text := cutContents(d.Contents)
		out[i] = Document{ID: d.ID, Title: title, Text: text, Score: scores[i]}
	}
	return out
}

func askSearch(ctx context.Context, c *Client, query string, k int) ([]Document, error) {
	const route = "/search"
	var docs []bare
	var scores []float64
	yes := true
	if err := c.post(ctx, route, searchRequest{Query: &query, TopN: &k, ReturnScore: &yes}, &[]any{&docs, &scores}); err != nil {
		return nil, err
	}
	if err := c.counted(route, len(scores), len(docs)); err != nil {
		return nil, err
	}
	return fromBare(docs, scores), nil
}

func askBatch(ctx context.Context, c *Client, queries []string, k int) ([][]Document, error) {
	const route = "/batch_search"
	var docs [][]bare
	var scores [][]float64
	if err := c.post(ctx, route, batchRequest{queries, &k, true}, &[]any{&docs, &scores}); err != nil {
		return nil, err
	}
	if err := c.counted(route, min(len(docs), len(scores)), len(queries)); err != nil {
		return nil, err
	}
	out := make([][]Document, len(queries))
	for i := range out {
		if err := c.counted(route, len(scores[i]), len(docs[i])); err != nil {
			return nil, err
		}
		out[i] = fromBare(docs[i], scores[i])
	}
	return out, nil
}

func askQueries(ctx context.Context, c *Client, queries []string, k int) ([][]Document, error) {
	const route = "/queries"
	var got queriesAnswer
	if err := c.post(ctx, route, queriesRequest{queries, &k}, &got); err != nil {
		return nil, err
	}
	if err := c.counted(route, len(got.Answers), len(queries)); err != nil {
		return nil, err
	}
	out := make([][]Document, len(queries))
	for i, lines := range got.Answers {
		out[i] = make([]Document, len(lines))
		for j, l := range lines {
			out[i][j] = cutLine(l)
		}
	}
	return out, nil
}

func askOpen(ctx context.Context, c *Client, query string, k int) ([]Document, error) {
	var got openResults
	if err := c.post(ctx, "/search", searchRequest{Query: &query, Topn: &k}, &got); err != nil {
		return nil, err
	}
	if got.Results == nil {
		return nil, c.malformed("/search", "the answer has no results", nil)
	}
	out := make([]Document, len(got.Results))
	for i, r := range got.Results {
		out[i] = Document{Title: r.Title, Text: r.Summary, URL: r.URL}
	}
	return out, nil
}

func askContent(ctx context.Context, c *Client, url string) (Page, error) {
	var got contentAnswer
	if err := c.post(ctx, "/get_content", contentRequest{&url}, &got); err != nil {
		return Page{}, err
	}
	return Page{Title: got.Title, Text: got.Content}, nil
}
