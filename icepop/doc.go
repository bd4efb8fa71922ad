// Package icepop is the importance correction of the RL step in bypass mode: the ratio of the current policy to the one
// that rolled out, the two-sided IcePop mask on it, the diagnostics of both, and the per-token gradient scale of the
// REINFORCE objective. Arithmetic is float64, pure and single pass; masked positions are selected out, never multiplied
// by 0, so that a NaN there cannot spread.
//
// Sources: IcePop (token mask), Apodex 1.0 report (bypass ratio, bounds 0.5 and 5.0).
package icepop
