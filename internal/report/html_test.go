package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func htmlOf(t *testing.T, d *Doc) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	svgs   = regexp.MustCompile(`(?s)<svg .*?</svg>`)
	ids    = regexp.MustCompile(` id="([^"]*)"`)
	refs   = regexp.MustCompile(`(?:aria-labelledby|url\(#|href)="?([^")]*)`)
	tag    = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)[^>]*?(/?)>`)
	coords = regexp.MustCompile(`NaN|Inf`)
)

func TestHTMLIsOneSelfContainedPage(t *testing.T) {
	page := htmlOf(t, sampleDoc())
	for _, outside := range []string{"http:", "https:", "//", "src=", "<link", "<script", "@import", "<iframe", "url(h"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page mentions %q", outside)
		}
	}
	for _, want := range []string{"prefers-color-scheme:dark", "default-src 'none'", "rl-14", "quarry.run/v1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("a value met a context it is not safe in")
	}
	balanced(t, page)
}

// balanced checks that every element that must be closed is, in order.
func balanced(t *testing.T, page string) {
	t.Helper()
	void := map[string]bool{"meta": true}
	var open []string
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		switch {
		case m[3] == "/" || void[m[2]]:
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("</%s> closes %v", m[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("never closed: %v", open)
	}
}

func TestHTMLChartsAreWellFormedAndNamed(t *testing.T) {
	page := htmlOf(t, sampleDoc())
	charts := svgs.FindAllString(page, -1)
	if len(charts) != 10 { // two of them in two widths
		t.Fatalf("%d charts, want 10", len(charts))
	}
	for _, c := range charts {
		dec := xml.NewDecoder(strings.NewReader(c))
		for {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %.120s", err, c)
			}
		}
		for _, want := range []string{`role="img"`, "<title id=", "<desc id="} {
			if !strings.Contains(c, want) {
				t.Errorf("no %s in %.120s", want, c)
			}
		}
		if coords.MatchString(c) {
			t.Errorf("a coordinate is no number in %.120s", c)
		}
	}
	known := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(page, -1) {
		if known[m[1]] {
			t.Errorf("id %q twice", m[1])
		}
		known[m[1]] = true
	}
	for _, m := range refs.FindAllStringSubmatch(page, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !known[id] {
				t.Errorf("reference to missing id %q", id)
			}
		}
	}
}

func TestPageSaysWhatIsCollected(t *testing.T) {
	page := htmlOf(t, sampleDoc())
	for _, want := range []string{"questions by hops + conditions: 611 of 2+1, 287 of 3+0, 129 of 3+1", "183 of 190 questions kept; out: 5 single query, 2 closed book",
		"5 of them beyond the expert", "top out at 0.1", "tool (at most 0.1)"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHTMLEscapesEverything(t *testing.T) {
	for _, s := range []string{`</title></style><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='x`, `<svg/onload=x>&amp;`,
		`{{.Doc}}`, "</pre></details><h1>", "]]>\x00"} {
		page := htmlOf(t, hostileDoc(s))
		clean := htmlOf(t, hostileDoc("plain"))
		count := func(p, what string) int { return strings.Count(p, what) }
		for _, what := range []string{"<script", "<img", "onerror=alert(1)>", "<svg/", "<h1", "</style>", "</title>", "</pre>", "</details>"} {
			if got, want := count(page, what), count(clean, what); got != want {
				t.Errorf("%q: %d of %s, want %d", s, got, what, want)
			}
		}
		if strings.Contains(page, "' onmouseover='x") {
			t.Errorf("%q came through unescaped", s)
		}
		balanced(t, page)
	}
}

func TestHTMLOfPartialRuns(t *testing.T) {
	one := sampleDoc()
	one.Eval, one.RL.Steps, one.Staleness, one.Example = one.Eval[:1], one.RL.Steps[:1], one.Staleness[:1], nil
	one.RL.Steps[0].Reward, one.RL.Steps[0].VarianceShare, one.RL.Steps[0].RatioEntropy, one.RL.Steps[0].MaskedFractionEntropy = Reward{}, nil, nil, nil
	wide := sampleDoc()
	for len(wide.RL.Steps) < 500 {
		s := wide.RL.Steps[13]
		s.Step, s.Ratio = len(wide.RL.Steps)+1, Quantiles{0, 1, 40}
		wide.RL.Steps = append(wide.RL.Steps, s)
	}
	for name, d := range map[string]*Doc{"empty": {}, "one of each": one, "500 steps": wide} {
		page := htmlOf(t, d)
		balanced(t, page)
		for _, c := range svgs.FindAllString(page, -1) {
			if coords.MatchString(c) {
				t.Errorf("%s: a coordinate is no number in %.200s", name, c)
			}
		}
	}
	if page := htmlOf(t, wide); !strings.Contains(page, "The charts draw 200 of them") || len(page) > 2<<20 {
		t.Errorf("500 steps: %d bytes, or thinned without saying so", len(page))
	}
}

// TestHTMLContrast computes WCAG contrast from the style sheet: 4.5 for text, 3 for marks, in light and dark.
func TestHTMLContrast(t *testing.T) {
	light, dark, ok := strings.Cut(pageCSS, "@media (prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("no dark scheme")
	}
	dark, _, _ = strings.Cut(dark, "}}")
	for name, sheet := range map[string]string{"light": light, "dark": dark} {
		color := func(v string) string {
			m := regexp.MustCompile(`--` + v + `:(#[0-9a-f]+)`).FindStringSubmatch(sheet)
			if m == nil {
				t.Fatalf("%s: no colour %s", name, v)
			}
			return m[1]
		}
		for _, c := range []struct {
			fg, bg string
			least  float64
		}{
			{"ink", "bg", 4.5}, {"ink", "card", 4.5}, {"soft", "bg", 4.5}, {"soft", "card", 4.5}, {"ink", "code", 4.5}, {"good", "goodbg", 4.5}, {"bad", "badbg", 4.5},
			{"card", "prm", 4.5}, {"orm", "card", 3}, {"prm", "card", 3}, {"tool", "card", 3}, {"format", "card", 3}, {"axis", "card", 3}, {"prm", "lost", 3},
		} {
			if got := contrast(color(c.fg), color(c.bg)); got < c.least {
				t.Errorf("%s: %s on %s has contrast %.2f, want %.1f", name, c.fg, c.bg, got, c.least)
			}
		}
	}
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	hex = hex[1:]
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		v := float64(n) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
