package pocket

import (
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// maskedTurns returns the maximal runs of mask 1 as half-open ranges. Each must begin where an assistant turn begins
// and stay within it, its <|im_end|> included: the tokens of a system, user or tool message are never trained on
// (KindInvalid). Special tokens are ids of their own, so no text can pretend to be a border.
func maskedTurns(ids []int32, mask []int8) ([][2]int, error) {
	refuse := func(pos int, what string) error {
		return &quarry.Error{Op: "check mask", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("token %d", pos), Msg: what,
			Hint: "mask 1 is for whole assistant turns only: build the batch again from recorded episodes"}
	}
	if len(mask) != len(ids) {
		return nil, refuse(0, fmt.Sprintf("%d mask values for %d tokens", len(mask), len(ids)))
	}
	var runs [][2]int
	open := tokens.AssistantOpen()
	end := -1 // while inside a run: where the run must end at the latest
	for i, m := range mask {
		switch {
		case m != 0 && m != 1:
			return nil, refuse(i, fmt.Sprintf("mask is %d, expected 0 or 1", m))
		case m == 0:
			end = -1
		case end < 0:
			if !slices.Equal(ids[max(0, i-len(open)):i], open) {
				return nil, refuse(i, "the mask covers a token that is not at the start of or within an assistant turn")
			}
			end = len(ids)
			if k := slices.Index(ids[i:], tokens.ImEnd); k >= 0 {
				end = i + k + 1
			}
			runs = append(runs, [2]int{i, i + 1})
		case i >= end:
			return nil, refuse(i, "the mask covers a token after the <|im_end|> of an assistant turn")
		default:
			runs[len(runs)-1][1] = i + 1
		}
	}
	return runs, nil
}
