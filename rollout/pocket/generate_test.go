package pocket

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestGenerateAnswer(t *testing.T) {
	url := startServer(t, Options{WeightsPath: saveWeights(t, 4, nil, 1, 0.5, -1), CacheContexts: 4})
	ids := turn("hello")
	body := `{"rid":"r-1","input_ids":` + idsJSON(ids) + `,"return_logprob":true,"return_prompt_token_ids":true,"unknown":[{"a":"]"}],
	 "sampling_params":{"max_new_tokens":200,"temperature":1,"top_p":1.0,"top_k":-1,"sampling_seed":5,"stop":null,"skip_special_tokens":false,"no_stop_trim":true}}`
	r := generate(t, url, body)
	n := len(r.OutputIDs)
	if r.Meta.ID != "r-1" || r.Meta.Finish.Type != "stop" || r.Meta.Finish.Matched != tokenImEnd || r.OutputIDs[n-1] != tokenImEnd {
		t.Fatalf("%+v", r)
	}
	if r.Meta.PromptTokens != len(ids) || r.Meta.Completion != n || len(r.Meta.Output) != n || idsJSON(r.Prompt) != idsJSON(ids) {
		t.Fatalf("%+v", r)
	}
	if r.Meta.Version != "4" || len(r.Meta.Spans) != 1 || r.Meta.Spans[0].Start != 0 || r.Meta.Spans[0].End != n || r.Meta.Spans[0].Version != "4" {
		t.Fatalf("%+v", r.Meta)
	}
	if !strings.HasSuffix(r.Text, "<|im_end|>") || r.Meta.Cached != 0 {
		t.Fatalf("text %q, cached %d", r.Text, r.Meta.Cached)
	}
	// The same seed gives the same answer, and each logprob is the tree's.
	again := generate(t, url, body)
	if idsJSON(again.OutputIDs) != idsJSON(r.OutputIDs) || again.Meta.Cached != len(ids) {
		t.Fatalf("%v then %v, cached %d", r.OutputIDs, again.OutputIDs, again.Meta.Cached)
	}
	choices, err := toyEnumerator{}.Enumerate(ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := NewTree(choices, []float64{1, 0.5, -1, 0}).LogProbs(r.OutputIDs, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range r.Meta.Output {
		if e[0].(float64) != want[i] || int32(e[1].(float64)) != r.OutputIDs[i] || e[2] != nil {
			t.Fatalf("token %d is %v, want %v", i, e, want[i])
		}
	}
	// Scoring gives null at the start, then the same numbers.
	all := append(append([]int32{}, ids...), r.OutputIDs...)
	s := generate(t, url, fmt.Sprintf(`{"input_ids":%s,"return_logprob":true,"logprob_start_len":%d,"sampling_params":{"max_new_tokens":0,"temperature":0.3}}`,
		idsJSON(all), len(ids)-1))
	if len(s.OutputIDs) != 0 || len(s.Meta.Output) != 0 || len(s.Meta.Input) != n+1 || s.Meta.Input[0][0] != nil || s.Meta.PromptTokens != len(all) {
		t.Fatalf("%+v", s)
	}
	for i, e := range s.Meta.Input[1:] {
		if e[0].(float64) != want[i] || int32(e[1].(float64)) != r.OutputIDs[i] {
			t.Fatalf("scored token %d is %v, want %v", i, e, want[i])
		}
	}
}

// A turn cut by length and continued from the cut is the turn that was not cut.
func TestGenerateContinuesAPartialTurn(t *testing.T) {
	url := startServer(t, Options{CacheContexts: 4})
	ids := turn("q")
	for seed := range 8 {
		body := func(ids []int32, n int) string {
			return fmt.Sprintf(`{"input_ids":%s,"return_logprob":true,"sampling_params":{"max_new_tokens":%d,"sampling_seed":%d}}`, idsJSON(ids), n, seed)
		}
		whole := generate(t, url, body(ids, 500))
		head := generate(t, url, body(ids, 3))
		if head.Meta.Finish.Type != "length" || head.Meta.Finish.Length != 3 {
			t.Fatalf("%+v", head.Meta)
		}
		rest := generate(t, url, body(append(append([]int32{}, ids...), head.OutputIDs...), 500))
		if got := append(head.OutputIDs, rest.OutputIDs...); idsJSON(got) != idsJSON(whole.OutputIDs) {
			t.Fatalf("seed %d: %v, continued %v", seed, whole.OutputIDs, got)
		}
	}
	// Seeds differ, and no seed draws its own.
	seen := map[string]bool{}
	for range 40 {
		seen[generate(t, url, `{"input_ids":`+idsJSON(ids)+`}`).Text] = true
	}
	if len(seen) != 3 {
		t.Fatalf("40 draws gave %d of 3 candidates", len(seen))
	}
	stop := generate(t, url, `{"input_ids":`+idsJSON(ids)+`,"sampling_params":{"stop_token_ids":[45]}}`)
	if stop.Meta.Finish.Matched != 45 || stop.OutputIDs[len(stop.OutputIDs)-1] != 45 || stop.Meta.Output != nil {
		t.Fatalf("%+v", stop)
	}
}

func TestGenerateRefuses(t *testing.T) {
	url := startServer(t, Options{})
	ids := idsJSON(turn("q"))
	long := fmt.Sprintf("go %d", len(turn("q")))
	withTurn := func(text string) string {
		return strings.TrimSuffix(ids, "]") + "," + strings.TrimPrefix(idsJSON(toIDs([]byte(text))), "[")
	}
	params := func(p string) string { return `{"input_ids":` + ids + `,"sampling_params":{` + p + `}}` }
	score := func(ids string, k int) string {
		return fmt.Sprintf(`{"input_ids":%s,"return_logprob":true,"logprob_start_len":%d,"sampling_params":{"max_new_tokens":0}}`, ids, k)
	}
	at := len(turn("q"))
	for _, k := range []struct{ name, body, want string }{
		{"no object", `[1]`, `"type":"Bad Request"`},
		{"torn", `{"input_ids":[1,2`, `"type":"Bad Request"`},
		{"garbage value", `{"a":tru,"input_ids":[1]}`, `"type":"Bad Request"`},
		{"trailing", `{"input_ids":[1]} x`, `"type":"Bad Request"`},
		{"ids text", `{"input_ids":"abc"}`, `a list of integers`},
		{"ids float", `{"input_ids":[1.5]}`, `"type":"Bad Request"`},
		{"ids batch", `{"input_ids":[[1],[2]]}`, `input_ids[0]: expected an integer`},
		{"ids empty", `{"input_ids":[]}`, `{"error":{"message":"input_ids cannot be empty"}}`},
		{"ids open", `{"input_ids":[ `, `"type":"Bad Request"`},
		{"ids missing", `{}`, `input_ids cannot be empty`},
		{"id too large", `{"input_ids":[1,259]}`, `input_ids[1] is 259: ids are in [0, 259)`},
		{"id huge", `{"input_ids":[123456789012345678901234567890]}`, `input_ids[0]`},
		{"id negative", `{"input_ids":[1,-5]}`, `input_ids[1] is negative`},
		{"text", `{"text":"hi"}`, `input_ids only`},
		{"stream", `{"input_ids":` + ids + `,"stream":true}`, `does not stream`},
		{"rid type", `{"rid":7,"input_ids":` + ids + `}`, `rid: expected a string`},
		{"unknown parameter", params(`"temprature":1`), `{"error":"unknown field \"temprature\" in sampling_params"}`},
		{"top_p", params(`"top_p":0.9`), `top_p 0.9`},
		{"top_k", params(`"top_k":5`), `top_k 5`},
		{"n", params(`"n":2`), `n 2`},
		{"temperature", params(`"temperature":-1`), `temperature must be non-negative`},
		{"temperature type", params(`"temperature":"hot"`), `temperature: expected a number`},
		{"max_new_tokens", params(`"max_new_tokens":-1`), `max_new_tokens must be in`},
		{"regex", params(`"regex":"a+"`), `regex: not supported`},
		{"user turn", `{"input_ids":[257,117,10,65]}`, `assistant turn`},
		{"no turn", `{"input_ids":[65,66]}`, `assistant turn`},
		{"cut turn head", `{"input_ids":[257,97,115]}`, `assistant turn`},
		{"unreadable", `{"input_ids":` + idsJSON(turn("X")) + `}`, `{"error":{"message":"the system message is unreadable"}}`},
		{"no candidates", `{"input_ids":` + idsJSON(turn("E")) + `}`, `no continuation`},
		{"score early", score(ids, 0), fmt.Sprintf("begins at %d: send %d", at, at-1)},
		{"score beyond", score(ids, at), `not before the end of the prompt`},
		{"unscorable", score(withTurn("nonsense"), at-1), `unscorable: token 110 at position 0`},
		{"unscorable prefix", `{"input_ids":` + withTurn("nonsense") + `}`, `unscorable`},
		{"after the end", strings.Replace(score(withTurn(long), at-1), "],", ",258],", 1), `unscorable: token 258`},
	} {
		status, b := mustSend(t, url+"/generate", k.body)
		if status != 400 || !strings.Contains(b, k.want) {
			t.Errorf("%s: %d %s; want %q", k.name, status, b, k.want)
		}
	}
	stay := withTurn("stay" + strings.Repeat("-", 60))
	ended := strings.TrimSuffix(stay, "]") + ",258]"
	if status, b := mustSend(t, url+"/generate", score(ended, at-1)); status != 200 {
		t.Errorf("a whole turn is not scored: %s", b)
	}
	if status, b := mustSend(t, url+"/generate", `{"input_ids":`+ended+`}`); status != 400 || !strings.Contains(b, "nothing can follow") {
		t.Errorf("ended turn: %d %s", status, b)
	}
	if status, b := mustSend(t, url+"/generate", score(strings.TrimSuffix(ended, "]")+",10]", at-1)); status != 400 || !strings.Contains(b, "after <|im_end|>") {
		t.Errorf("after the turn: %d %s", status, b)
	}
	if status, _ := mustSend(t, url+"/generate", `{"input_ids":[`+strings.Repeat("1,", maxBody/2)+`1]}`); status != 400 {
		t.Errorf("huge body: %d", status)
	}
	if status, b := mustSend(t, url+"/nowhere", ""); status != 404 || !strings.Contains(b, `{"detail":"Not Found"}`) {
		t.Errorf("unknown route: %d %s", status, b)
	}
}

func TestUniform(t *testing.T) {
	// Pairs of neighbouring seeds and positions fill 16 cells evenly: 99.9 % of chi-square with 15 degrees is 37.7.
	for name, f := range map[string]func(i uint64) (float64, float64){
		"seeds":     func(i uint64) (float64, float64) { return uniform(i, 40), uniform(i+1, 40) },
		"positions": func(i uint64) (float64, float64) { return uniform(3, i), uniform(3, i+1) },
		"diagonal":  func(i uint64) (float64, float64) { return uniform(i, i), uniform(i+1, i) },
	} {
		const n = 32000
		var cells [16]float64
		for i := range uint64(n) {
			a, b := f(i)
			cells[int(a*4)*4+int(b*4)]++
		}
		chi := 0.0
		for _, c := range cells {
			chi += math.Pow(c-n/16, 2) / (n / 16)
		}
		if chi > 37.7 {
			t.Errorf("%s: chi-square %v", name, chi)
		}
	}
}

func TestContextCacheEvictsTheOldest(t *testing.T) {
	c := newContextCache(2)
	keys := []contextKey{c.key([]int32{1}, nil), c.key([]int32{1, 2}, nil), c.key([]int32{1}, []string{"a"}), c.key([]int32{1}, []string{"", "a"})}
	for i, k := range keys {
		for _, other := range keys[:i] {
			if k == other {
				t.Fatalf("key %d repeats", i)
			}
		}
	}
	c.put(keys[0], &Choices{})
	c.put(keys[1], &Choices{})
	c.get(keys[0])
	c.put(keys[2], &Choices{})
	if c.get(keys[0]) == nil || c.get(keys[1]) != nil || c.get(keys[2]) == nil {
		t.Fatal("not the least recently used went")
	}
	if c.flush(); c.get(keys[0]) != nil {
		t.Fatal("flush kept a context")
	}
	none := newContextCache(0)
	if none.put(keys[0], &Choices{}); none.get(keys[0]) != nil {
		t.Fatal("a cache of size 0 keeps")
	}
}

func FuzzGenerateBody(f *testing.F) {
	f.Add([]byte(`{"input_ids":[257,97,115,115,105,115,116,97,110,116,10],"sampling_params":{"temperature":1,"top_k":-1,"stop":[]}}`))
	f.Add([]byte(`{"rid":"a\"b","input_ids": [ 1 , 2 ],"x":{"y":["}"]},"logprob_start_len":0}`))
	f.Add([]byte(`{"input_ids":[`))
	f.Add([]byte(`{"input_ids":[00,-1]}`))
	f.Add([]byte(`{"a\u0041":null,"sampling_params":{"n":1e0}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := parseGenerate(body)
		if err != nil {
			if req != nil {
				t.Fatal("a request beside an error")
			}
			return
		}
		// What is accepted is JSON, and the ids are those encoding/json reads.
		var ref map[string]json.RawMessage
		if err := json.Unmarshal(body, &ref); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		var ids []int32
		if err := json.Unmarshal(ref["input_ids"], &ids); err != nil || idsJSON(ids) != idsJSON(req.ids) {
			t.Fatalf("read %v from %s", req.ids, ref["input_ids"])
		}
		for _, id := range req.ids {
			if id < 0 || id >= vocabSize {
				t.Fatalf("accepted id %d", id)
			}
		}
	})
}
