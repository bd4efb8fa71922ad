package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry/synth/pipeline"
	"github.com/quarry-rl/quarry/synth/tiers"
)

// Share is how questions of one kind were judged, each counted once: Rows = Good + Bad + Unsure + Disputed.
type Share struct {
	Rows     int      `json:"rows"`
	Good     int      `json:"good"`
	Bad      int      `json:"bad"`
	Unsure   int      `json:"unsure"`
	Disputed int      `json:"disputed"` // reviewers differ
	Share    *float64 `json:"share"`    // good of good and bad; null when there are none
	Low      float64  `json:"low"`      // 95 % interval of it (Clopper and Pearson 1934)
	High     float64  `json:"high"`
}

// ByReason is Share of the rejected ones of one reason: the good ones among them were rejected wrongly.
type ByReason struct {
	Reason pipeline.Reason `json:"reason"`
	Share
}

// Pair is how two reviewers agree on the questions that both judged.
type Pair struct {
	A      string   `json:"a"`
	B      string   `json:"b"`
	Rows   int      `json:"rows"`
	Agreed int      `json:"agreed"`
	Kappa  *float64 `json:"kappa"` // Cohen 1960, over good, bad and unsure; null when both gave one and the same verdict throughout
}

// Agreement is what all verdicts of a folder say.
type Agreement struct {
	Reviewers []string      `json:"reviewers"`
	Verdicts  int           `json:"verdicts"` // that count: the last of each reviewer on each question
	Accepted  Share         `json:"accepted"`
	Rejected  Share         `json:"rejected"` // of the sample, which is not drawn in proportion when reasons are few
	Reasons   []ByReason    `json:"reasons"`
	Faults    map[Fault]int `json:"faults"` // why reviewers said bad; "unstated" without a reason
	Pairs     []Pair        `json:"pairs"`
}

// Agree counts. Records are in the order of the file.
func Agree(records []Record) Agreement {
	type say struct{ reviewer, line string }
	last := map[say]Record{}
	for _, r := range records {
		last[say{r.Reviewer, r.Line}] = r
	}
	out := Agreement{Verdicts: len(last), Reviewers: []string{}, Reasons: []ByReason{}, Pairs: []Pair{}, Faults: map[Fault]int{}}
	by := map[string][]Record{} // by line
	said := map[string]map[string]Verdict{}
	for k, r := range last {
		by[k.line] = append(by[k.line], r)
		if said[k.reviewer] == nil {
			said[k.reviewer] = map[string]Verdict{}
			out.Reviewers = append(out.Reviewers, k.reviewer)
		}
		said[k.reviewer][k.line] = r.Verdict
		if r.Verdict == Bad {
			out.Faults[cmp.Or(r.Fault, "unstated")]++
		}
	}
	slices.Sort(out.Reviewers)
	reasons := map[pipeline.Reason]*Share{}
	for _, rs := range by {
		v := rs[0].Verdict
		for _, r := range rs {
			if r.Verdict != v {
				v = "disputed"
			}
		}
		if rs[0].State == pipeline.Accepted {
			out.Accepted.count(v)
			continue
		}
		out.Rejected.count(v)
		if reasons[rs[0].Reason] == nil {
			reasons[rs[0].Reason] = &Share{}
		}
		reasons[rs[0].Reason].count(v)
	}
	out.Accepted.close()
	out.Rejected.close()
	for why, s := range reasons {
		s.close()
		out.Reasons = append(out.Reasons, ByReason{why, *s})
	}
	slices.SortFunc(out.Reasons, func(a, b ByReason) int { return strings.Compare(string(a.Reason), string(b.Reason)) })
	for i, a := range out.Reviewers {
		for _, b := range out.Reviewers[i+1:] {
			if p := pair(said[a], said[b]); p.Rows > 0 {
				p.A, p.B = a, b
				out.Pairs = append(out.Pairs, p)
			}
		}
	}
	return out
}

func (s *Share) count(v Verdict) {
	s.Rows++
	switch v {
	case Good:
		s.Good++
	case Bad:
		s.Bad++
	case Unsure:
		s.Unsure++
	default:
		s.Disputed++
	}
}

func (s *Share) close() {
	n := s.Good + s.Bad
	s.Low, s.High = tiers.ClopperPearson(s.Good, n)
	if n > 0 {
		share := float64(s.Good) / float64(n)
		s.Share = &share
	}
}

// pair is Cohen's kappa: (agreement - agreement by chance) / (1 - agreement by chance).
func pair(a, b map[string]Verdict) Pair {
	var p Pair
	ofA, ofB := map[Verdict]int{}, map[Verdict]int{}
	for line, v := range a {
		w, both := b[line]
		if !both {
			continue
		}
		p.Rows++
		ofA[v]++
		ofB[w]++
		if v == w {
			p.Agreed++
		}
	}
	chance := 0 // times Rows squared, so that whole numbers decide whether it is 1
	for v, n := range ofA {
		chance += n * ofB[v]
	}
	if all := p.Rows * p.Rows; chance < all {
		k := float64(p.Agreed*p.Rows-chance) / float64(all-chance)
		p.Kappa = &k
	}
	return p
}
