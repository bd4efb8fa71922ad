package report

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{grouped(0), "0"}, {grouped(999), "999"}, {grouped(1000), "1,000"}, {grouped(-1234567), "-1,234,567"},
		{percent(0), "0 %"}, {percent(0.0001), "<0.1 %"}, {percent(0.0005), "0.1 %"}, {percent(0.516), "51.6 %"}, {percent(1), "100 %"},
		{seconds(0.004), "4 ms"}, {seconds(0.0999), "0.1 s"}, {seconds(59.94), "59.9 s"}, {seconds(59.96), "1 min 00 s"}, {seconds(3725), "1 h 02 min"},
		{bytesText(1023), "1023 B"}, {bytesText(412 << 20), "412.0 MiB"}, {bytesText(3 << 50), "3072.0 TiB"},
		{score(nil), "-"}, {score(new(0.714)), ".71"}, {score(new(-0.2)), "-.20"}, {score(new(-0.001)), ".00"}, {score(new(1.0)), "1.00"},
		{ratioText(1), "1.00"}, {ratioText(0.0012), "0.0012"}, {ratioText(123), "123"}, {ratioText(12.34), "12.3"}, {ratioText(0), "0"},
		{reasonList(Reasons{"b_c": 2, "a": 2, "z": 1000}), "1,000 z, 2 a, 2 b c"},
		{bar(0.5, 4), "██"}, {bar(1.0/32, 4), "▏"}, {bar(7, 4), "████"}, {bar(-1, 4), ""},
		{clean(" a\n\tb\x1b[1m\u200b c "), "a b[1m c"},
		{cut("quarry", 6), "quarry"}, {cut("quarry", 5), "quar…"}, {cut("日本語", 5), "日本…"}, {cut("ab", 1), "…"}, {cut("ab", 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestWrapLosesNothingAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := clean(rapid.String().Draw(t, "s"))
		width := rapid.IntRange(8, 60).Draw(t, "width")
		lines := wrap(s, width)
		for _, l := range lines {
			if cells(l) > width || !utf8.ValidString(l) {
				t.Fatalf("%d cells in %q, width %d", cells(l), l, width)
			}
		}
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if bare(strings.Join(lines, "")) != bare(s) {
			t.Fatalf("%q became %q", s, lines)
		}
		if short := cut(s, width); cells(short) > width {
			t.Fatalf("cut to %d cells, width %d", cells(short), width)
		}
	})
}

func TestScalesHoldTheirValuesAndHaveFewTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")
		hi := lo + rapid.Float64Range(1e-3, 1e6).Draw(t, "span")
		y, ticks := linear(lo, hi, 200, 0, 5)
		if eps := (y.hi - y.lo) * 1e-6; y.lo > lo+eps || y.hi < hi-eps || len(ticks) < 2 || len(ticks) > 8 {
			t.Fatalf("%v..%v became %v..%v with ticks %v", lo, hi, y.lo, y.hi, ticks)
		}
		for _, v := range ticks {
			if p := y.at(v); p < -1e-3 || p > 200+1e-3 {
				t.Fatalf("tick %v at %v", v, p)
			}
		}
		a := math.Exp(rapid.Float64Range(-12, 0).Draw(t, "a"))
		b := math.Exp(rapid.Float64Range(0.7, 12).Draw(t, "b"))
		y, ticks = logarithmic(a, b, 200, 0)
		if y.hi < b*(1-1e-6) || y.lo > max(a, b/1e6)*(1+1e-6) || len(ticks) < 2 || len(ticks) > 14 {
			t.Fatalf("%v..%v became %v..%v with ticks %v", a, b, y.lo, y.hi, ticks)
		}
		if p := y.at(a); p > 200.001 || y.at(b) < -0.001 {
			t.Fatalf("%v at %v, %v at %v", a, p, b, y.at(b))
		}
	})
}
