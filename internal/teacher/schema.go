package teacher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// shape is the part of JSON Schema that structured output of public servers has in common.
type shape struct {
	Type       kinds             `json:"type"`
	Properties map[string]*shape `json:"properties"`
	Required   []string          `json:"required"`
	Additional *bool             `json:"additionalProperties"`
	Items      *shape            `json:"items"`
	Enum       []any             `json:"enum"`
	MaxItems   *int              `json:"maxItems"`
	MaxLength  *int              `json:"maxLength"`
	About      string            `json:"description"`
	Title      string            `json:"title"`
}

// kinds is one type or a list of them.
type kinds []string

// UnmarshalJSON accepts both forms.
func (k *kinds) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*k = kinds{one}
	} else if err := json.Unmarshal(b, (*[]string)(k)); err != nil {
		return err
	}
	for _, s := range *k {
		if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, s) {
			return fmt.Errorf("type %q", s)
		}
	}
	return nil
}

// newShape reads a schema. A keyword that is not checked is refused, so that nothing seems checked that is not.
func newShape(schema json.RawMessage) (*shape, error) {
	d := json.NewDecoder(bytes.NewReader(schema))
	d.DisallowUnknownFields()
	var s shape
	err := d.Decode(&s)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: "schema", Err: err,
			Hint: "use type, properties, required, additionalProperties, items, enum, maxItems, maxLength, title and description only"}
	}
	return &s, nil
}

// onlyJSON is the one JSON value of a text. Around it may stand white space, one code fence, and before it the thoughts of
// a reasoning model; anything else is an error.
func onlyJSON(text string) (string, error) {
	s := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(s, "<think>"); ok {
		if _, after, ok := strings.Cut(rest, "</think>"); ok {
			s = strings.TrimSpace(after)
		}
	}
	if rest, ok := strings.CutPrefix(s, "```"); ok {
		if body, ok := strings.CutSuffix(rest, "```"); ok {
			s = strings.TrimSpace(strings.TrimPrefix(body, "json"))
		}
	}
	switch {
	case s == "":
		return "", errors.New("an empty answer")
	case !utf8.ValidString(s):
		return "", errors.New("an answer that is not UTF-8")
	}
	d := json.NewDecoder(strings.NewReader(s))
	var stack []map[string]bool // keys of the open objects, nil for arrays
	key := false
	for {
		t, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("no JSON: %w", err)
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				stack, key = append(stack, map[string]bool{}), true
				continue
			case '[':
				stack, key = append(stack, nil), false
				continue
			}
			stack = stack[:len(stack)-1]
		case string:
			if key {
				keys := stack[len(stack)-1]
				if keys[t] {
					return "", fmt.Errorf("the key %q stands twice in an object", t)
				}
				keys[t], key = true, false
				continue
			}
		}
		if len(stack) == 0 {
			break
		}
		key = stack[len(stack)-1] != nil
	}
	if rest := strings.TrimSpace(s[d.InputOffset():]); rest != "" {
		return "", fmt.Errorf("expected one JSON value, found %q after it", cut(rest, 60))
	}
	return s, nil
}

// fits checks a JSON value.
func (s *shape) fits(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	return s.check("answer", v)
}

func (s *shape) check(at string, v any) error {
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(k string) bool { return is(v, k) }) {
		return fmt.Errorf("%s: expected %s", at, strings.Join(s.Type, " or "))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) && (e == nil) == (v == nil) }) {
		return fmt.Errorf("%s: expected one of %s", at, cut(fmt.Sprint(s.Enum), 120))
	}
	switch v := v.(type) {
	case string:
		if s.MaxLength != nil && utf8.RuneCountInString(v) > *s.MaxLength {
			return fmt.Errorf("%s: expected at most %d characters", at, *s.MaxLength)
		}
	case []any:
		if s.MaxItems != nil && len(v) > *s.MaxItems {
			return fmt.Errorf("%s: expected at most %d items, found %d", at, *s.MaxItems, len(v))
		}
		for i, x := range v {
			if s.Items != nil {
				if err := s.Items.check(fmt.Sprintf("%s[%d]", at, i), x); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		return s.object(at, v)
	}
	return nil
}

func (s *shape) object(at string, v map[string]any) error {
	for _, k := range s.Required {
		if _, ok := v[k]; !ok {
			return fmt.Errorf("%s: expected the key %q", at, k)
		}
	}
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		p, known := s.Properties[k]
		if !known && s.Additional != nil && !*s.Additional {
			return fmt.Errorf("%s: no key %q is expected", at, cut(k, 60))
		}
		if p != nil {
			if err := p.check(at+"."+k, v[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func is(v any, kind string) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case json.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return false
}
