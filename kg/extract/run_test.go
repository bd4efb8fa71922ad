package extract

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"encoding/json"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/teacher"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/kg/store"
)

// chat speaks the wire for reader.
func chat(t *testing.T, before func(n int64, w http.ResponseWriter) bool) *httptest.Server {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) != 2 {
			http.Error(w, "bad", 400)
			return
		}
		if before != nil && before(n.Add(1), w) {
			return
		}
		q, _ := json.Marshal(read1(body.Messages[1].Content))
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20}}`, q)
	}))
	t.Cleanup(s.Close)
	return s
}

// taken counts what a sink was told.
type taken struct {
	docs, statements int
	texts            map[string]string
	spans            []string
	b                *store.Builder
}

func (x *taken) Triple(s, p, o []byte) error { return errors.New("a bare triple") }
func (x *taken) Add(r store.Record) error {
	if r.Document != nil {
		x.docs++
		x.texts[r.Document.ID] = strings.Join(r.Document.Sentences, " ")
	}
	if s := r.Statement; s != nil {
		x.statements++
		for _, sp := range s.Spans {
			x.spans = append(x.spans, x.texts[s.Doc][sp.Start:sp.End])
		}
	}
	return x.b.Add(r)
}

// From documents over the wire to records that kg/ingest reads, every one of them, into a graph.
func TestWholeWay(t *testing.T) {
	s := chat(t, func(n int64, w http.ResponseWriter) bool {
		if n%5 == 2 {
			w.WriteHeader(500)
			return true
		}
		return false
	})
	c := &teacher.Client{BaseURL: s.URL + "/v1", Model: "m", Backoff: 1, Price: teacher.Price{In: 1, Out: 2}}
	dir := t.TempDir()
	docs := append(towns(30), town("long", 90))
	sum, err := Run(context.Background(), c, each(docs), dir, Options{Model: "m", Chunk: 400, Price: c.Price})
	if err != nil {
		t.Fatal(err)
	}
	sums(t, dir, sum, 31)
	u := c.Usage()
	if sum.Usage.Calls != u.Calls || sum.Usage.PromptTokens != u.PromptTokens || sum.Usage.Cost < u.Cost*0.999 || sum.Usage.Cost > u.Cost*1.001 || u.Cost == 0 {
		t.Errorf("ledger %+v, client %+v", sum.Usage, u)
	}
	if sum.Out == 0 || sum.Rejected[SpanMissing] != sum.Out || len(sum.Rejected) != 1 {
		t.Errorf("%+v: expected each made-up span rejected and nothing else", sum)
	}
	x := &taken{texts: map[string]string{}, b: store.NewBuilder()}
	stats, err := ingest.Read(context.Background(), x, ingest.Options{}, filepath.Join(dir, StatementsFile))
	if err != nil || stats.Bad != 0 || int64(x.statements) != sum.Out || stats.Lines != sum.Out {
		t.Fatalf("%v, %+v, %d statements of %d", err, stats, x.statements, sum.Out)
	}
	for _, sp := range x.spans {
		if m := fact.FindString(sp); m != sp {
			t.Errorf("span %q", sp)
		}
	}
	byID := map[string]Document{}
	for _, d := range docs {
		byID[d.ID] = d
	}
	for _, l := range lines(t, dir) {
		var r record
		if err := json.Unmarshal(l, &r); err != nil {
			t.Fatal(err)
		}
		if err := Verify(l, byID[r.DocID]); err != nil {
			t.Error(err)
		}
	}
	again, err := Run(context.Background(), c, each(docs), dir, Options{Model: "m", Chunk: 400, Price: c.Price})
	if err != nil || again.Resumed != 31 || c.Usage().Calls != u.Calls {
		t.Errorf("a finished run asks again: %v %+v", err, again)
	}
}

func TestSameBytesAtAnyConcurrency(t *testing.T) {
	docs := append(towns(40), town("long", 200))
	want := ""
	for _, c := range []int{1, 4, 64} {
		dir := t.TempDir()
		if _, err := Run(context.Background(), &reader{}, each(docs), dir, Options{Chunk: 500, Concurrency: c, Price: teacher.Price{In: 0.3, Out: 0.7}}); err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); want == "" {
			want = got
		} else if got != want {
			t.Fatalf("concurrency %d gives other bytes", c)
		}
	}
}

// However often a run fails, is cut off in the middle of a write, or meets its budget, the end is that of one without trouble.
func TestResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := towns(rapid.IntRange(1, 12).Draw(t, "documents"))
		opt := Options{Chunk: 300, Concurrency: rapid.IntRange(1, 5).Draw(t, "concurrency")}
		base, err := os.MkdirTemp("", "extract")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		plain, dir := filepath.Join(base, "plain"), filepath.Join(base, "cut")
		want, err := Run(context.Background(), &reader{}, each(docs), plain, opt)
		if err != nil {
			t.Fatal(err)
		}
		for round := 0; ; round++ {
			r, o := &reader{}, opt
			if round < 6 {
				stop := int64(rapid.IntRange(1, 8).Draw(t, "stop"))
				if rapid.Bool().Draw(t, "budget") {
					o.MaxCalls = stop
				} else {
					r.fail = func(n int64, _ teacher.Request) (teacher.Reply, error) {
						if n >= stop {
							return teacher.Reply{}, &quarry.Error{Kind: quarry.KindUnavailable, Err: &teacher.Fault{Kind: teacher.Unavailable}}
						}
						return teacher.Reply{}, nil
					}
				}
			}
			got, err := Run(context.Background(), r, each(docs), dir, o)
			if k := quarry.KindOf(err); err != nil && (round >= 6 || k != quarry.KindUnavailable && k != quarry.KindExhausted) {
				t.Fatal(err)
			}
			if err == nil {
				got.Resumed = 0
				if fmt.Sprint(got) != fmt.Sprint(want) || files(t, dir) != files(t, plain) {
					t.Fatalf("%+v, want %+v", got, want)
				}
				return
			}
			for _, name := range []string{StatementsFile, LedgerFile} { // what a kill in a write leaves
				tail := rapid.SampledFrom([]string{"", `{"entity":`, `{"entry":{"doc_id":"d00"`}).Draw(t, "tail")
				f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(f, tail)
				f.Close()
			}
		}
	})
}

// A process that is killed keeps what it finished, and with the teacher's cache pays nothing twice.
func TestKill(t *testing.T) {
	if dir := os.Getenv("QUARRY_EXTRACT_TEST_DIR"); dir != "" {
		child(dir, os.Getenv("QUARRY_EXTRACT_TEST_URL"))
		return
	}
	const stopAt = 12
	var asked atomic.Int64
	reached := make(chan struct{})
	s := chat(t, func(n int64, w http.ResponseWriter) bool {
		asked.Add(1)
		if n == stopAt {
			close(reached)
		}
		if n >= stopAt && n < stopAt+4 { // those of the child that is killed: no answer
			w.WriteHeader(503)
			return true
		}
		return false
	})
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), "QUARRY_EXTRACT_TEST_DIR="+dir, "QUARRY_EXTRACT_TEST_URL="+s.URL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	cache, err := teacher.OpenCache(filepath.Join(dir, "cache.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	paid := cache.Len()
	c := &teacher.Client{BaseURL: s.URL + "/v1", Model: "m", Backoff: 1, Cache: cache}
	sum, err := Run(context.Background(), c, each(towns(30)), filepath.Join(dir, "out"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sums(t, filepath.Join(dir, "out"), sum, 30)
	if sum.Resumed == 0 || paid < stopAt-4 {
		t.Errorf("%d documents kept, %d answers", sum.Resumed, paid)
	}
	plain := t.TempDir()
	if _, err := Run(context.Background(), &teacher.Client{BaseURL: s.URL + "/v1", Model: "m"}, each(towns(30)), plain, Options{}); err != nil {
		t.Fatal(err)
	}
	if files(t, plain) != files(t, filepath.Join(dir, "out")) {
		t.Error("a killed run gives other bytes")
	}
	if u := c.Usage(); u.Calls+int64(paid) != sum.Usage.Calls {
		t.Errorf("%d answers paid before the kill, %d after it, for a run of %d", paid, u.Calls, sum.Usage.Calls)
	}
}

func child(dir, url string) {
	cache, err := teacher.OpenCache(filepath.Join(dir, "cache.jsonl"))
	if err == nil {
		c := &teacher.Client{BaseURL: url + "/v1", Model: "m", Cache: cache, MaxConcurrent: 2}
		_, err = Run(context.Background(), c, each(towns(30)), filepath.Join(dir, "out"), Options{Concurrency: 2})
	}
	bufio.NewWriter(os.Stderr).WriteString(fmt.Sprint(err))
}

func TestBudget(t *testing.T) {
	dir, r := t.TempDir(), &reader{}
	docs := towns(40)
	price := teacher.Price{In: 1e6} // a token costs 1
	sum, err := Run(context.Background(), r, each(docs), dir, Options{Concurrency: 1, Price: price, MaxCost: 500})
	if quarry.KindOf(err) != quarry.KindExhausted || quarry.HintOf(err) == "" || sum.Documents == 0 || sum.Documents == 40 {
		t.Fatalf("%v, %+v", err, sum)
	}
	if sum.Usage.Cost < 500 || sum.Usage.Cost > 700 {
		t.Errorf("stopped at %v", sum.Usage.Cost)
	}
	calls := r.calls.Load()
	if _, err = Run(context.Background(), r, each(docs), dir, Options{Concurrency: 1, Price: price, MaxCost: 500}); quarry.KindOf(err) != quarry.KindExhausted || r.calls.Load() != calls {
		t.Errorf("the same budget again: %v, %d calls", err, r.calls.Load()-calls)
	}
	if sum, err = Run(context.Background(), r, each(docs), dir, Options{Concurrency: 1, Price: price}); err != nil || sum.Documents != 40 {
		t.Errorf("%v, %+v", err, sum)
	}
	sums(t, dir, sum, 40)
}

func fault(kind teacher.FaultKind, paid bool) (teacher.Reply, error) {
	r := teacher.Reply{}
	if paid {
		r = teacher.Reply{Text: "{", FinishReason: "length", PromptTokens: 5, CompletionTokens: 5}
	}
	return r, &quarry.Error{Kind: quarry.KindInvalid, Err: &teacher.Fault{Kind: kind, Detail: "so"}}
}

func TestFaultsOfTheTeacher(t *testing.T) {
	long := town("d", 9)
	for _, c := range []struct {
		name   string
		fail   func(n int64, r teacher.Request) (teacher.Reply, error)
		failed string // chunks by kind
		stops  bool
		calls  int64
	}{
		{"one bad answer", func(n int64, _ teacher.Request) (teacher.Reply, error) {
			if n == 1 {
				return fault(teacher.BadAnswer, true)
			}
			return teacher.Reply{}, nil
		}, "map[]", false, 2},
		{"bad answers", func(int64, teacher.Request) (teacher.Reply, error) { return fault(teacher.BadAnswer, true) }, "map[bad_answer:1]", false, 2},
		{"a broken endpoint", func(int64, teacher.Request) (teacher.Reply, error) { return fault(teacher.BadAnswer, false) }, "map[]", true, 1},
		{"refused", func(int64, teacher.Request) (teacher.Reply, error) { return fault(teacher.Refused, true) }, "map[refused:1]", false, 1},
		{"no key", func(int64, teacher.Request) (teacher.Reply, error) { return fault(teacher.Auth, false) }, "map[]", true, 1},
		{"answers too long for more than 3 facts", func(_ int64, r teacher.Request) (teacher.Reply, error) {
			_, p, _ := strings.Cut(r.User, "PASSAGE:\n")
			if len(fact.FindAllString(p, -1)) > 3 {
				return fault(teacher.TooLong, true)
			}
			return teacher.Reply{}, nil
		}, "map[]", false, 5},
		{"always too long", func(int64, teacher.Request) (teacher.Reply, error) { return fault(teacher.TooLong, false) }, "map[too_long:12]", false, 23},
	} {
		dir, r := t.TempDir(), &reader{fail: c.fail}
		sum, err := Run(context.Background(), r, each([]Document{long}), dir, Options{})
		if (err != nil) != c.stops || fmt.Sprint(sum.Failed) != c.failed || r.calls.Load() != c.calls {
			t.Errorf("%s: %v, %v, %d calls", c.name, err, sum.Failed, r.calls.Load())
		}
		if !c.stops && c.failed == "map[]" && sum.Out != 6 {
			t.Errorf("%s: %+v", c.name, sum)
		}
	}
}
