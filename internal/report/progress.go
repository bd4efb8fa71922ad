package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// redrawEvery bounds the live line to ten drawings a second.
const redrawEvery = 100 * time.Millisecond

// Progress shows the stage that runs. On a terminal it redraws one line; elsewhere it writes one line when a stage
// starts and one when it ends, so that a log stays readable. It is safe for several goroutines. Write errors are
// ignored: a closed terminal must not end a run.
type Progress struct {
	w     io.Writer
	tty   bool
	width int
	now   func() time.Time

	mu          sync.Mutex
	stage       string
	started     time.Time
	drawn       time.Time // when the live line was last drawn
	shown       bool      // the live line stands on the screen
	done, total int
	note        string
}

// NewProgress writes to w; tty chooses the live line of at most width cells (0 means 80); now is the clock.
func NewProgress(w io.Writer, tty bool, width int, now func() time.Time) *Progress {
	if width <= 0 {
		width = 80
	}
	return &Progress{w: w, tty: tty, width: width, now: now}
}

// Stage starts a stage. One that is still open is closed without a note.
func (p *Progress) Stage(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage != "" {
		p.close("", "ok")
	}
	p.stage, p.started, p.done, p.total, p.note = clean(name), p.now(), 0, 0, ""
	if !p.tty {
		p.write(p.stage + ": started\n")
		return
	}
	p.draw()
}

// Update says how far the stage is; total 0 means unknown. Most calls only store the numbers.
func (p *Progress) Update(done, total int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage == "" {
		return
	}
	p.done, p.total, p.note = done, total, clean(note)
	if p.tty && p.now().Sub(p.drawn) >= redrawEvery {
		p.draw()
	}
}

// Done ends the stage with what came of it.
func (p *Progress) Done(note string) { p.end(note, "ok") }

// Fail ends the stage; the error itself is for the caller to print.
func (p *Progress) Fail(note string) { p.end(note, "failed") }

func (p *Progress) end(note, word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage != "" {
		p.close(clean(note), word)
	}
}

// Print writes a whole line above the live one.
func (p *Progress) Print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	p.write(clean(line) + "\n")
	if p.tty && p.stage != "" {
		p.draw()
	}
}

func (p *Progress) close(note, word string) {
	took := seconds(max(0, p.now().Sub(p.started).Seconds()))
	p.wipe()
	if p.tty {
		mark := "✓"
		if word == "failed" {
			mark = "✗"
		}
		p.write(cut(strings.TrimRight(fmt.Sprintf("%s %-7s %9s  %s", mark, p.stage, took, note), " "), p.width) + "\n")
	} else {
		if note != "" {
			note = ": " + note
		}
		p.write(fmt.Sprintf("%s: %s in %s%s\n", p.stage, word, took, note))
	}
	p.stage = ""
}

// draw replaces the live line. One cell stays free so that the cursor never wraps.
func (p *Progress) draw() {
	now := p.now()
	took := seconds(max(0, now.Sub(p.started).Truncate(redrawEvery).Seconds()))
	line := fmt.Sprintf("… %-7s %9s", p.stage, took)
	switch {
	case p.total > 0:
		v := float64(p.done) / float64(p.total)
		line += fmt.Sprintf("  %-12s %s/%s", bar(v, 12), grouped(p.done), grouped(p.total))
	case p.done > 0:
		line += "  " + grouped(p.done)
	}
	if p.note != "" {
		line += "  " + p.note
	}
	p.write("\r\x1b[2K" + cut(line, p.width-1))
	p.drawn, p.shown = now, true
}

func (p *Progress) wipe() {
	if p.shown {
		p.write("\r\x1b[2K")
		p.shown = false
	}
}

func (p *Progress) write(s string) { _, _ = io.WriteString(p.w, s) }
