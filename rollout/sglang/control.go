package sglang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/quarry-rl/quarry"
)

// PauseMode says what a pause does to requests in flight.
type PauseMode string

// The modes. After an update of the weights under PauseInPlace a real server's tokens match no checkpoint, because old
// key-value caches are kept; use PauseRetract or PauseAbort around updates.
const (
	PauseAbort   PauseMode = "abort"    // in-flight requests end with finish type abort and what they have
	PauseRetract PauseMode = "retract"  // they wait without cache and go on exactly under the weights they then find
	PauseInPlace PauseMode = "in_place" // they wait with their cache
)

// ModelInfo is what a server says about its model.
type ModelInfo struct {
	ModelPath     string   `json:"model_path"`
	TokenizerPath string   `json:"tokenizer_path"` // of the start: updates of the weights do not change it
	WeightVersion string   `json:"weight_version"`
	ModelType     string   `json:"model_type"`
	Architectures []string `json:"architectures"`
}

// Load is what a server is busy with, over all its ranks.
type Load struct {
	Running int // requests being decoded
	Waiting int // requests queued or held by a pause
	Tokens  int // tokens held for them
}

// post sends a control request, all of which may be repeated safely.
func (c *Client) post(ctx context.Context, path string, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, &quarry.Error{Op: "engine " + path, Kind: quarry.KindInternal, Err: err}
	}
	return c.call(ctx, http.MethodPost, path, func(int) []byte { return b }, nil)
}

func abortBody(rid string) []byte {
	b, _ := json.Marshal(map[string]string{"rid": rid}) // a string always marshals
	return b
}

// Abort ends the request rid; its caller gets what was sampled so far. Unknown rids are no error. A server matches by
// prefix: rids of one length, as NewRID makes them, keep that harmless. A request that was retried has another rid.
func (c *Client) Abort(ctx context.Context, rid string) error {
	if rid == "" {
		return &quarry.Error{Op: "abort", Kind: quarry.KindInvalid, Msg: "an empty rid would abort nothing", Hint: "use AbortAll"}
	}
	_, err := c.call(ctx, http.MethodPost, "/abort_request", func(int) []byte { return abortBody(rid) }, nil)
	return err
}

// AbortAll ends every request the server has; later ones are not affected.
func (c *Client) AbortAll(ctx context.Context) error {
	_, err := c.post(ctx, "/abort_request", map[string]bool{"abort_all": true})
	return err
}

// Pause stops generation. New requests are held, silently, until Continue.
func (c *Client) Pause(ctx context.Context, mode PauseMode) error {
	_, err := c.post(ctx, "/pause_generation", map[string]PauseMode{"mode": mode})
	return err
}

// Continue ends a pause; without one it does nothing.
func (c *Client) Continue(ctx context.Context) error {
	_, err := c.post(ctx, "/continue_generation", map[string]any{})
	return err
}

// UpdateWeights makes the server load the weights at path, a path of the server's machine, under a version label:
// pause (retract), update with a cache flush, continue, then a look at /model_info. Requests in flight go on exactly
// under the new weights and their spans say where. Generation is continued whatever fails, even if ctx has ended.
// Errors: KindInvalid when the server refuses the weights (it keeps the old ones), KindConflict when it then reports
// another version, KindUnavailable.
func (c *Client) UpdateWeights(ctx context.Context, path, version string) error {
	err := c.Pause(ctx, PauseRetract)
	if err == nil {
		err = c.update(ctx, path, version)
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeLimit)
	defer cancel()
	if cerr := c.Continue(rctx); cerr != nil {
		err = errors.Join(err, cerr)
	}
	if err != nil {
		return err
	}
	info, err := c.ModelInfo(ctx)
	if err != nil {
		return err
	}
	if info.WeightVersion != version {
		return &quarry.Error{Op: "update weights", Kind: quarry.KindConflict, Subject: c.base,
			Msg:  fmt.Sprintf("the server reports weight version %q after an update to %q", info.WeightVersion, version),
			Hint: "one trainer at a time may update an engine"}
	}
	return nil
}

func (c *Client) update(ctx context.Context, path, version string) error {
	const route = "/update_weights_from_disk"
	data, err := c.post(ctx, route, map[string]any{"model_path": path, "weight_version": version, "flush_cache": true})
	const readable = "the engine must be able to read the file at this very path"
	if quarry.KindOf(err) == quarry.KindInvalid && quarry.HintOf(err) == "" {
		return &quarry.Error{Op: "update weights", Kind: quarry.KindInvalid, Subject: path, Err: err, Hint: readable}
	}
	if err != nil {
		return err
	}
	var reply struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}
	if err := c.decode(route, data, &reply); err != nil {
		return err
	}
	if !reply.Success {
		return &quarry.Error{Op: "update weights", Kind: quarry.KindInvalid, Subject: path, Msg: reply.Message,
			Hint: readable}
	}
	return nil
}

// ModelInfo asks what the server serves.
func (c *Client) ModelInfo(ctx context.Context) (ModelInfo, error) {
	var info ModelInfo
	data, err := c.call(ctx, http.MethodGet, "/model_info", nil, nil)
	if err != nil {
		return info, err
	}
	return info, c.decode("/model_info", data, &info)
}

// Health is nil when the server answers its health check. A busy or paused real server may take 20 seconds to say no.
func (c *Client) Health(ctx context.Context) error {
	_, _, err := c.once(ctx, http.MethodGet, "/health", nil)
	return err
}

// Loads asks how busy the server is.
func (c *Client) Loads(ctx context.Context) (Load, error) {
	const path = "/v1/loads?include=core"
	data, err := c.call(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return Load{}, err
	}
	var reply struct {
		Loads []struct {
			Running int `json:"num_running_reqs"`
			Waiting int `json:"num_waiting_reqs"`
			Tokens  int `json:"num_used_tokens"`
		} `json:"loads"`
	}
	if err := c.decode(path, data, &reply); err != nil {
		return Load{}, err
	}
	var sum Load
	for _, l := range reply.Loads {
		sum.Running += l.Running
		sum.Waiting += l.Waiting
		sum.Tokens += l.Tokens
	}
	return sum, nil
}
