package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

func TestQuestionsJSONL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "questions.jsonl")
	want := []quarry.Question{sampleQuestion(0), sampleQuestion(1)}
	want[1].Aliases, want[1].Difficulty, want[1].Certificate = nil, nil, nil
	if err := WriteQuestionsJSONL(path, want); err != nil {
		t.Fatal(err)
	}
	got := must(ReadQuestionsJSONL(path))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	data := must(os.ReadFile(path))(t)
	if bytes.Count(data, []byte("\n")) != 2 || !bytes.Contains(data, []byte("<&>")) {
		t.Errorf("file:\n%s", data)
	}
	for i, q := range got {
		if Q1FromQuestion(q).Question().Answer != want[i].Answer {
			t.Errorf("row %d", i)
		}
	}
}

func TestBadQuestions(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.jsonl")
	if err := WriteQuestionsJSONL(good, []quarry.Question{sampleQuestion(0)}); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(must(os.ReadFile(good))(t)))
	for name, c := range map[string]struct{ text, says string }{
		"torn line":     {line + "\n\n" + line[:50], ".jsonl:3: not a question"},
		"unknown key":   {`{"id":"a","questoin":"b"}`, `:1: not a question: json: unknown field "questoin"`},
		"wrong type":    {`{"id":7}`, ":1: not a question"},
		"two values":    {line + line, ":1: more than one JSON value"},
		"bad UTF-8":     {line + "\n{\"id\":\"\xff\"}", ":2: invalid UTF-8 at byte 7"},
		"same id twice": {line + "\n" + line, `:2: id "q-000" stands in line 1 already`},
		"bad value":     {strings.Replace(line, `"answer_set":1`, `"answer_set":3`, 1), `:1: check row: Q1 (id "q-000") column answer_set: got 3, want 1`},
		"an array":      {"[" + line + "]", ":1: not a question"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			qs, err := ReadQuestionsJSONL(path)
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || quarry.HintOf(err) == "" || qs != nil {
				t.Errorf("%d questions, error %v, want %q", len(qs), err, c.says)
			}
		})
	}
	if _, err := ReadQuestionsJSONL(filepath.Join(dir, "absent")); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("missing file: %v", err)
	}
}

// A bad question writes nothing.
func TestWriteBadQuestions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	q := sampleQuestion(1)
	q.Path[1].Text = "\xff"
	odd := sampleQuestion(2)
	odd.Conditions[0].Text = "\xff"
	for _, bad := range []quarry.Question{{ID: "x"}, sampleQuestion(0), q, odd} {
		err := WriteQuestionsJSONL(path, []quarry.Question{sampleQuestion(0), bad})
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), path+":2") {
			t.Errorf("%s: %v", bad.ID, err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Error("the file is there")
		}
	}
}
