package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

// measured is the mean of a reward over the episodes where it is scored.
type measured struct {
	Mean     *float64       `json:"mean"` // null when no episode is scored
	Scored   int            `json:"scored"`
	Unscored report.Reasons `json:"unscored"`
}

func measure(eps []*quarry.Episode, get func(quarry.Scorecard) quarry.Score) measured {
	m := measured{Unscored: report.Reasons{}}
	sum := 0.0
	for _, ep := range eps {
		if ep.Scorecard == nil {
			m.Unscored["no_scorecard"]++
			continue
		}
		s := get(*ep.Scorecard)
		if !s.Scored {
			m.Unscored[s.Reason]++
			continue
		}
		m.Scored++
		sum += s.Value
	}
	if m.Scored > 0 {
		mean := sum / float64(m.Scored)
		m.Mean = &mean
	}
	return m
}

func (m measured) String() string {
	if m.Mean == nil {
		return "not scored: " + m.Unscored.String()
	}
	s := fmt.Sprintf("%.3f", *m.Mean)
	if n := total(m.Unscored); n > 0 {
		s += fmt.Sprintf(" over %d; not scored: %v", m.Scored, m.Unscored)
	}
	return s
}

// components are the four rewards. The mean of ORM is the success rate.
type components struct {
	ORM    measured `json:"orm"`
	PRM    measured `json:"prm"`
	Tool   measured `json:"tool"`
	Format measured `json:"format"`
}

func measureAll(eps []*quarry.Episode) components {
	return components{
		ORM:    measure(eps, func(c quarry.Scorecard) quarry.Score { return c.ORM }),
		PRM:    measure(eps, func(c quarry.Scorecard) quarry.Score { return c.PRM }),
		Tool:   measure(eps, func(c quarry.Scorecard) quarry.Score { return c.Tool }),
		Format: measure(eps, func(c quarry.Scorecard) quarry.Score { return c.Format }),
	}
}

func (c components) rows() []row {
	return []row{{"success (orm)", c.ORM}, {"path entities seen (prm)", c.PRM}, {"tool, at most 0.1", c.Tool}, {"format, at most 0.1", c.Format}}
}

// unplayed are the episodes in which the policy had no chance.
type unplayed []loop.Unplayed

const unplayedShown = 5 // of the text; the JSON document has them all

// findUnplayed adds the line of each question in its file.
func findUnplayed(questions string, all []loop.Unplayed) unplayed {
	if len(all) == 0 {
		return unplayed{}
	}
	lines := map[string]int{}
	f, err := os.Open(questions)
	if err != nil { // it was read before: without it the ids must do
		return all
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; err == nil; n++ {
		var text []byte
		var q struct {
			ID string `json:"id"`
		}
		if text, err = r.ReadBytes('\n'); json.Unmarshal(text, &q) == nil {
			lines[q.ID] = n
		}
	}
	for i := range all {
		all[i].Line = lines[all[i].Question]
	}
	return all
}

// rows count the reasons and name the first episodes of each.
func (u unplayed) rows() []row {
	counts := map[string]int{}
	for _, x := range u {
		counts[x.Reason]++
	}
	var rows []row
	for _, c := range reasons("", counts) {
		rows = append(rows, row{"without a chance: " + c.name, c.value})
		shown := 0
		for _, x := range u {
			if x.Reason != c.name {
				continue
			}
			if shown++; shown > unplayedShown {
				rows = append(rows, row{"  ", fmt.Sprintf("and %d more: -o json lists them", counts[c.name]-unplayedShown)})
				break
			}
			where := x.Episode
			if x.Line > 0 {
				where = fmt.Sprintf("%s, line %d of the questions", x.Episode, x.Line)
			}
			rows = append(rows, row{"  ", where + ": " + x.Message})
		}
	}
	return rows
}
