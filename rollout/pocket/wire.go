package pocket

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

// generateRequest is the body of /generate as far as this engine reads it.
type generateRequest struct {
	rid         string
	ids         []int32
	logprobs    bool
	scoreFrom   int // logprob_start_len, -1 when unset
	echoPrompt  bool
	maxNew      int
	temperature float64
	seed        uint64
	stopIDs     []int32
	showSpecial bool // text shows the closing <|im_end|>
}

// badTypeError is a body of the wrong shape.
type badTypeError struct{ msg string }

func (e *badTypeError) Error() string { return e.msg }

// unknownFieldError is a key that sampling_params does not have.
type unknownFieldError struct{ key string }

func (e *unknownFieldError) Error() string {
	return fmt.Sprintf("unknown field %q in sampling_params", e.key)
}

func badType(key, want string, got []byte) error {
	return &badTypeError{fmt.Sprintf("%s: expected %s, got %.60s", key, want, got)}
}

// neutralNumbers are sampling parameters this engine takes at one value only: it samples from the policy itself.
var neutralNumbers = map[string]float64{
	"top_p": 1, "min_p": 0, "frequency_penalty": 0, "presence_penalty": 0, "repetition_penalty": 1, "n": 1, "min_new_tokens": 0,
}

func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength <= 0 || r.ContentLength > maxBody {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// parseGenerate reads a /generate body. Unknown top-level keys are ignored, as SGLang does; a null is the default.
func parseGenerate(body []byte) (*generateRequest, error) {
	req := &generateRequest{scoreFrom: -1, maxNew: 128, temperature: 1}
	seeded, hideSpecial, trim := false, true, true
	params := func(key string, v []byte) error {
		var err error
		switch key {
		case "max_new_tokens":
			req.maxNew, err = wholeNumber(key, v, 0, math.MaxInt32)
		case "temperature":
			if err = decode(key, "a number", v, &req.temperature); err == nil && req.temperature < 0 {
				err = fmt.Errorf("temperature must be non-negative, got %v", req.temperature)
			}
		case "sampling_seed":
			var seed int64
			err = decode(key, "an integer", v, &seed)
			req.seed, seeded = uint64(seed), true
		case "stop_token_ids":
			req.stopIDs, err = parseIDs(key, v)
		case "skip_special_tokens":
			err = decode(key, "a boolean", v, &hideSpecial)
		case "no_stop_trim":
			var keep bool
			err = decode(key, "a boolean", v, &keep)
			trim = !keep
		case "top_k":
			var k int
			if err = decode(key, "an integer", v, &k); err == nil && k != -1 && k < vocabSize {
				err = fmt.Errorf("top_k %d: this engine samples from the whole policy, send -1", k)
			}
		case "stop", "stop_regex", "json_schema", "regex", "ebnf", "structural_tag", "logit_bias", "ignore_eos":
			if s := string(v); s != `""` && s != "[]" && s != "{}" && s != "false" {
				err = fmt.Errorf("%s: not supported by this engine, leave it out", key)
			}
		case "spaces_between_special_tokens", "stream_interval", "custom_params":
		default:
			want, ok := neutralNumbers[key]
			if !ok {
				return &unknownFieldError{key}
			}
			var x float64
			if err = decode(key, "a number", v, &x); err == nil && x != want {
				err = fmt.Errorf("%s %v: this engine samples from the whole policy one response at a time, send %v", key, x, want)
			}
		}
		return err
	}
	top := func(key string, v []byte) error {
		var on bool
		switch key {
		case "rid":
			return decode(key, "a string", v, &req.rid)
		case "input_ids":
			ids, err := parseIDs(key, v)
			req.ids = ids
			return err
		case "sampling_params":
			return eachField(v, key, params)
		case "return_logprob":
			return decode(key, "a boolean", v, &req.logprobs)
		case "logprob_start_len":
			n, err := wholeNumber(key, v, -1, math.MaxInt32)
			req.scoreFrom = n
			return err
		case "return_prompt_token_ids":
			return decode(key, "a boolean", v, &req.echoPrompt)
		case "stream":
			if err := decode(key, "a boolean", v, &on); err != nil || !on {
				return err
			}
			return errors.New("stream: this engine does not stream, send false")
		case "text", "input_embeds", "image_data", "video_data", "audio_data", "lora_path", "session_params", "custom_logit_processor":
			return fmt.Errorf("%s: this engine takes input_ids only", key)
		}
		return nil
	}
	if err := eachField(body, "the body", top); err != nil {
		return nil, err
	}
	if len(req.ids) == 0 {
		return nil, errors.New("input_ids cannot be empty")
	}
	if req.scoreFrom >= len(req.ids) {
		return nil, fmt.Errorf("logprob_start_len (%d) is not before the end of the prompt (%d ids)", req.scoreFrom, len(req.ids))
	}
	if !seeded {
		req.seed = randomSeed()
	}
	req.showSpecial = !hideSpecial && !trim
	return req, nil
}

func decode(key, want string, v []byte, into any) error {
	if json.Unmarshal(v, into) != nil {
		return badType(key, want, v)
	}
	return nil
}

func wholeNumber(key string, v []byte, lo, hi int) (int, error) {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return 0, badType(key, "an integer", v)
	}
	if n < lo || n > hi {
		return 0, fmt.Errorf("%s must be in [%d, %d], got %d", key, lo, hi, n)
	}
	return n, nil
}

// parseIDs reads an array of token ids without reflection: contexts are thousands of ids long.
func parseIDs(key string, v []byte) ([]int32, error) {
	const want = "a list of integers"
	if len(v) < 2 || v[0] != '[' {
		return nil, badType(key, want, v)
	}
	ids := make([]int32, 0, len(v)/4+1)
	i := skipSpace(v, 1)
	if i == len(v)-1 && v[i] == ']' {
		return ids, nil
	}
	for {
		start, n := i, int32(0)
		for ; i < len(v) && v[i] >= '0' && v[i] <= '9' && i-start < 9; i++ {
			n = 10*n + int32(v[i]-'0')
		}
		if i == start || v[start] == '0' && i-start > 1 {
			if i < len(v) && v[i] == '-' {
				return nil, fmt.Errorf("%s[%d] is negative: ids are in [0, %d)", key, len(ids), vocabSize)
			}
			return nil, badType(fmt.Sprintf("%s[%d]", key, len(ids)), "an integer", v[start:])
		}
		if n >= vocabSize {
			return nil, fmt.Errorf("%s[%d] is %d: ids are in [0, %d)", key, len(ids), n, vocabSize)
		}
		ids = append(ids, n)
		i = skipSpace(v, i)
		switch {
		case i < len(v) && v[i] == ',':
			i = skipSpace(v, i+1)
		case i == len(v)-1 && v[i] == ']':
			return ids, nil
		default:
			return nil, badType(fmt.Sprintf("%s[%d]", key, len(ids)-1), want, v[start:])
		}
	}
}

// eachField calls f with every key of a JSON object and its value's text, nulls left out. Values are checked by f.
func eachField(b []byte, what string, f func(key string, value []byte) error) error {
	bad := func() error { return &badTypeError{"JSON decode error: " + what + " is not a JSON object"} }
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return bad()
	}
	i = skipSpace(b, i+1)
	for first := true; ; first = false {
		if first && i < len(b) && b[i] == '}' {
			break
		}
		if i >= len(b) || b[i] != '"' {
			return bad()
		}
		end := valueEnd(b, i)
		var key string
		if json.Unmarshal(b[i:end], &key) != nil {
			return bad()
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return bad()
		}
		i = skipSpace(b, i+1)
		end = valueEnd(b, i)
		if end == i {
			return bad()
		}
		value := b[i:end]
		if key != "input_ids" && !json.Valid(value) { // ids are checked as they are read
			return bad()
		}
		if string(value) != "null" {
			if err := f(key, value); err != nil {
				return err
			}
		}
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i >= len(b) || b[i] != '}' {
			return bad()
		}
		break
	}
	if skipSpace(b, i+1) != len(b) {
		return bad()
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the index after the JSON value that starts at i; for text that is no JSON any index in [i,len(b)].
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(b))
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}

// appendJSON writes the response. By hand, because scoring and rollouts send little else than numbers.
func (a *answer) appendJSON(b []byte, req *generateRequest) []byte {
	b = append(b, `{"text":`...)
	b = appendString(b, a.text(req.showSpecial))
	b = append(b, `,"output_ids":`...)
	b = appendIDs(b, a.ids)
	if req.echoPrompt {
		b = append(b, `,"prompt_token_ids":`...)
		b = appendIDs(b, a.prompt)
	}
	b = append(b, `,"meta_info":{"id":`...)
	b = appendString(b, a.rid)
	b = append(b, `,"finish_reason":`...)
	switch a.finish.kind {
	case "stop":
		b = fmt.Appendf(b, `{"type":"stop","matched":%d}`, a.finish.matched)
	case "length":
		b = fmt.Appendf(b, `{"type":"length","length":%d}`, len(a.ids))
	default:
		b = append(b, `{"type":"abort","message":"Aborted","status_code":null,"err_type":null}`...)
	}
	b = fmt.Appendf(b, `,"prompt_tokens":%d,"completion_tokens":%d,"cached_tokens":%d,"reasoning_tokens":0,"num_retractions":%d,"dp_rank":0,"e2e_latency":%.6f,"response_sent_to_client_ts":%.6f,"weight_version":`,
		len(a.prompt), len(a.ids), a.cached, a.retractions, a.latency.Seconds(), float64(time.Now().UnixMicro())/1e6)
	b = appendString(b, a.version)
	b = append(b, `,"weight_versions":[`...)
	for i, s := range a.spans {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"version":`...)
		b = appendString(b, s.version)
		b = fmt.Appendf(b, `,"start":%d,"end":%d}`, s.start, s.end)
	}
	b = append(b, ']')
	if req.logprobs {
		b = append(b, `,"input_token_logprobs":[`...)
		if a.scoredFrom >= 0 { // the entry at logprob_start_len has no log-probability
			b = fmt.Appendf(b, "[null,%d,null]", a.prompt[a.scoredFrom])
			b = appendLogprobs(b, a.scored, a.prompt[a.scoredFrom+1:], true)
		}
		b = append(b, `],"output_token_logprobs":[`...)
		b = appendLogprobs(b, a.logprobs, a.ids, false)
		b = fmt.Appendf(b, `],"output_token_logprobs_length":%d`, len(a.ids))
	}
	return append(b, "}}"...)
}

func (a *answer) text(special bool) string {
	out := make([]byte, 0, len(a.ids)+len("<|im_end|>"))
	for _, id := range a.ids {
		if id < 256 {
			out = append(out, byte(id))
		} else if special {
			out = append(out, "<|im_end|>"...)
		}
	}
	return string(out)
}

func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

func appendLogprobs(b []byte, logprobs []float64, ids []int32, more bool) []byte {
	for i, lp := range logprobs {
		if more || i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendFloat(b, lp, 'g', -1, 64)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(ids[i]), 10)
		b = append(b, ",null]"...)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string always marshals
	return append(b, q...)
}
