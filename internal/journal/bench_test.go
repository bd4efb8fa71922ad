package journal

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func BenchmarkAppend(b *testing.B) {
	body := json.RawMessage(`{"v":1,"kind":"finished","data":"` + strings.Repeat("x", 160) + `"}`)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			j := open(b, filepath.Join(b.TempDir(), "j.db"))
			var wg sync.WaitGroup
			todo := make(chan struct{})
			for range callers {
				wg.Go(func() {
					for range todo {
						if err := j.Append(b.Context(), []Event{{At: time.Unix(1, 0), Kind: "finished", Body: body}}, nil); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				todo <- struct{}{}
			}
			close(todo)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
	b.Run("batch=1000", func(b *testing.B) {
		j := open(b, filepath.Join(b.TempDir(), "j.db"))
		events := make([]Event, 1000)
		for i := range events {
			events[i] = Event{At: time.Unix(1, 0), Kind: "finished", Body: body}
		}
		for b.Loop() {
			if err := j.Append(b.Context(), events, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}
