// Package rewards turns an episode into a scorecard (tool, format, entity coverage, outcome), scorecards into totals
// and totals into advantages, and moves the coefficients through the phases of training. Everything here is pure:
// no I/O, no clock, no network. A component that could not be measured is unscored with a reason, never 0.
//
// Source: MindDR report, Search RL (rewards, total, schedule); what the report leaves open is settled here and said so.
package rewards
