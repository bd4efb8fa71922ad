// Package pivot finds the turn at which a failed episode went wrong and makes a continuation task from there: the exact
// tokens of the parent up to that turn, then a hint that gives a direction and nothing else. Pure: no I/O, no clock.
//
// Source: Apodex 1.1 paper, PIVOT-RL (four classes; its detector is undisclosed, the rules here are quarry's).
package pivot
