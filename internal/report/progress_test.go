package report

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

type fakeClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func TestProgressPlainWritesTwoLinesPerStage(t *testing.T) {
	var b bytes.Buffer
	c := &fakeClock{t: time.Unix(1e9, 0)}
	p := NewProgress(&b, false, 80, c.now)
	p.Stage("kg")
	for i := range 50 {
		c.pass(time.Second)
		p.Update(i, 50, "reading")
	}
	p.Done("33,042 statements")
	p.Stage("synth")
	c.pass(1500 * time.Millisecond)
	p.Fail("disk full")
	p.Update(1, 2, "after the end")
	p.Done("after the end")
	want := "kg: started\nkg: ok in 50.0 s: 33,042 statements\nsynth: started\nsynth: failed in 1.5 s: disk full\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgressRedrawsAtMostTenTimesASecond(t *testing.T) {
	var b bytes.Buffer
	c := &fakeClock{t: time.Unix(1e9, 0)}
	p := NewProgress(&b, true, 80, c.now)
	p.Stage("rl")
	for i := range 2000 { // two seconds in steps of a millisecond
		c.pass(time.Millisecond)
		p.Update(i, 2000, "")
	}
	if n := strings.Count(b.String(), "\r\x1b[2K"); n != 21 { // the first drawing and twenty more
		t.Errorf("%d drawings in two seconds, want 21", n)
	}
	p.Done("14 steps")
	last := b.String()[strings.LastIndex(b.String(), "\r\x1b[2K")+len("\r\x1b[2K"):]
	if want := "✓ rl          2.0 s  14 steps\n"; last != want {
		t.Errorf("last line %q, want %q", last, want)
	}
}

func TestProgressLineFitsAndIsCleanWhateverTheNote(t *testing.T) {
	for _, width := range []int{20, 40, 80} {
		var b bytes.Buffer
		c := &fakeClock{t: time.Unix(1e9, 0)}
		p := NewProgress(&b, true, width, c.now)
		p.Stage("rollout")
		c.pass(time.Second)
		p.Update(3, 10, "日本語 "+strings.Repeat("long note ", 30)+"\x1b[31mred\nsecond line")
		c.pass(time.Second)
		p.Done("done\x1b[2J" + strings.Repeat(" x", 90))
		for _, line := range strings.FieldsFunc(strings.ReplaceAll(b.String(), "\x1b[2K", ""), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if cells(line) > width || strings.ContainsRune(line, '\x1b') {
				t.Errorf("width %d: %d cells or an escape in %q", width, cells(line), line)
			}
		}
		if n := strings.Count(b.String(), "\n"); n != 1 {
			t.Errorf("width %d: %d line ends, want 1", width, n)
		}
	}
}

func TestProgressPrintKeepsTheLiveLineBelow(t *testing.T) {
	var b bytes.Buffer
	c := &fakeClock{t: time.Unix(1e9, 0)}
	p := NewProgress(&b, true, 60, c.now)
	p.Stage("dpo")
	p.Print("warning: 12 pairs only")
	p.Stage("rl") // closes dpo
	if got, want := b.String(), "\r\x1b[2K… dpo          0 ms\r\x1b[2Kwarning: 12 pairs only\n\r\x1b[2K… dpo          0 ms"+
		"\r\x1b[2K✓ dpo          0 ms\n\r\x1b[2K… rl           0 ms"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestProgressFromManyGoroutines(t *testing.T) {
	var b bytes.Buffer
	c := &fakeClock{t: time.Unix(1e9, 0)}
	p := NewProgress(&b, true, 80, c.now)
	p.Stage("filter")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				c.pass(time.Millisecond)
				p.Update(i, 200, fmt.Sprint("worker ", g))
			}
		})
	}
	wg.Wait()
	p.Done("264 kept")
	if n := strings.Count(b.String(), "\r\x1b[2K"); n > 18 {
		t.Errorf("%d drawings in 1.6 seconds", n)
	}
}
