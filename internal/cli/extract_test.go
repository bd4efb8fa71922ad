package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarry-rl/quarry/kg/extract"
)

// TestExtract lets a teacher on loopback read two documents, builds a graph of what it says, and asks again for nothing.
func TestExtract(t *testing.T) {
	t.Parallel()
	w := newWorkdir(t)
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(rw, "no", http.StatusUnauthorized)
			return
		}
		var req struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		type end struct {
			Name    string   `json:"name"`
			Type    string   `json:"type"`
			Aliases []string `json:"aliases"`
		}
		type pair map[string]any
		say := func(subject, predicate, object, span string) pair {
			return pair{"subject": end{subject, "PER", []string{}}, "predicate": predicate, "object": end{object, "LOC", []string{}}, "statement": subject + " " + predicate + " " + object,
				"span": span, "mention": "", "start": "", "end": "", "at": "", "method": ""}
		}
		pairs := []pair{say("Ana Ro", "place of birth", "Lum", "Ana Ro was born in Lum."), say("Ana Ro", "place of death", "Oslo", "Ana Ro died in Oslo.")}
		if strings.Contains(req.Messages[len(req.Messages)-1].Content, "Bo Vi") {
			pairs = []pair{say("Bo Vi", "place of birth", "Oslo", "Bo Vi was born in Oslo.")}
		}
		text, _ := json.Marshal(map[string]any{"statements": pairs})
		_ = json.NewEncoder(rw).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(text)}}},
			"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 20}})
	}))
	defer srv.Close()
	w.write("docs.jsonl", `{"id":"d1","title":"Ana Ro","sents":["Ana Ro was born in Lum.","She sang."]}
{"id":"d2","title":"Bo Vi","text":"Bo Vi was born in Oslo."}
`)
	w.vars["TEACHER_KEY"] = "sesame"
	args := []string{"kg", "extract", "docs.jsonl", "--out", "pairs", "--teacher", srv.URL + "/v1", "--model", "m", "--key-from", "TEACHER_KEY", "--price-in", "1", "--price-out", "5"}
	var doc extractDoc
	w.must(&doc, args...)
	if doc.Documents != 2 || doc.Candidates != 3 || doc.Out != 2 || doc.Rejected[extract.SpanMissing] != 1 || doc.Usage.Calls != 2 || doc.Usage.PromptTokens != 200 || doc.Usage.Cost != 2*(100+5*20)/1e6 {
		t.Errorf("it says %+v", doc.Summary)
	}
	var built buildDoc
	w.must(&built, "kg", "build", "--out", "kg", "pairs/statements.jsonl")
	if built.Edges != 2 || built.Documents != 2 || built.Evidence != 2 {
		t.Errorf("the graph has %+v", built.Counts)
	}
	before := asked.Load()
	w.must(&doc, args...)
	if doc.Out != 2 || doc.Resumed != 2 || asked.Load() != before {
		t.Errorf("again: %+v, %d requests more", doc.Summary, asked.Load()-before)
	}
}
