// Package agent runs one episode: the ReAct loop that lets a policy call tools until it answers or its budget is
// spent, with every token recorded as it was sent and sampled.
package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/sglang"
	"github.com/quarry-rl/quarry/rollout/tokens"
	"github.com/quarry-rl/quarry/rollout/world"
)

// Engine samples one turn. rollout/sglang's client is one.
type Engine interface {
	Generate(ctx context.Context, req sglang.GenerateRequest) (*sglang.GenerateResult, error)
}

// Params say which attempt an episode is.
type Params struct {
	EpisodeID    string
	GroupID      string
	Sample       int     // index within the group
	Seed         uint64  // of the episode; each turn's seed is derived from it
	Temperature  float64 // >= 0
	ContextLimit int     // tokens of prompt and output together that the engine takes; > 0
}

// Run makes one attempt at task in the session's world, which must be fresh. The episode ends with an answer, when the
// turns are spent, when a turn or the context has no room left, or when a tool's provider fails (Failure infra, End
// tool_outage: it must not be judged). A malformed turn is answered by an error text and costs a call, as an unknown
// tool does. An observation that no turn follows stays in the turn's event and out of the thread.
//
// Budget.Turns and Budget.ToolCalls are those of the whole task: for a continuation, the turns in the prefix and
// CallsSpent count.
//
// Errors: KindInvalid for a task, session or parameter that cannot be run, or a weight version that is not a number;
// KindCanceled when ctx ended; KindUnavailable for an aborted or failed generation (no attempt: run it again);
// whatever else the engine gave, such as KindUnscorable. On a request that the engine refuses (sglang.Refused), and on
// KindCorrupt, a record that cannot be proven exact, the episode up to that point is returned too, with Failure infra:
// nothing may train on it.
func Run(ctx context.Context, eng Engine, sess *world.Session, task quarry.Task, p Params) (*quarry.Episode, error) {
	l, err := start(eng, sess, task, p)
	if err != nil {
		return nil, wrap(p, -1, err)
	}
	for l.ep.End == "" {
		if err := l.turn(ctx); err != nil {
			if quarry.KindOf(err) != quarry.KindCorrupt && !sglang.Refused(err) {
				return nil, wrap(p, l.turns, err)
			}
			l.withdraw()
			l.end(quarry.EndLLMError, quarry.FailInfra, err.Error())
			return l.episode(), wrap(p, l.turns, err)
		}
	}
	return l.episode(), nil
}

// loop is the state of one episode. turns counts the assistant turns of the conversation, a prefix's included.
type loop struct {
	eng   Engine
	sess  *world.Session
	task  quarry.Task
	p     Params
	rec   *tokens.Recorder
	ep    *quarry.Episode
	turns int
}

func start(eng Engine, sess *world.Session, task quarry.Task, p Params) (*loop, error) {
	if err := check(sess, task, p); err != nil {
		return nil, err
	}
	l := &loop{eng: eng, sess: sess, task: task, p: p}
	l.ep = &quarry.Episode{
		ID: p.EpisodeID, TaskID: task.ID, GroupID: p.GroupID, QuestionID: task.QuestionID, Kind: task.Kind,
		Sample: p.Sample, Seed: p.Seed, Temperature: p.Temperature, Tools: task.Tools,
	}
	var prompt []int32
	if task.Kind == quarry.TaskPivot {
		msgs, err := tokens.ParseConversation(task.Prefix, task.Tools)
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			if m.Role == tokens.RoleAssistant {
				l.turns++
			}
		}
		prompt, l.ep.Messages = task.Prefix, msgs
		l.ep.ParentEpisode, l.ep.PivotTurn = task.ParentEpisode, task.PivotTurn
		l.ep.HintStart, l.ep.HintLen = task.HintStart, task.HintLen
	} else {
		prompt, l.ep.Messages = tokens.RenderPrompt(task.Messages, task.Tools), slices.Clone(task.Messages)
	}
	if l.turns >= task.Budget.Turns {
		return nil, invalid(fmt.Sprintf("the prefix holds %d turns, the budget allows %d", l.turns, task.Budget.Turns),
			"raise budget.turns: it counts the turns of the whole conversation")
	}
	var err error
	l.rec, err = tokens.NewRecorder(prompt)
	if len(prompt) >= p.ContextLimit {
		l.end(quarry.EndContextOverflow, quarry.FailPolicy, fmt.Sprintf("the prompt has %d tokens, the context limit is %d", len(prompt), p.ContextLimit))
	}
	return l, err
}

func check(sess *world.Session, task quarry.Task, p Params) error {
	b := task.Budget
	switch {
	case b.Turns <= 0 || b.NewTokens <= 0 || b.ToolCalls < 0:
		return invalid(fmt.Sprintf("budget of %d turns, %d tool calls and %d new tokens", b.Turns, b.ToolCalls, b.NewTokens),
			"give at least 1 turn and 1 new token per turn")
	case p.ContextLimit <= 0:
		return invalid(fmt.Sprintf("context limit %d", p.ContextLimit), "give the number of tokens the engine's context holds")
	case !(p.Temperature >= 0):
		return invalid(fmt.Sprintf("temperature %v", p.Temperature), "give a number >= 0")
	case sess.Left() != max(0, b.ToolCalls-task.CallsSpent):
		return invalid(fmt.Sprintf("the session has %d calls left, the task %d", sess.Left(), max(0, b.ToolCalls-task.CallsSpent)),
			"make a new session for each attempt")
	case task.Kind != quarry.TaskFull && task.Kind != quarry.TaskPivot:
		return invalid(fmt.Sprintf("task kind %q", task.Kind), "give full or pivot")
	case task.Kind == quarry.TaskPivot && (task.HintStart < 0 || task.HintLen < 0 || task.HintStart > len(task.Prefix)-task.HintLen):
		return invalid(fmt.Sprintf("hint [%d,%d) in a prefix of %d tokens", task.HintStart, task.HintStart+task.HintLen, len(task.Prefix)),
			"build the continuation task again")
	case task.Kind == quarry.TaskPivot && !tokens.EndsOpen(task.Prefix):
		return invalid("the prefix does not end where an assistant turn begins", "build the continuation task again")
	}
	return nil
}

// turn makes one model call and executes what it asks for.
func (l *loop) turn(ctx context.Context) error {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	room := l.p.ContextLimit - l.rec.Len()
	seed := turnSeed(l.p.Seed, l.turns)
	res, err := l.eng.Generate(ctx, sglang.GenerateRequest{
		RID: sglang.NewRID(), InputIDs: l.rec.Send(), MaxNewTokens: min(l.task.Budget.NewTokens, room),
		Temperature: l.p.Temperature, Seed: &seed, StopTokenIDs: []int32{tokens.ImEnd},
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return canceled(ctx)
	case sglang.TooLong(err):
		l.withdraw()
		l.end(quarry.EndContextOverflow, quarry.FailPolicy, err.Error())
		return nil
	case err != nil:
		return err
	case res.Finish.Type == tokens.FinishAbort:
		return &quarry.Error{Op: "generate", Kind: quarry.KindUnavailable, Msg: "the generation was aborted: " + res.Finish.Message,
			Hint: "run the attempt again"}
	}
	spans, err := versionSpans(res.Spans)
	if err != nil {
		return err
	}
	text, control := turnText(res.OutputIDs)
	parsed, perr := tokens.ParseAssistant(text)
	if control {
		perr = errors.New("a special token inside the turn")
	}
	finish := res.Finish.Type
	if n := len(res.OutputIDs); finish == tokens.FinishLength && n > 0 && res.OutputIDs[n-1] == tokens.ImEnd {
		finish = tokens.FinishStop // SGLang looks at the length first; the turn is whole
	}
	cut := finish == tokens.FinishLength
	if cut {
		perr = errors.New("the turn was cut at its token budget")
	}
	known := perr == nil && (parsed.HasAnswer || l.sess.Knows(parsed.Calls[0].Name))
	if err := l.rec.Turn(tokens.Sampled{
		IDs: res.OutputIDs, Logprobs: res.Logprobs, Spans: spans, Finish: finish,
		PromptTokens: res.PromptTokens, FormatOK: known,
	}); err != nil {
		return err
	}
	msg := quarry.Message{Role: tokens.RoleAssistant, Content: text}
	var call quarry.ToolCall
	if perr == nil {
		if !parsed.HasAnswer {
			parsed.Calls[0].ID = tokens.CallID(l.turns)
			call = parsed.Calls[0]
		}
		msg = parsed.Message()
	}
	l.ep.Messages = append(l.ep.Messages, msg)
	l.turns++
	switch {
	case cut && room <= l.task.Budget.NewTokens:
		l.end(quarry.EndContextOverflow, quarry.FailPolicy, fmt.Sprintf("a turn reached the context limit of %d tokens", l.p.ContextLimit))
		return nil
	case cut:
		l.end(quarry.EndTokenBudget, quarry.FailPolicy, fmt.Sprintf("a turn reached its budget of %d tokens", l.task.Budget.NewTokens))
		return nil
	case perr == nil && parsed.HasAnswer:
		l.ep.Answer, l.ep.Answered = parsed.Answer, true
		l.end(quarry.EndFinalAnswer, quarry.FailNone, "")
		return nil
	case perr != nil:
		return l.observe(ctx, l.sess.Malformed(reason(perr)), len(msg.ToolCalls) > 0)
	}
	return l.observe(ctx, l.sess.Call(ctx, call), len(msg.ToolCalls) > 0)
}

// observe records an event and, when a turn may follow, shows it to the policy. linked says whether the assistant
// message carries the call, so that the tool message may name it.
func (l *loop) observe(ctx context.Context, ev quarry.ToolEvent, linked bool) error {
	if ctx.Err() != nil {
		return canceled(ctx) // the tool may have failed for that alone
	}
	l.rec.Event(ev)
	bridge := tokens.AfterTool(ev.Output)
	switch {
	case ev.Status == quarry.ToolInfra:
		l.end(quarry.EndToolOutage, quarry.FailInfra, ev.Output)
		return nil
	case l.turns >= l.task.Budget.Turns:
		l.end(quarry.EndMaxTurns, quarry.FailPolicy, fmt.Sprintf("no answer within %d turns", l.task.Budget.Turns))
		return nil
	case l.rec.Len()+len(bridge) >= l.p.ContextLimit:
		l.end(quarry.EndContextOverflow, quarry.FailPolicy, fmt.Sprintf("an observation did not fit the context limit of %d tokens", l.p.ContextLimit))
		return nil
	}
	msg := quarry.Message{Role: tokens.RoleTool, Content: ev.Output}
	if linked {
		msg.ToolCallID, msg.Name = ev.CallID, ev.Name
	}
	l.ep.Messages = append(l.ep.Messages, msg)
	return l.rec.Context(bridge)
}

// withdraw takes back the observation that the turn under way would have answered.
func (l *loop) withdraw() {
	l.rec.Withdraw()
	if n := len(l.ep.Messages); len(l.rec.Thread().Turns) > 0 && l.ep.Messages[n-1].Role == tokens.RoleTool {
		l.ep.Messages = l.ep.Messages[:n-1]
	}
}

func (l *loop) end(why quarry.Termination, class quarry.FailureClass, msg string) {
	l.ep.End, l.ep.Failure, l.ep.FailureMsg = why, class, msg
}

func (l *loop) episode() *quarry.Episode {
	l.ep.Thread = l.rec.Thread()
	return l.ep
}

// turnText is what a turn says, without the closing <|im_end|>, and whether a special token stands inside it.
func turnText(ids []int32) (text string, control bool) {
	if n := len(ids); n > 0 && ids[n-1] == tokens.ImEnd {
		ids = ids[:n-1]
	}
	control = slices.ContainsFunc(ids, func(id int32) bool { return id >= tokens.EndOfText })
	return tokens.Decode(ids), control
}

// turnSeed derives the seed of one turn. It fits 53 bits, so that every JSON reader keeps it exact.
func turnSeed(seed uint64, turn int) int64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(turn))
	h.Write(b[:])
	x := h.Sum64()
	x ^= x >> 32 // FNV mixes its low bits best
	x *= 0xd6e8feb86659fd93
	return int64((x ^ x>>32) >> 11)
}

// versionSpans turns the wire's version strings into numbers; "default" is what a server calls weights it was started
// with: version 0.
func versionSpans(spans []sglang.VersionSpan) ([]tokens.Span, error) {
	out := make([]tokens.Span, len(spans))
	for i, s := range spans {
		v := int64(0)
		if s.Version != "default" {
			var err error
			if v, err = strconv.ParseInt(s.Version, 10, 32); err != nil || v < 0 {
				return nil, invalid(fmt.Sprintf("weight version %q is not a number", s.Version),
					"give weight_version as a decimal number when pushing weights to the engine")
			}
		}
		out[i] = tokens.Span{Version: int32(v), Start: s.Start, End: s.End}
	}
	return out, nil
}

// reason is what the model is told about a malformed turn.
func reason(err error) string {
	var e *quarry.Error
	if errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}

func invalid(msg, hint string) error {
	return &quarry.Error{Kind: quarry.KindInvalid, Msg: msg, Hint: hint}
}

func canceled(ctx context.Context) error {
	return &quarry.Error{Kind: quarry.KindCanceled, Msg: "interrupted", Err: context.Cause(ctx)}
}

// wrap names the episode and the turn and keeps the kind.
func wrap(p Params, turn int, err error) error {
	subject := "episode " + p.EpisodeID
	if turn >= 0 {
		subject += fmt.Sprintf(" turn %d", turn)
	}
	return &quarry.Error{Op: "rollout", Kind: quarry.KindOf(err), Subject: subject, Err: err}
}
