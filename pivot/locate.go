package pivot

import (
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Finder finds the entities of PathEntities that a text names, as indices into that list. rewards.Matcher is one.
type Finder interface {
	Find(text string) []int
}

// PathEntities are the entities of a question's evidence path that the question does not name, in path order, the
// answer last.
func PathEntities(q *quarry.Question) []quarry.Named {
	known := map[string]quarry.Named{}
	order := make([]string, 0, len(q.Path))
	for _, h := range q.Path {
		order = append(order, h.To())
	}
	for _, e := range q.Entities {
		known[e.ID] = e
		if len(q.Path) == 0 {
			order = append(order, e.ID)
		}
	}
	var out []quarry.Named
	for _, id := range order {
		if e, ok := known[id]; ok && id != q.AnswerID {
			out = append(out, e)
			delete(known, id)
		}
	}
	answer := quarry.Named{ID: q.AnswerID, Name: q.Answer, Aliases: slices.Clone(q.Aliases)}
	if e, ok := known[q.AnswerID]; ok {
		answer.Aliases = append(append(answer.Aliases, e.Name), e.Aliases...)
	}
	return append(out, answer)
}

// Locate finds the first turn of a failed full episode that went wrong. find is compiled from PathEntities(q); start is
// the name of the entity the question starts from, "" if there is none to name. Per turn, the first rule that holds:
//
//	tool_misuse            the turn is malformed, or a call failed or was refused
//	unproductive_strategy  a query repeats an earlier one
//	thin_evidence          an answer before every path entity but the answer was seen in tool returns
//	unproductive_strategy  a search shows no path entity that is new, though some were still unseen
//	unrevised_assumption   a wrong answer with all of them seen
//
// It is false for an episode that is right, a continuation, or one that an infra, judge or timeout failure ended, and
// when no rule holds (the budget ran out while the search was getting on).
func Locate(ep *quarry.Episode, q *quarry.Question, start string, find Finder) (quarry.Pivot, bool) {
	if !failed(ep, q) {
		return quarry.Pivot{}, false
	}
	w := reading{ep: ep, entities: PathEntities(q), find: find, asked: map[string]int{}}
	w.seen = make([]bool, len(w.entities))
	for i := range ep.Thread.Turns {
		before := slices.Clone(w.seen)
		if class, evidence := w.turn(i); class != "" {
			h := hint{q: q, entities: w.entities, seen: before, find: find, start: start}
			return quarry.Pivot{EpisodeID: ep.ID, Turn: i, Class: class, Evidence: evidence, Hint: h.text(class)}, true
		}
	}
	return quarry.Pivot{}, false
}

// failed says whether an episode went wrong by its policy's doing.
func failed(ep *quarry.Episode, q *quarry.Question) bool {
	switch {
	case ep.Kind == quarry.TaskPivot || ep.HintLen > 0 || ep.QuestionID != q.ID:
		return false
	case ep.Failure != quarry.FailNone && ep.Failure != quarry.FailPolicy:
		return false
	case ep.End == quarry.EndCancelled || ep.End == quarry.EndToolOutage || ep.End == quarry.EndLLMError:
		return false
	}
	return !(ep.Answered && q.Accepts(ep.Answer))
}

// reading follows an episode turn by turn.
type reading struct {
	ep       *quarry.Episode
	entities []quarry.Named // the answer last
	find     Finder
	seen     []bool         // in tool returns so far
	asked    map[string]int // query -> turn that asked it first
}

// turn applies the rules to turn i and takes its returns into account; "" when no rule holds.
func (w *reading) turn(i int) (quarry.PivotClass, string) {
	turn := w.ep.Thread.Turns[i]
	for n, ev := range turn.Events {
		if ev.Status == quarry.ToolFailed || ev.Status == quarry.ToolRefused {
			return quarry.PivotTool, fmt.Sprintf("turn %d, %s: the call %s", i, event(n, ev), ev.Status)
		}
	}
	if !turn.FormatOK {
		return quarry.PivotTool, fmt.Sprintf("turn %d: neither one well-formed call of a known tool nor one answer", i)
	}
	for n, ev := range turn.Events {
		if ev.Status != quarry.ToolOK {
			continue // asking again after an outage is no repetition
		}
		key := ev.Name + "\x00" + ev.Query()
		if first, again := w.asked[key]; again {
			return quarry.PivotStrategy, fmt.Sprintf("turn %d, %s: %q repeats turn %d", i, event(n, ev), ev.Query(), first)
		}
		w.asked[key] = i
	}
	answers := w.ep.Answered && i == len(w.ep.Thread.Turns)-1
	way := w.entities[:len(w.entities)-1]
	if answers {
		for k := range way {
			if !w.seen[k] {
				return quarry.PivotEvidence, fmt.Sprintf("turn %d: an answer with %d of %d path entities before it not seen",
					i, count(w.seen[:len(way)], false), len(way))
			}
		}
	}
	for n, ev := range turn.Events {
		if ev.Status != quarry.ToolOK {
			continue
		}
		unseen := count(w.seen, false)
		for _, k := range w.find.Find(ev.Output) {
			w.seen[k] = true
		}
		if unseen > 0 && count(w.seen, false) == unseen {
			return quarry.PivotStrategy, fmt.Sprintf("turn %d, %s: %q shows none of the %d path entities not seen yet",
				i, event(n, ev), ev.Query(), unseen)
		}
	}
	if answers {
		return quarry.PivotAssumption, fmt.Sprintf("turn %d: a wrong answer after all path entities before it were seen", i)
	}
	return "", ""
}

func event(n int, ev quarry.ToolEvent) string {
	if ev.CallID == "" {
		return fmt.Sprintf("event %d", n)
	}
	return fmt.Sprintf("event %d (%s)", n, ev.CallID)
}

func count(bs []bool, want bool) int {
	n := 0
	for _, b := range bs {
		if b == want {
			n++
		}
	}
	return n
}
