package cli

import (
	"fmt"

	"github.com/quarry-rl/quarry"
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
		return fmt.Sprintf("not scored %v", map[string]int(m.Unscored))
	}
	s := fmt.Sprintf("%.3f", *m.Mean)
	if n := total(m.Unscored); n > 0 {
		s += fmt.Sprintf(" over %d; not scored %v", m.Scored, map[string]int(m.Unscored))
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
	return []row{{"success (orm)", c.ORM}, {"prm", c.PRM}, {"tool", c.Tool}, {"format", c.Format}}
}
