package pocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// maxBody bounds a request: about two million ids, far beyond any context the enumerator reads.
const maxBody = 8 << 20

// Enumerator lists what the policy can write after a context. ids end where an assistant turn begins; guesses are the
// closed-book answers of the weights. Equal arguments must give equal choices.
type Enumerator interface {
	Enumerate(ids []int32, guesses []string) (*Choices, error)
}

// Options configure a Server.
type Options struct {
	Enumerator    Enumerator
	FeatureSet    FeatureSet
	WeightsPath   string       // weights to start with; "" for untrained ones
	CacheContexts int          // enumerated contexts kept; 0 keeps none
	Log           *slog.Logger // nil for silence
}

// Server is the embedded engine behind SGLang's native HTTP protocol; docs/formats/sglang-wire.md says what it answers.
// It holds no state but the weights, the pause gate and the requests in flight, and is safe for concurrent use.
type Server struct {
	enum     Enumerator
	set      FeatureSet
	contexts *contextCache
	log      *slog.Logger
	mux      *http.ServeMux
	waiting  atomic.Int64 // requests held before admission

	// A token is sampled under the read lock, so that nothing is sampled once a pause or an update has returned.
	mu     sync.RWMutex
	policy *policy
	gate   *gate // nil while generation is allowed
	pace   *pace // nil for as fast as it can
	live   map[string]*generation
}

// policy is one loaded weights file under the version label clients see.
type policy struct {
	*Weights
	version string
	path    string
}

// gate holds requests back until open is closed.
type gate struct {
	mode string
	open chan struct{}
}

// pace makes a response rest after each token, until it is set anew.
type pace struct {
	rest    time.Duration
	changed chan struct{}
}

// NewServer loads the weights and returns the engine. Errors are those of LoadWeights.
func NewServer(o Options) (*Server, error) {
	w := NewWeights(o.FeatureSet)
	if o.WeightsPath != "" {
		var err error
		if w, err = LoadWeights(o.WeightsPath, o.FeatureSet); err != nil {
			return nil, err
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		enum: o.Enumerator, set: o.FeatureSet, contexts: newContextCache(o.CacheContexts), log: o.Log,
		policy: &policy{Weights: w, version: strconv.Itoa(w.Version), path: o.WeightsPath},
		live:   map[string]*generation{},
		mux:    http.NewServeMux(),
	}
	post := func(path string, h http.HandlerFunc) { s.mux.HandleFunc("POST "+path, h) }
	get := func(path string, h http.HandlerFunc) { s.mux.HandleFunc("GET "+path, h) }
	post("/generate", s.handleGenerate)
	s.mux.HandleFunc("PUT /generate", s.handleGenerate)
	post("/abort_request", s.handleAbort)
	post("/pause_generation", s.handlePause)
	post("/continue_generation", s.handleContinue)
	post("/update_weights_from_disk", s.handleUpdate)
	post("/slow_down", s.handleSlowDown)
	post("/flush_cache", s.handleFlush)
	get("/flush_cache", s.handleFlush)
	get("/model_info", s.handleModelInfo)
	get("/get_model_info", s.handleModelInfo)
	get("/server_info", s.handleServerInfo)
	get("/get_server_info", s.handleServerInfo)
	get("/v1/loads", s.handleLoads)
	for _, path := range []string{"/health", "/health_generate", "/ping"} {
		get(path, func(http.ResponseWriter, *http.Request) {})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
	})
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// Listen serves on a loopback address ("127.0.0.1:0" or ":0" for a free port) until ctx ends or close is called, and
// returns the base URL. close drops open connections and waits for the listener to end. The protocol has no
// authentication, so an address beyond this machine is refused.
func (s *Server) Listen(ctx context.Context, addr string) (url string, closeServer func() error, err error) {
	fail := func(msg string, err error) error {
		return &quarry.Error{Op: "engine listen", Kind: quarry.KindInvalid, Subject: addr, Msg: msg, Err: err,
			Hint: "use a loopback address such as 127.0.0.1:0"}
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", nil, fail("not an address", err)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", nil, fail("the engine serves loopback addresses only", nil)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", nil, fail("cannot listen", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	end := sync.OnceValue(func() error {
		err := srv.Close()
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	})
	stop := context.AfterFunc(ctx, func() { _ = end() })
	return "http://" + l.Addr().String(), func() error { stop(); return end() }, nil
}

func (s *Server) handleAbort(w http.ResponseWriter, r *http.Request) {
	var req struct {
		RID      string `json:"rid"`
		AbortAll bool   `json:"abort_all"`
	}
	if !readJSON(w, r, &req) {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	// SGLang's API process drops rids that are not live, then its scheduler matches by prefix.
	_, known := s.live[req.RID]
	for rid, g := range s.live {
		if req.AbortAll || known && req.RID != "" && strings.HasPrefix(rid, req.RID) {
			g.stop()
		}
	}
}

func (s *Server) handlePause(w http.ResponseWriter, r *http.Request) {
	req := struct {
		Mode string `json:"mode"`
	}{Mode: "abort"}
	if !readJSON(w, r, &req) {
		return
	}
	if !slices.Contains([]string{"abort", "retract", "in_place"}, req.Mode) {
		typeError(w, fmt.Sprintf("mode %q: expected abort, retract or in_place", req.Mode))
		return
	}
	var stopped []*generation
	s.mu.Lock() // returns once no token is being sampled
	if s.gate == nil {
		s.gate = &gate{open: make(chan struct{})}
	} else {
		s.gate = &gate{open: s.gate.open}
	}
	s.gate.mode = req.Mode
	if req.Mode == "abort" {
		for _, g := range s.live {
			g.stop()
			stopped = append(stopped, g)
		}
	}
	s.mu.Unlock()
	for _, g := range stopped {
		select {
		case <-g.done:
		case <-r.Context().Done():
			return
		}
	}
	s.log.Debug("generation paused", "mode", req.Mode)
	writeJSON(w, http.StatusOK, map[string]any{"message": "Generation paused successfully.", "status": "ok"})
}

func (s *Server) handleContinue(w http.ResponseWriter, r *http.Request) {
	var ignored struct{}
	if !readJSON(w, r, &ignored) {
		return
	}
	s.mu.Lock()
	if s.gate != nil {
		close(s.gate.open)
		s.gate = nil
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"message": "Generation continued successfully.", "status": "ok"})
}

func (s *Server) handleUpdate(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ModelPath string  `json:"model_path"`
		Version   *string `json:"weight_version"`
		AbortAll  bool    `json:"abort_all_requests"`
	}
	if !readJSON(w, r, &req) {
		return
	}
	if req.ModelPath == "" {
		typeError(w, "model_path: field required")
		return
	}
	weights, err := LoadWeights(req.ModelPath, s.set)
	if err != nil {
		s.log.Warn("weights refused", "path", req.ModelPath, "err", err)
		writeJSON(w, http.StatusBadRequest, map[string]any{"success": false, "message": err.Error(), "num_paused_requests": 0})
		return
	}
	p := &policy{Weights: weights, version: strconv.Itoa(weights.Version), path: req.ModelPath}
	if req.Version != nil {
		p.version = *req.Version
	}
	paused := 0
	s.mu.Lock()
	if req.AbortAll {
		for _, g := range s.live {
			g.stop()
		}
	}
	if s.gate != nil {
		paused = len(s.live)
	}
	s.policy = p
	s.mu.Unlock()
	s.log.Info("weights updated", "version", p.version, "path", p.path)
	writeJSON(w, http.StatusOK, map[string]any{"success": true, "message": "Succeeded to update model weights.", "num_paused_requests": paused})
}

// handleSlowDown makes every response rest after each token, for tests and demonstrations of what happens in between.
func (s *Server) handleSlowDown(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Rest float64 `json:"forward_sleep_time"` // seconds, null or 0 to stop
	}
	if !readJSON(w, r, &req) {
		return
	}
	const most = 24 * time.Hour
	if req.Rest < 0 || req.Rest > most.Seconds() {
		typeError(w, fmt.Sprintf("forward_sleep_time %v: expected 0 to %v seconds", req.Rest, most.Seconds()))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pace != nil {
		close(s.pace.changed)
		s.pace = nil
	}
	if req.Rest > 0 {
		s.pace = &pace{rest: time.Duration(req.Rest * float64(time.Second)), changed: make(chan struct{})}
	}
}

func (s *Server) handleFlush(w http.ResponseWriter, _ *http.Request) {
	s.mu.RLock()
	busy := len(s.live)
	s.mu.RUnlock()
	if busy > 0 {
		http.Error(w, fmt.Sprintf("Cache not flushed: %d requests are running or waiting.", busy), http.StatusBadRequest)
		return
	}
	s.contexts.flush()
	_, _ = io.WriteString(w, "Cache flushed.\n")
}

func (s *Server) handleModelInfo(w http.ResponseWriter, _ *http.Request) {
	s.mu.RLock()
	p := s.policy
	s.mu.RUnlock()
	writeJSON(w, http.StatusOK, map[string]any{
		"model_path": p.path, "tokenizer_path": "byte/1", "is_generation": true, "preferred_sampling_params": nil,
		"weight_version": p.version, "has_image_understanding": false, "has_audio_understanding": false,
		"model_type": "quarry-pocket", "architectures": []string{s.set.Name},
	})
}

func (s *Server) handleServerInfo(w http.ResponseWriter, _ *http.Request) {
	s.mu.RLock()
	p := s.policy
	s.mu.RUnlock()
	writeJSON(w, http.StatusOK, map[string]any{
		"version": "quarry-pocket/1", "model_path": p.path, "weight_version": p.version, "feature_set": s.set.Name,
		"features": len(s.set.Names), "vocab_size": vocabSize, "incremental_streaming_output": false,
		"enable_deterministic_inference": true, "internal_states": []any{},
	})
}

func (s *Server) handleLoads(w http.ResponseWriter, _ *http.Request) {
	s.mu.RLock()
	running, waiting, tokens := len(s.live), int(s.waiting.Load()), int64(0)
	for _, g := range s.live {
		tokens += g.tokens.Load()
	}
	if s.gate != nil && s.gate.mode == "retract" {
		running, waiting = 0, waiting+running
	}
	s.mu.RUnlock()
	writeJSON(w, http.StatusOK, map[string]any{
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "version": "quarry-pocket/1",
		"loads": []any{map[string]any{
			"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": waiting, "num_used_tokens": tokens, "num_total_tokens": tokens,
		}},
	})
}

// readJSON decodes a control request; an empty body is an empty object. It answers a bad one itself and returns false.
func readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	body, err := io.ReadAll(r.Body)
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		typeError(w, err.Error())
	}
	return err == nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // messages name <|im_end|>
	_ = enc.Encode(v)        // the client is gone if this fails
}

// typeError is SGLang's answer to a body of the wrong shape: a flat object.
func typeError(w http.ResponseWriter, msg string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"object": "error", "message": msg, "type": "Bad Request", "param": nil, "code": 400})
}

// valueError is its answer to values it cannot serve.
func valueError(w http.ResponseWriter, msg string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": msg}})
}
