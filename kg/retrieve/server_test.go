package retrieve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry"
)

// The bodies that the public clients send and read, by project. Scores are of the index of someDocs.
func TestGoldenBodies(t *testing.T) {
	base := serve(t, Handler(newShelf(t, someDocs()), ServerOptions{}))
	const skeleton = `{"id":"d0#0","contents":"\"Skeleton\"\nSkeleton is a winter sport. Racers lie head first on a sled.","title":"Skeleton","text":"Skeleton is a winter sport. Racers lie head first on a sled.","url":"https://wiki/Skeleton"}`
	const bareSkeleton = `{"id":"d0#0","contents":"\"Skeleton\"\nSkeleton is a winter sport. Racers lie head first on a sled."}`
	for name, tc := range map[string]struct{ route, body, want string }{
		"Search-R1":                {"/retrieve", `{"queries":["winter sport","nothing at all"],"topk":3,"return_scores":true}`, `{"result":[[{"document":` + skeleton + `,"score":SCORE}],[]]}`},
		"Search-R1 without scores": {"/retrieve", `{"queries":["winter sport"],"topk":3,"return_scores":false}`, `{"result":[[` + skeleton + `]]}`},
		"ASearcher":                {"/retrieve", `{"queries":["winter"],"topk":null}`, `{"result":[[` + skeleton + `]]}`},
		"ASearcher access": {"/access", `{"urls":["https://wiki/Racer","https://none","https://wiki/index.php/PKU"]}`,
			`{"result":[{"contents":"A racer\tfrom\nMediaș raced \"twice\".","url":"https://wiki/Racer","title":"The \"Racer\" <1> & more"},null,{"contents":"北京大学是一所大学。","url":"https://wiki/index.php/PKU","title":"北京大学"}]}`},
		"ReCall":              {"/search", `{"query":"winter","top_n":5}`, `[` + bareSkeleton + `]`},
		"ReCall, query alone": {"/search", `{"query":"winter"}`, `[` + bareSkeleton + `]`},
		"ReCall with scores":  {"/search", `{"query":"winter sport","top_n":5,"return_score":true}`, `[[` + bareSkeleton + `],[SCORE]]`},
		"ReCall batch":        {"/batch_search", `{"query":["winter","zzz"],"top_n":5}`, `[[` + bareSkeleton + `],[]]`},
		"ReCall batch scores": {"/batch_search", `{"query":["zzz","winter sport"],"top_n":5,"return_score":true}`, `[[[],[` + bareSkeleton + `]],[[],[SCORE]]]`},
		"R1-Searcher":         {"/queries", `{"queries":["Mediaș","北京大学"],"k":5}`, `{"queries":["Mediaș","北京大学"],"answers":[["2\t\"The \"Racer\" <1> & more\" A racer from Mediaș raced \"twice\"."],["1\t\"北京大学\" 北京大学是一所大学。"]]}`},
		"OpenResearcher":      {"/search", `{"query":"\"winter sport\"","topn":10}`, `{"results":[{"url":"https://wiki/Skeleton","title":"Skeleton","summary":"Skeleton is a winter sport. Racers lie head first on a sled."}]}`},
		"OpenResearcher page": {"/get_content", `{"url":"https://wiki/Skeleton"}`, `{"title":"Skeleton","content":"Skeleton is a winter sport. Racers lie head first on a sled."}`},
	} {
		status, got := ask(t, base+tc.route, tc.body)
		if want := strings.ReplaceAll(tc.want, "SCORE", "5.5223694"); status != 200 || got != want {
			t.Errorf("%s: %d\n%s\nwant\n%s", name, status, got, want)
		}
	}
	resp, err := http.Get(base + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var h healthAnswer
	if err := json.NewDecoder(resp.Body).Decode(&h); err != nil || h.Status != "healthy" || h.Retrievers.Available != 1 || h.Retrievers.Total != 1 {
		t.Errorf("health: %+v %v", h, err)
	}
}

func TestDefaultsAndSummary(t *testing.T) {
	docs := someDocs()
	docs[3].Text = strings.Repeat("北京 ", 40) // the cut falls inside a rune
	base := serve(t, Handler(newShelf(t, docs), ServerOptions{Summary: 19}))
	for _, tc := range []struct {
		route, body, item string
		want              int
	}{
		{"/retrieve", `{"queries":["filler"]}`, `"contents"`, 3},
		{"/retrieve", `{"queries":["filler"],"topk":0,"return_scores":true}`, `"score"`, 3},
		{"/search", `{"query":"filler"}`, `"contents"`, 10},
		{"/search", `{"query":"filler","topn":0}`, `"summary"`, 10},
		{"/queries", `{"queries":["filler"]}`, `Number `, 3},
		{"/batch_search", `{"query":["filler","filler"],"top_n":4}`, `"contents"`, 8},
	} {
		if _, got := ask(t, base+tc.route, tc.body); strings.Count(got, tc.item) != tc.want {
			t.Errorf("%s %s: %d of %s, want %d:\n%s", tc.route, tc.body, strings.Count(got, tc.item), tc.item, tc.want, got)
		}
	}
	if _, got := ask(t, base+"/search", `{"query":"北京","topn":1}`); !strings.Contains(got, `"summary":"北京 北京 北"`) {
		t.Errorf("summary: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	var seen []Entry
	var mu sync.Mutex
	journal := func(e Entry) { mu.Lock(); defer mu.Unlock(); seen = append(seen, e) }
	base := serve(t, Handler(newShelf(t, someDocs()), ServerOptions{MaxBody: 400, MaxBatch: 3, MaxQuery: 100, MaxK: 50, Journal: journal}))
	long := strings.Repeat("x", 101)
	cases := []struct {
		route, body string
		status      int
		says        string
	}{
		{"/retrieve", ``, 400, "body"},
		{"/retrieve", `{"queries":"one"}`, 400, "queries"},
		{"/retrieve", `{"topk":3}`, 400, "queries: is missing"},
		{"/retrieve", `{"queries":["a"],"topk":-1}`, 400, "topk: is -1, expected 1 to 50"},
		{"/retrieve", `{"queries":["a"],"topk":51}`, 400, "topk: is 51"},
		{"/retrieve", `{"queries":["a","b","c","d"]}`, 400, "4 queries, at most 3"},
		{"/retrieve", `{"queries":["a","` + long + `"]}`, 400, "queries[1]: has 101 bytes, at most 100"},
		{"/retrieve", `{"queries":["a"]} {}`, 400, "goes on after the JSON object"},
		{"/retrieve", `{"queries":["` + strings.Repeat("y", 500) + `"]}`, 413, "longer than 400 bytes"},
		{"/access", `{}`, 400, "urls: is missing"},
		{"/access", `{"urls":["a","b","c","d"]}`, 400, "4 URLs, at most 3"},
		{"/search", `{"top_n":3}`, 400, "query: is missing"},
		{"/search", `{"query":" ","top_n":3}`, 400, "query: is empty"},
		{"/search", `{"query":"a","top_n":3,"topn":3}`, 400, "another shape"},
		{"/batch_search", `{"query":"a"}`, 400, "query"},
		{"/queries", `{}`, 400, "queries: is missing"},
		{"/get_content", `{}`, 400, "url: is missing"},
		{"/get_content", `{"url":"https://none"}`, 404, "https://none: is no page"},
	}
	for _, tc := range cases {
		status, got := ask(t, base+tc.route, tc.body)
		var f failure
		if err := json.Unmarshal([]byte(got), &f); err != nil {
			t.Fatalf("%s %s: %s: %v", tc.route, tc.body, got, err)
		}
		if status != tc.status || !strings.Contains(f.Detail, tc.says) || f.Error.Kind == "" {
			t.Errorf("%s %s: %d %s, want %d %q", tc.route, tc.body, status, got, tc.status, tc.says)
		}
		if status == 400 && f.Error.Hint == "" {
			t.Errorf("%s %s: no hint", tc.route, tc.body)
		}
	}
	if status, _ := ask(t, base+"/health", `{}`); status != http.StatusMethodNotAllowed {
		t.Errorf("POST /health: %d", status)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != len(cases) {
		t.Fatalf("%d entries in the journal for %d requests", len(seen), len(cases))
	}
	for i, e := range seen {
		if e.Route != cases[i].route || e.Status != cases[i].status || quarry.KindOf(e.Err) == "" {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}

// TestJournal asks at once and finds every request with its own hits: nothing is shared between calls.
func TestJournal(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]Entry{}
	s := newShelf(t, someDocs())
	base := serve(t, Handler(s, ServerOptions{Journal: func(e Entry) { mu.Lock(); defer mu.Unlock(); seen[strings.Join(e.Queries, "|")] = e }}))
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 20 {
				ask(t, base+"/retrieve", fmt.Sprintf(`{"queries":["number %d","filler %d"],"topk":%d}`, i, w, w+1))
			}
		})
	}
	group.Wait()
	if len(seen) != 160 {
		t.Fatalf("%d requests in the journal, want 160", len(seen))
	}
	for _, e := range seen {
		if e.Shape != ASearcher || e.Status != 200 || e.Elapsed <= 0 || e.At.IsZero() || len(e.Hits) != 2 {
			t.Fatalf("%+v", e)
		}
		for i, q := range e.Queries {
			if want := s.Search(q, e.K, nil); !slices.Equal(want, e.Hits[i]) {
				t.Errorf("%q: %v, want %v", q, e.Hits[i], want)
			}
		}
	}
}

func FuzzBodies(f *testing.F) {
	for route, example := range expected {
		_, body, _ := strings.Cut(example, " ")
		f.Add(route, body)
		f.Add(route, `{"query":null,"queries":[null],"urls":[null],"topk":1e3,"k":"1"}`)
	}
	h := Handler(newShelf(f, someDocs()), ServerOptions{})
	f.Fuzz(func(t *testing.T, route, body string) {
		if expected[route] == "" {
			return
		}
		w := record(h, route, body)
		if w.Code != 200 && w.Code != 400 && w.Code != 404 {
			t.Errorf("%s %q: %d %s", route, body, w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %q: %s", route, body, w.Body)
		}
	})
}
