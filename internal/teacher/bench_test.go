package teacher

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// BenchmarkComplete is what a call costs besides the model: over loopback, without and with the cache's sync to the disk, and replayed.
func BenchmarkComplete(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { say(w, `{"x":1}`) }))
	defer s.Close()
	for _, c := range []struct {
		name         string
		cached, same bool
	}{{"wire", false, false}, {"cached", true, false}, {"replayed", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			client := &Client{BaseURL: s.URL + "/v1", Model: "m"}
			if c.cached {
				client.Cache = openCache(b, filepath.Join(b.TempDir(), "c"))
			}
			for n := 0; b.Loop(); n++ {
				if c.same {
					n = 0
				}
				if _, err := client.Complete(context.Background(), Request{User: "u", Seed: n, Schema: json.RawMessage(pointSchema)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
