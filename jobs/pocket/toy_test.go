package pocket

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	engine "github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// The toy world: a question names a colour, a search shows two colours, the right answer is the colour of the question.
var colours = []string{"amber", "azure", "black", "blue", "brown"}

// toySet: search x step (2), answer x step (2), the answer stands in the question, in the last observation, is a guess,
// a malformed turn, and one weight per colour and action, so that no two candidates are alike.
var toySet = func() engine.FeatureSet {
	names := []string{"search[0]", "search[1]", "answer[0]", "answer[1]", "asked", "shown", "guess", "bad"}
	for _, c := range colours {
		names = append(names, "query="+c, "says="+c)
	}
	return engine.FeatureSet{Name: "toy/1", Names: names}
}()

// toy enumerates candidates from the text of the context.
type toy struct{}

func (toy) Enumerate(ids []int32, guesses []string) (*engine.Choices, error) {
	if !tokens.EndsOpen(ids) {
		return nil, &quarry.Error{Op: "toy", Kind: quarry.KindInvalid, Msg: "not at the start of an assistant turn"}
	}
	text := tokens.Decode(ids)
	_, question, _ := strings.Cut(text, "<|im_start|>user\n")
	question, _, _ = strings.Cut(question, "<|im_end|>")
	_, shown, _ := strings.Cut(text, "<tool_response>")
	step := uint16(min(strings.Count(text, "<tool_response>"), 1))
	var out []engine.Candidate
	for i, c := range colours {
		says := []uint16{2 + step, uint16(9 + 2*i)}
		if strings.Contains(question, c) {
			says = append(says, 4)
		}
		if strings.Contains(shown, c) {
			says = append(says, 5)
		}
		out = append(out,
			engine.Candidate{Text: []byte(tokens.RenderCall("search", "query", c)), Features: []uint16{step, uint16(8 + 2*i)}},
			engine.Candidate{Text: []byte(tokens.RenderAnswer(c)), Features: says})
	}
	for _, g := range guesses {
		out = append(out, engine.Candidate{Text: []byte(tokens.RenderAnswer(g)), Features: []uint16{2 + step, 6}})
	}
	out = append(out, engine.Candidate{Text: []byte("no idea"), Features: []uint16{7}})
	return engine.NewChoices(out), nil
}

var toyTools = []quarry.Tool{{Name: "search", Description: "finds", Parameters: json.RawMessage(`{"type":"object"}`)}}

func toyTask(n int) []quarry.Message {
	return []quarry.Message{{Role: "system", Content: "Answer."},
		{Role: "user", Content: fmt.Sprintf("Question %d: which is it, %s?", n, colours[n%len(colours)])}}
}

// world is what episodes are played in: the policy's candidates, the tasks, and what a search shows.
type world struct {
	enum    Enumerator
	task    func(n int) []quarry.Message
	observe func(rng *rand.Rand) string
	right   func(n int, answer string) bool
}

var toyWorld = world{toy{}, toyTask,
	func(rng *rand.Rand) string {
		return fmt.Sprintf("[1] %s\n[2] %s", colours[rng.IntN(len(colours))], colours[rng.IntN(len(colours))])
	},
	func(n int, answer string) bool { return answer == colours[n%len(colours)] }}

// play samples one episode of at most three turns; reward is 1 for the right answer.
func (v world) play(t testing.TB, w *engine.Weights, n, sample int, temperature float64, rng *rand.Rand) (ep *quarry.Episode, reward float64) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ep = &quarry.Episode{ID: fmt.Sprintf("e%04d-%d", n, sample), TaskID: fmt.Sprintf("t%04d", n), GroupID: fmt.Sprintf("g%04d", n),
		Kind: quarry.TaskFull, Sample: sample, Temperature: temperature, Messages: v.task(n), Tools: toyTools, End: quarry.EndMaxTurns}
	rec, err := tokens.NewRecorder(tokens.RenderPrompt(ep.Messages, toyTools))
	must(err)
	for range 3 {
		sent := rec.Send()
		choices, err := v.enum.Enumerate(sent, w.Guesses)
		must(err)
		tree := engine.NewTree(choices, w.W)
		s := tokens.Sampled{Finish: tokens.FinishStop, PromptTokens: len(sent)}
		for node := tree.Root(); !node.Done(); {
			var id int32
			var lp float64
			id, lp, node = tree.Next(node, temperature, rng.Float64())
			s.IDs, s.Logprobs = append(s.IDs, id), append(s.Logprobs, lp)
		}
		s.Spans = []tokens.Span{{Version: int32(w.Version), Start: 0, End: len(s.IDs)}}
		must(rec.Turn(s))
		text := tokens.Decode(s.IDs[:len(s.IDs)-1])
		p, perr := tokens.ParseAssistant(text)
		if perr != nil {
			ep.Messages = append(ep.Messages, quarry.Message{Role: "assistant", Content: text})
			break
		}
		ep.Messages = append(ep.Messages, p.Message())
		if p.HasAnswer {
			ep.Answer, ep.Answered, ep.End = p.Answer, true, quarry.EndFinalAnswer
			break
		}
		obs := v.observe(rng)
		ep.Messages = append(ep.Messages, quarry.Message{Role: "tool", Content: obs})
		must(rec.Context(tokens.AfterTool(obs)))
	}
	ep.Thread = rec.Thread()
	for i := len(ep.Thread.IDs) - 1; ep.Thread.Mask[i] == 0; i-- { // a last bridge that nothing was sampled after
		th := &ep.Thread
		th.IDs, th.Mask, th.Logprobs, th.Versions = th.IDs[:i], th.Mask[:i], th.Logprobs[:i], th.Versions[:i]
	}
	if v.right(n, ep.Answer) {
		reward = 1
	}
	ep.Scorecard = &quarry.Scorecard{ORM: quarry.ScoreOf(reward)}
	return ep, reward
}

// write makes a dataset of the rows and returns its directory.
func write[T datasets.Row](t testing.TB, rows []T) string {
	t.Helper()
	dir := t.TempDir()
	w, err := datasets.NewWriter[T](dir, "ds", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rows...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(datasets.Meta{}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "ds")
}

// save writes weights and returns their path.
func save(t testing.TB, w *engine.Weights) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weights.json")
	if _, err := w.Save(path, toySet); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t testing.TB, path string) *engine.Weights {
	t.Helper()
	w, err := engine.LoadWeights(path, toySet)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// random weights, so that no gradient is 0 by symmetry.
func random(seed uint64, scale float64) *engine.Weights {
	w := engine.NewWeights(toySet)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range w.W {
		w.W[i] = scale * rng.NormFloat64()
	}
	return w
}

// expertRows are n right conversations, every second with a search before the answer.
func expertRows(t testing.TB, n int) []datasets.S1 {
	t.Helper()
	var rows []datasets.S1
	for i := range n {
		c := colours[i%len(colours)]
		msgs := toyTask(i)
		if i%2 == 0 {
			msgs = append(msgs, quarry.Message{Role: "assistant", ToolCalls: []quarry.ToolCall{{ID: "call_1", Name: "search", Arguments: `{"query": "` + c + `"}`}}},
				quarry.Message{Role: "tool", ToolCallID: "call_1", Name: "search", Content: "[1] " + c})
		}
		msgs = append(msgs, quarry.Message{Role: "assistant", Content: tokens.RenderAnswer(c)})
		row, err := datasets.S1FromEpisode(&quarry.Episode{ID: fmt.Sprintf("x%03d", i), TaskID: "t", Messages: msgs, Tools: toyTools}, "toy")
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// pairRows are preference pairs from episodes sampled under w.
func pairRows(t testing.TB, w *engine.Weights, n int) []datasets.D1 {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	var rows []datasets.D1
	for i := 0; len(rows) < n; i++ {
		var good, bad *quarry.Episode
		for s := range 40 {
			ep, r := toyWorld.play(t, w, i, s, 1, rng)
			if r == 1 {
				good = ep
			} else {
				bad = ep
			}
		}
		if good == nil || bad == nil {
			continue
		}
		row, err := datasets.D1FromPair(quarry.Pair{ID: fmt.Sprintf("p%03d", i), TaskID: good.TaskID, Chosen: good, Rejected: bad})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func batchRows(t testing.TB, behave *engine.Weights, step, groups int, temperature, sign float64) ([]datasets.T1, float64) {
	t.Helper()
	return toyWorld.batch(t, behave, step, groups, temperature, sign)
}

// batch is groups of 8 episodes sampled under behave; advantages are reward minus group mean, times sign.
func (v world) batch(t testing.TB, behave *engine.Weights, step, groups int, temperature, sign float64) (rows []datasets.T1, success float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, uint64(step)))
	const size = 8
	for g := range groups {
		var eps [size]*quarry.Episode
		var rewards [size]float64
		mean := 0.0
		for s := range size {
			eps[s], rewards[s] = v.play(t, behave, step*groups+g, s, temperature, rng)
			mean += rewards[s] / size
		}
		for s, ep := range eps {
			row, err := datasets.T1FromEpisode(ep, datasets.T1Batch{BatchID: fmt.Sprint(step), GroupID: ep.GroupID, TrainerVersion: int32(step),
				Advantage: sign * (rewards[s] - mean), Reward: rewards[s], RewardScored: true, NEffective: size, LossWeight: 1, Alpha: 0.5, Beta: 5,
				ModelID: "toy", TokenizerSHA: tokens.VocabSHA, TemplateSHA: tokens.TemplateSHA, Engine: "toy"})
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		success += mean / float64(groups)
	}
	return rows, success
}

// slope is the central difference of f along coordinate i of w.
func slope(w []float64, i int, h float64, f func(w []float64) float64) float64 {
	at := func(d float64) float64 {
		v := append([]float64(nil), w...)
		v[i] += d
		return f(v)
	}
	return (at(h) - at(-h)) / (2 * h)
}

func trainer() *Trainer { return New(toy{}, toySet) }
