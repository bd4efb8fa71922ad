package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// clean makes text safe for a terminal: one line, no control characters, no invisible direction marks. Transcripts are
// written by a model and documents by strangers; neither may move the cursor or colour the screen.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// columns is how many terminal cells a rune takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	}
	return 1
}

func cells(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// cut shortens s to at most width cells, with an ellipsis where something was lost.
func cut(s string, width int) string {
	if cells(s) <= width {
		return s
	}
	n, end := 0, 0
	for i, r := range s {
		if n+columns(r) > width-1 {
			end = i
			break
		}
		n += columns(r)
	}
	if width < 1 {
		return ""
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// wrap breaks s at spaces into lines of at most width cells; a longer word is broken.
func wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, n := "", 0
	for _, w := range strings.Fields(s) {
		for cells(w) > width {
			if line != "" {
				lines = append(lines, line)
				line, n = "", 0
			}
			k, at := 0, 0
			for i, r := range w {
				if k+columns(r) > width {
					at = i
					break
				}
				k += columns(r)
			}
			lines = append(lines, w[:at])
			w = w[at:]
		}
		if n > 0 && n+1+cells(w) > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+w, n+cells(w)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// grouped prints an integer with thousands commas.
func grouped[T int | int64](v T) string {
	s := strconv.FormatInt(int64(v), 10)
	neg := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(neg)]
	for i := len(neg) - 3; i > 0; i -= 3 {
		neg = neg[:i] + "," + neg[i:]
	}
	return sign + neg
}

// percent prints a fraction: "52.1 %", "100 %", "<0.1 %" so that a little is never nothing.
func percent(v float64) string {
	if v == 0 || v == 1 {
		return whole(v)
	}
	if v > 0 && v < 0.0005 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}

func whole(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// seconds prints a duration in the unit people would say.
func seconds(v float64) string {
	switch {
	case v < 0.0995:
		return fmt.Sprintf("%.0f ms", 1000*v)
	case v < 59.95:
		return fmt.Sprintf("%.1f s", v)
	}
	s := int(math.Round(v))
	if s < 3600 {
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %02d min", s/3600, s%3600/60)
}

// bytesText prints a size in binary units.
func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// score prints a reward or weight without its leading zero: ".71", "-.20", "1.00"; "-" when nothing was measured.
func score(v *float64) string {
	if v == nil {
		return "-"
	}
	s := strconv.FormatFloat(*v, 'f', 2, 64)
	if s == "-0.00" {
		s = "0.00"
	}
	if neg, ok := strings.CutPrefix(s, "-0."); ok {
		return "-." + neg
	}
	if rest, ok := strings.CutPrefix(s, "0."); ok {
		return "." + rest
	}
	return s
}

// ratioText prints an importance ratio: 0.97, 12.3, 140, 0.0012.
func ratioText(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 0.01 && v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v >= 9.995 && v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 99.95 && v < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// reasonList joins the reasons with their counts, most frequent first.
func reasonList(r Reasons) string {
	var parts []string
	for _, name := range r.Sorted() {
		parts = append(parts, grouped(r[name])+" "+readable(name))
	}
	return strings.Join(parts, ", ")
}

// readable turns an identifier into words: one_query becomes "one query".
func readable(name string) string { return clean(strings.ReplaceAll(name, "_", " ")) }
