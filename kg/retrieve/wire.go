package retrieve

// Bodies by route. Field names are those of the projects; pointers tell a missing field from a zero one.

// retrieveRequest is POST /retrieve of Search-R1 and ASearcher.
type retrieveRequest struct {
	Queries      []string `json:"queries"`
	TopK         *int     `json:"topk"`
	ReturnScores bool     `json:"return_scores"`
}

// document has what either project's client reads.
type document struct {
	ID       string `json:"id"`
	Contents string `json:"contents"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	URL      string `json:"url"`
}

type scoredDocument struct {
	Document document `json:"document"`
	Score    float32  `json:"score"`
}

// result is the answer of /retrieve: T is []scoredDocument or []document; of /access: T is *accessed.
type result[T any] struct {
	Result []T `json:"result"`
}

// accessRequest is POST /access of ASearcher.
type accessRequest struct {
	URLs []string `json:"urls"`
}

type accessed struct {
	Contents string `json:"contents"`
	URL      string `json:"url"`
	Title    string `json:"title"`
}

// searchRequest is POST /search: ReCall's when it has top_n or return_score, OpenResearcher's when it has topn.
type searchRequest struct {
	Query       *string `json:"query,omitempty"`
	TopN        *int    `json:"top_n,omitempty"`
	ReturnScore *bool   `json:"return_score,omitempty"`
	Topn        *int    `json:"topn,omitempty"`
}

// batchRequest is POST /batch_search of ReCall. Its field query holds a list.
type batchRequest struct {
	Query       []string `json:"query"`
	TopN        *int     `json:"top_n"`
	ReturnScore bool     `json:"return_score"`
}

// bare is a document of ReCall.
type bare struct {
	ID       string `json:"id"`
	Contents string `json:"contents"`
}

// queriesRequest is POST /queries of R1-Searcher.
type queriesRequest struct {
	Queries []string `json:"queries"`
	K       *int     `json:"k"`
}

type queriesAnswer struct {
	Queries []string   `json:"queries"`
	Answers [][]string `json:"answers"`
}

// openResults is the answer of OpenResearcher's /search.
type openResults struct {
	Results []openResult `json:"results"`
}

type openResult struct {
	URL     string `json:"url"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// contentRequest is POST /get_content of OpenResearcher.
type contentRequest struct {
	URL *string `json:"url"`
}

type contentAnswer struct {
	Title   string `json:"title"`
	Content string `json:"content"`
}

// healthAnswer is GET /health of ReCall.
type healthAnswer struct {
	Status     string `json:"status"`
	Retrievers struct {
		Total     int `json:"total"`
		Available int `json:"available"`
	} `json:"retrievers"`
}

// failure is every answer that is not 200. Clients of FastAPI servers read detail; quarry's reads error.
type failure struct {
	Detail string       `json:"detail"`
	Error  failureError `json:"error"`
}

type failureError struct {
	Kind    string `json:"kind"`
	Subject string `json:"subject,omitempty"`
	Hint    string `json:"hint,omitempty"`
}
