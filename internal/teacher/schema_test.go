package teacher

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOnlyJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                                `{"a":1}`,
		" [1, 2]\n":                              `[1, 2]`,
		"```json\n{\"a\":1}\n```":                `{"a":1}`,
		"```\n3\n```":                            `3`,
		"<think>{x</think> {\"a\":{\"a\":1}}":    `{"a":{"a":1}}`,
		`[{"a":1},{"a":2}]`:                      `[{"a":1},{"a":2}]`,
		`"s"`:                                    `"s"`,
		"":                                       "! empty",
		"Here: {}":                               "! no JSON",
		"{} {}":                                  "! after it",
		"{} done":                                "! after it",
		`{"a":1,"a":2}`:                          "! twice",
		`{"b":[{"a":1,"c":{},"a":2}]}`:           "! twice",
		`{"a":1`:                                 "! no JSON",
		`{"a":1}]`:                               "! after it",
		"\xff":                                   "! UTF-8",
		"{\"a\":\"\xff\"}":                       "! UTF-8",
		"```json\n{}\n``` and more ```\n{}\n```": "! after it",
	} {
		got, err := onlyJSON(in)
		if rest, bad := strings.CutPrefix(want, "! "); bad {
			if err == nil || !strings.Contains(err.Error(), rest) {
				t.Errorf("%q: %q, %v, want %q", in, got, err, rest)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestSchema(t *testing.T) {
	schema := `{"type":"object","required":["list"],"additionalProperties":false,"properties":{
		"list":{"type":"array","maxItems":2,"items":{"type":["string","null"],"maxLength":3}},
		"kind":{"type":"string","enum":["a","b"]},"n":{"type":"integer"},"f":{"type":"number"},"ok":{"type":"boolean"}}}`
	s, err := newShape(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for in, says := range map[string]string{
		`{"list":["abc",null],"kind":"a","n":3,"f":1.5,"ok":true}`: "",
		`{"list":["字字字"]}`:                                         "",
		`{"list":[]}`:                                              "",
		`{"f":1}`:                                                  `expected the key "list"`,
		`{"list":["abcd"]}`:                                        "list[0]: expected at most 3 characters",
		`{"list":["a","b","c"]}`:                                   "at most 2 items, found 3",
		`{"list":[1]}`:                                             "expected string or null",
		`{"list":[],"kind":"c"}`:                                   "one of [a b]",
		`{"list":[],"n":1.0}`:                                      "answer.n: expected integer",
		`{"list":[],"ok":"yes"}`:                                   "expected boolean",
		`{"list":[],"x":1}`:                                        `no key "x"`,
		`[]`:                                                       "expected object",
	} {
		err := s.fits(in)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", in, err, says)
		}
	}
	for _, bad := range []string{`{"oneOf":[]}`, `{"type":"text"}`, `{} {}`, `[]`, ``} {
		if _, err := newShape(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func FuzzOnlyJSON(f *testing.F) {
	f.Add(`{"x":1}`)
	f.Add("```json\n[1]\n```")
	f.Add(`<think>a</think>{"a":{"b":[{}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := onlyJSON(text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q gives %q, which is no JSON", text, got)
		}
		if s, err := newShape(json.RawMessage(pointSchema)); err != nil || s.fits(got) == nil && !strings.Contains(got, "{") {
			t.Fatalf("%q fits a schema of an object, %v", got, err)
		}
	})
}
