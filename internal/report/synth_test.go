package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestSynthHTML(t *testing.T) {
	p := SynthPage{Name: "found <script>", Quarry: "v1", Digest: "abc", Walks: 12345, Accepted: 50,
		Funnel: []FunnelStep{{Name: "walk", In: 12345, InUnit: "candidates", Passed: 100, Rejected: Reasons{"walk_dead_end": 12245}, Out: 100, OutUnit: "candidates"},
			{Name: "single_query", In: 100, InUnit: "candidates", Passed: 50, Rejected: Reasons{"single_query": 50}, Out: 50, OutUnit: "candidates"}},
		Reasons:  []SynthReason{{"walk", "walk_dead_end", 12245, "nothing was left", "use <fewer> hops"}, {"policy", "policy:x\"y", 1, "", ""}},
		Cost:     []Fact{{"calls", "7"}, {CostPerQuestion, "0.0125"}},
		Settings: []Fact{{"license", "CC & co"}, {"min_docs", "2"}}}
	var b bytes.Buffer
	if err := SynthHTML(&b, p); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, outside := range []string{"http:", "https:", "//", "src=", "<link", "<script", "@import", "<iframe", "url(h", "ZgotmplZ", "NaN", "use <fewer>"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q", outside)
		}
	}
	for _, want := range []string{"found &lt;script&gt;", "default-src 'none'", "12,345", "12,245", "use &lt;fewer&gt; hops", "CC &amp; co", "min docs", "<b>0.0125</b><span>for an accepted question", "0.4 %", "single query"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	balanced(t, page)
	b.Reset()
	if err := SynthHTML(&b, SynthPage{Name: "none"}); err != nil || !strings.Contains(b.String(), "Nothing was rejected.") {
		t.Errorf("an empty ledger: %v", err)
	}
	balanced(t, b.String())
}
