package agent

import (
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// CheckEpisode replays the record of an episode: its thread is consistent (tokens.CheckThread), its ids decode to the
// rendering of its messages, each turn is the assistant message it is stored as, each observation the policy saw is
// its event's output, and the hint lies in the prompt. A violation is a KindCorrupt error that names the episode.
func CheckEpisode(ep *quarry.Episode) error {
	if err := checkEpisode(ep); err != nil {
		return &quarry.Error{Op: "check", Kind: quarry.KindCorrupt, Subject: "episode " + ep.ID, Err: err}
	}
	return nil
}

func checkEpisode(ep *quarry.Episode) error {
	t := &ep.Thread
	if err := tokens.CheckThread(t); err != nil {
		return err
	}
	if ep.HintStart < 0 || ep.HintLen < 0 || ep.HintStart > t.PromptLen-ep.HintLen {
		return fmt.Errorf("hint [%d,%d) outside the prompt of %d tokens", ep.HintStart, ep.HintStart+ep.HintLen, t.PromptLen)
	}
	got := tokens.Decode(t.IDs)
	if n := len(t.Turns); n > 0 && t.Turns[n-1].Finish == tokens.FinishLength && t.IDs[len(t.IDs)-1] != tokens.ImEnd {
		got += tokens.Decode([]int32{tokens.ImEnd}) // cut short; its message renders closed
	}
	ids, _, _ := tokens.RenderConversation(ep.Messages, ep.Tools)
	if want := tokens.Decode(ids); got != want {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		return fmt.Errorf("the ids and the messages part at byte %d of %d and %d: %q, messages %q",
			i, len(got), len(want), window(got, i), window(want, i))
	}
	return checkTurns(ep)
}

// checkTurns compares the last len(Turns) assistant messages with the sampled ranges; those before are a prefix's.
func checkTurns(ep *quarry.Episode) error {
	turn := len(ep.Thread.Turns) - 1
	for i := len(ep.Messages) - 1; i >= 0 && turn >= 0; i-- {
		if ep.Messages[i].Role != tokens.RoleAssistant {
			continue
		}
		r := ep.Thread.Turns[turn]
		if text, _ := turnText(ep.Thread.IDs[r.Start:r.End]); text != tokens.RenderAssistant(ep.Messages[i]) {
			return fmt.Errorf("turn %d sampled %q, its message says %q", turn, text, tokens.RenderAssistant(ep.Messages[i]))
		}
		if i+1 < len(ep.Messages) {
			if len(r.Events) != 1 || ep.Messages[i+1].Content != r.Events[0].Output {
				return fmt.Errorf("turn %d: the message after it is not the output of its one event", turn)
			}
		}
		turn--
	}
	if turn >= 0 {
		return fmt.Errorf("%d turns have no assistant message", turn+1)
	}
	return nil
}

func window(s string, at int) string { return s[max(0, at-20):min(len(s), at+20)] }
