package pocket

import (
	"strings"

	"github.com/quarry-rl/quarry/kg/english"
)

// passage is one search result as the policy sees it.
type passage struct {
	mentions []english.Name // title first, each name once per place
	terms    []string       // stem of each word, "" for stop words
}

func readPassage(title, text string) *passage {
	p := &passage{}
	seen := map[string]bool{}
	for _, m := range append(english.TitleName(title), english.Names(text)...) {
		key := m.Norm
		if m.Title {
			key = "\x00" + key
		}
		if !seen[key] {
			seen[key] = true
			p.mentions = append(p.mentions, m)
		}
	}
	for _, w := range strings.Fields(text) {
		t := ""
		if ts := english.Terms(w); len(ts) > 0 {
			t = ts[0]
		}
		p.terms = append(p.terms, t)
	}
	return p
}
