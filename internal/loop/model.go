package loop

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/sglang"
)

// Model is what an engine says of the model it serves, as far as pushing weights does not change it. The path and the
// version of its weights are left out: every stage pushes its own, which stand in the digests of the stage's inputs.
// So the same engine at another address, or the embedded one, gives the same stage keys, and another model others.
type Model struct {
	Type          string   `json:"type"`          // "quarry-pocket" is the embedded engine
	Architectures []string `json:"architectures"` // the embedded engine's feature set
	Tokenizer     string   `json:"tokenizer"`
}

const pocketType = "quarry-pocket"

// ID names the model in the rows of a batch.
func (m Model) ID() string {
	return strings.TrimSpace(strings.Join(m.Architectures, " ") + " " + m.Tokenizer)
}

// Engine names the program that serves it: the embedded one, or another that speaks SGLang's protocol.
func (m Model) Engine() string {
	if m.Type == pocketType {
		return pocketType
	}
	return "sglang"
}

// Served asks the endpoint, or the embedded engine, what it serves.
func (e *Env) Served(ctx context.Context) (Model, error) {
	if e.Endpoint == "" {
		eng, err := e.StartEngine(ctx, "", 0)
		if err != nil {
			return Model{}, err
		}
		return eng.Model, eng.Close()
	}
	c := sglang.New(e.Endpoint, sglang.Options{MaxConns: 1})
	defer c.Close()
	return modelOf(ctx, c)
}

func modelOf(ctx context.Context, c *sglang.Client) (Model, error) {
	info, err := c.ModelInfo(ctx)
	if err != nil {
		return Model{}, err
	}
	m := Model{Type: info.ModelType, Architectures: info.Architectures, Tokenizer: info.TokenizerPath}
	if m.ID() == "" {
		return Model{}, &quarry.Error{Op: "engine /model_info", Kind: quarry.KindInvalid, Msg: "it names neither architectures nor tokenizer_path",
			Hint: "docs/formats/sglang-wire.md lists what an engine must answer"}
	}
	return m, nil
}

// engine takes a connected client as the engine of this environment, unless it serves another model than the stages of
// the run are keyed by.
func (e *Env) engine(ctx context.Context, c *sglang.Client, stop func() error) (*Engine, error) {
	eng := &Engine{Client: c, close: stop}
	var err error
	if eng.Model, err = modelOf(ctx, c); err == nil && e.Model != nil && !reflect.DeepEqual(*e.Model, eng.Model) {
		err = &quarry.Error{Op: "engine", Kind: quarry.KindConflict, Subject: e.Endpoint, Msg: fmt.Sprintf("it serves %s, and served %s when the run began", eng.Model.ID(), e.Model.ID()),
			Hint: "run the same command again: stages played by another model are run anew"}
	}
	if err != nil {
		_ = eng.Close()
		return nil, err
	}
	return eng, nil
}
