package report

import (
	"fmt"
	"slices"
	"strings"
)

// paint colours text for a terminal; the zero value leaves it plain.
type paint bool

func (p paint) code(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string  { return p.code("1", s) }
func (p paint) dim(s string) string   { return p.code("2", s) }
func (p paint) green(s string) string { return p.code("32", s) }
func (p paint) red(s string) string   { return p.code("31", s) }
func (p paint) cyan(s string) string  { return p.code("36", s) }

// column of a text table. The first columns to go when the terminal is narrow are those with the highest spare; 0 stays.
type column struct {
	head  string
	right bool
	spare int
	style func(string) string
}

// textTable lays rows out in columns two spaces apart, indented by two.
type textTable struct {
	cols []column
	rows [][]string
}

func (t *textTable) add(values ...string) { t.rows = append(t.rows, values) }

const (
	tableIndent = 2
	tableGap    = 2
)

// render returns the lines and the heads of columns left out because width did not allow them.
func (t *textTable) render(p paint, width int) (lines, left []string) {
	widths := make([]int, len(t.cols))
	for i, c := range t.cols {
		widths[i] = cells(c.head)
		for _, r := range t.rows {
			widths[i] = max(widths[i], cells(r[i]))
		}
	}
	shown := make([]bool, len(t.cols))
	for i := range shown {
		shown[i] = true
	}
	for tableWidth(widths, shown) > width {
		worst := -1
		for i, c := range t.cols {
			if shown[i] && c.spare > 0 && (worst < 0 || c.spare > t.cols[worst].spare) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		shown[worst] = false
		left = append(left, t.cols[worst].head)
	}
	head := make([]string, len(t.cols))
	for i, c := range t.cols {
		head[i] = c.head
	}
	lines = append(lines, t.line(p, head, widths, shown, true))
	for _, r := range t.rows {
		lines = append(lines, t.line(p, r, widths, shown, false))
	}
	return lines, left
}

// fits says whether the table can be rendered in width, and how many columns that leaves out.
func (t *textTable) fits(width int) (left int, ok bool) {
	lines, out := t.render(false, width)
	return len(out), !slices.ContainsFunc(lines, func(l string) bool { return cells(l) > width })
}

func tableWidth(widths []int, shown []bool) int {
	total := tableIndent - tableGap
	for i, w := range widths {
		if shown[i] {
			total += w + tableGap
		}
	}
	return total
}

func (t *textTable) line(p paint, values []string, widths []int, shown []bool, head bool) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", tableIndent))
	pending := 0 // blanks owed before the next text, so that no line ends in blanks
	for i, c := range t.cols {
		if !shown[i] {
			continue
		}
		text := cut(values[i], widths[i])
		pad := widths[i] - cells(text)
		if c.right {
			pending += pad
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", pending))
			pending = 0
			switch {
			case head:
				b.WriteString(p.dim(text))
			case c.style != nil && bool(p):
				b.WriteString(c.style(text))
			default:
				b.WriteString(text)
			}
		}
		if !c.right {
			pending += pad
		}
		pending += tableGap
	}
	return strings.TrimRight(b.String(), " ")
}

// bar draws a fraction with block characters, eighths included.
func bar(v float64, width int) string {
	const eighths = "▏▎▍▌▋▊▉█"
	n := int(max(0, min(1, v))*float64(width)*8 + 0.5)
	s := strings.Repeat("█", n/8)
	if rest := n % 8; rest > 0 {
		s += string([]rune(eighths)[rest-1])
	}
	return s
}

// leftOut says which columns a narrow terminal hid.
func leftOut(heads []string) string {
	if len(heads) == 0 {
		return ""
	}
	return fmt.Sprintf("at this width without: %s", strings.Join(heads, ", "))
}
