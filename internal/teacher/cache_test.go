package teacher

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry"
)

func openCache(t testing.TB, path string) *Cache {
	t.Helper()
	c, err := OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestReplay(t *testing.T) {
	s := serve(t, func(_ int, b map[string]any, w http.ResponseWriter) { say(w, "ok") })
	path := filepath.Join(t.TempDir(), "cache.jsonl")
	first := s.client()
	first.Cache = openCache(t, path)
	var wg sync.WaitGroup
	for range 10 { // equal requests at the same time are one
		wg.Go(func() {
			if r, err := first.Complete(context.Background(), Request{User: "same"}); err != nil || r.Text != "ok" {
				t.Error(r, err)
			}
		})
	}
	wg.Wait()
	bad, err := first.Complete(context.Background(), Request{User: "json", Schema: json.RawMessage(pointSchema)})
	if KindOf(err) != BadAnswer || bad.PromptTokens != 11 {
		t.Fatal(bad, err)
	}
	if u := first.Usage(); u.Calls != 2 || u.Replayed != 9 || len(s.bodies) != 2 {
		t.Fatalf("%+v, %d requests", u, len(s.bodies))
	}
	if _, err := OpenCache(path); quarry.KindOf(err) != quarry.KindConflict {
		t.Errorf("opened twice: %v", err)
	}
	first.Cache.Close()

	second := s.client()
	second.BaseURL, second.Cache = "http://192.0.2.1:1/v1", openCache(t, path) // nobody is there
	r, err := second.Complete(context.Background(), Request{User: "same"})
	if err != nil || r != (Reply{Text: "ok", PromptTokens: 11, CompletionTokens: 7, FinishReason: "stop", Replayed: true}) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := second.Complete(context.Background(), Request{User: "json", Schema: json.RawMessage(pointSchema)}); KindOf(err) != BadAnswer {
		t.Errorf("a bad answer is paid once: %v", err)
	}
	if u := second.Usage(); u.Calls != 0 || u.Replayed != 2 || u.PromptTokens != 0 {
		t.Errorf("%+v", u)
	}
}

func TestKeys(t *testing.T) {
	base := Request{System: "s", User: "u", Temperature: 0.5, MaxTokens: 3, Seed: 1}
	seen := map[string]int{}
	c, other := &Client{Model: "m"}, &Client{Model: "n"}
	seen[other.key(&base)]++
	for _, change := range []func(*Request){
		func(r *Request) {}, func(r *Request) { r.System = "" }, func(r *Request) { r.User = "su"; r.System = "" }, func(r *Request) { r.Temperature = 0 },
		func(r *Request) { r.MaxTokens = 4 }, func(r *Request) { r.Seed = 0 }, func(r *Request) { r.Schema = json.RawMessage("{}") },
	} {
		r := base
		change(&r)
		seen[c.key(&r)]++
	}
	if len(seen) != 8 {
		t.Errorf("%d keys of 8 requests", len(seen))
	}
	// the key is on disk: it must not change
	if k := c.key(&base); k != "e2c4faeb3813902d3629b5988253debfeb2e62da9973a305f9a77dc67a8c062a" {
		t.Errorf("key %s", k)
	}
}

const goldenCache = `{"format":"quarry-teacher-cache","version":1}
{"key":"k1","answer":{"text":"a\u003cb","finish":"stop","prompt_tokens":3,"completion_tokens":2},"crc32":2957418762}
`

func TestCacheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	c := openCache(t, path)
	if err := c.put("k1", answer{Text: "a<b", Finish: "stop", Prompt: 3, Completion: 2}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != goldenCache {
		t.Fatalf("%v\n%s", err, data)
	}
	for cutAt := range len(data) { // a kill at any byte
		if err := os.WriteFile(path, data[:cutAt], 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := OpenCache(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cutAt, err)
		}
		if _, ok, err := c.get("k1"); ok || err != nil {
			t.Fatalf("cut at %d: %v %v", cutAt, ok, err)
		}
		if err := c.put("k1", answer{Text: "a<b", Finish: "stop", Prompt: 3, Completion: 2}); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if got, _ := os.ReadFile(path); !bytes.Equal(got, data) {
			t.Fatalf("cut at %d: %s", cutAt, got)
		}
	}
	for _, x := range []struct {
		from, to string
		kind     quarry.Kind
		says     string
	}{
		{`3,"comp`, `4,"comp`, quarry.KindCorrupt, "c.jsonl:2"},
		{`"k1"`, `"k2"`, quarry.KindCorrupt, "c.jsonl:2"},
		{`{"key"`, `"key"`, quarry.KindCorrupt, "c.jsonl:2"},
		{`"version":1`, `"version":2`, quarry.KindInvalid, "newer"},
		{`quarry-teacher-cache`, `something`, quarry.KindInvalid, "no cache"},
	} {
		if err := os.WriteFile(path, []byte(strings.Replace(goldenCache, x.from, x.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := OpenCache(path)
		if quarry.KindOf(err) != x.kind || !strings.Contains(err.Error(), x.says) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", x.to, err)
		}
	}
	if _, err := OpenCache(filepath.Join(path, "x")); quarry.KindOf(err) == quarry.KindInternal || err == nil {
		t.Error(err)
	}
}

func FuzzCache(f *testing.F) {
	f.Add([]byte(goldenCache))
	f.Add([]byte(goldenCache[:80]))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "c")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := OpenCache(path)
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid {
				t.Fatal(err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, data) {
				t.Fatal("a file that was refused has changed")
			}
			return
		}
		defer c.Close()
		if err := c.put("new", answer{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if a, ok, err := c.get("new"); !ok || err != nil || a.Text != "x" {
			t.Fatal(a, ok, err)
		}
	})
}
