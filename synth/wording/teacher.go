package wording

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// Teacher is a model that answers with JSON of a given schema. It returns the JSON text as it came.
type Teacher interface {
	Complete(ctx context.Context, r Request) (string, error)
}

// Request is one call of a teacher.
type Request struct {
	System, User string
	Schema       json.RawMessage // JSON schema of the answer
	SchemaName   string
	Attempt      int // from 0: for the seed
}

// The reasons for which a teacher's text is refused.
const (
	RefusedJSON     = "teacher_bad_json"
	RefusedLength   = "teacher_bad_length"
	RefusedMissing  = "teacher_lost_constant"
	RefusedTelling  = "teacher_named_path_entity"
	RefusedLanguage = "teacher_wrong_language"
	RefusedForm     = "teacher_not_a_question"
	RefusedLeak     = "teacher_leak"
	RefusedAtoms    = "teacher_changed_atoms"
)

// maxRunes is the longest text a teacher may return.
const maxRunes = 1200

// schema of a teacher's answer.
const schema = `{
  "type": "object",
  "properties": {
    "question": {"type": "string", "description": "the rewritten question and nothing else"},
    "statements": {"type": "array", "items": {"type": "string"}, "description": "what the rewritten question states, one short sentence each"}
  },
  "required": ["question", "statements"],
  "additionalProperties": false
}`

// Schema is the JSON schema a teacher's answer must meet.
func Schema() json.RawMessage { return json.RawMessage(schema) }

const systemEN = `You rewrite draft questions so that they read as if a person had written them.
Rules:
1. State exactly what the draft states. Add no fact, drop no fact, answer nothing.
2. Keep every name, number, year and period of the draft letter by letter. Name nobody and nothing else.
3. What the draft leaves unnamed ("that person", "a certain city") stays unnamed.
4. One to four sentences in English. One of them asks. No list, no steps, no heading.
Answer with JSON: "question" is the rewritten question; "statements" repeats what it states, one short sentence for each fact.`

const systemZH = `你负责把问题草稿改写成像人写出来的问题。
规则：
1. 只陈述草稿所陈述的内容，不增加、不遗漏任何事实，也不回答问题。
2. 草稿中的每个名称、数字、年份和时期都要逐字保留，不得提到其他任何名称。
3. 草稿中没有点名的对象（“这个人”“某个城市”）仍然不能点名。
4. 用中文写一到四句话，其中一句是提问。不要列表、步骤或标题。
用 JSON 回答："question" 是改写后的问题；"statements" 逐条重复问题所陈述的事实，每条一个短句。`

// Rewriter lets a teacher reword drafts and accepts nothing that it cannot check.
type Rewriter struct {
	Teacher  Teacher
	Attempts int                      // calls for one draft at most; 0 stands for 3
	Leaks    func(text string) string // what a text gives away, "" for nothing; may be nil
	Judge    Judge                    // may be nil
}

// Judge says whether a rewritten question still states what its draft does.
type Judge interface {
	Same(ctx context.Context, draft, text string) (bool, error)
}

// Rewritten is a text that was accepted, and the reasons for which the ones before were refused.
type Rewritten struct {
	Text    string
	Calls   int
	Refused []string
}

// Rewrite asks for a new wording of a draft, which Write made of the plan. hidden are names that must not occur: those of
// the path and of the answer with their aliases. After the last refused attempt the error has the last reason as Subject;
// errors of the teacher come at once, for what to retry is its client's business.
func (w Rewriter) Rewrite(ctx context.Context, p Plan, l Lang, draft string, hidden []string) (Rewritten, error) {
	var out Rewritten
	r := Request{System: systemEN, Schema: Schema(), SchemaName: "rewritten_question", User: "Draft:\n" + draft + "\nNames to keep: " + strings.Join(p.Constants(), "; ")}
	if l == Chinese {
		r.System, r.User = systemZH, "草稿：\n"+draft+"\n要保留的名称："+strings.Join(p.Constants(), "；")
	}
	first := r.User
	attempts := w.Attempts
	if attempts < 1 {
		attempts = 3
	}
	for ; out.Calls < attempts; out.Calls++ {
		r.Attempt = out.Calls
		answer, err := w.Teacher.Complete(ctx, r)
		if err != nil {
			return out, err
		}
		text, reason, detail := w.Accept(p, l, answer, hidden)
		if reason == "" && w.Judge != nil {
			same, err := w.Judge.Same(ctx, draft, text)
			if err != nil {
				return out, err
			}
			if !same {
				reason, detail = RefusedAtoms, "it does not state what the draft states"
			}
		}
		if reason == "" {
			out.Text = text
			out.Calls++
			return out, nil
		}
		out.Refused = append(out.Refused, reason)
		// what is hidden stays hidden from the teacher, too
		r.User = first + "\nThe last answer was refused: " + detail
		if l == Chinese {
			r.User = first + "\n上一个回答被退回：" + detail
		}
	}
	last := out.Refused[len(out.Refused)-1]
	return out, &quarry.Error{Op: "wording", Kind: quarry.KindGate, Subject: last, Msg: fmt.Sprintf("%d answers of the teacher were refused, this one last", out.Calls),
		Hint: "take the template's text, or another teacher"}
}

// Accept checks one answer of a teacher. It returns the text, or the reason for which it is refused and what to tell the
// teacher about that.
func (w Rewriter) Accept(p Plan, l Lang, answer string, hidden []string) (text, reason, detail string) {
	var a struct {
		Question   *string   `json:"question"`
		Statements *[]string `json:"statements"`
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil || a.Question == nil || a.Statements == nil || d.More() {
		return "", RefusedJSON, "it is not JSON of the schema"
	}
	text = strings.Join(strings.Fields(*a.Question), " ")
	if n := utf8.RuneCountInString(text); n < 8 || n > maxRunes {
		return "", RefusedLength, fmt.Sprintf("it has %d characters; 8 to %d are expected", n, maxRunes)
	}
	if !asks(text, l) {
		return "", RefusedForm, "it asks nothing: a question mark or a request is missing, or it is a list"
	}
	if hasHan(outside(text, p.Constants())) != (l == Chinese) {
		return "", RefusedLanguage, "it is not in the draft's language"
	}
	for _, c := range p.needed(l) {
		if !mentions(text, c) {
			return "", RefusedMissing, fmt.Sprintf("%q is missing", c)
		}
	}
	rest := outside(text, p.Constants())
	for _, h := range hidden {
		if h != "" && mentions(rest, h) {
			return "", RefusedTelling, "it names something that the draft does not name"
		}
	}
	if w.Leaks != nil && w.Leaks(text) != "" {
		return "", RefusedLeak, "it gives something away that must be found"
	}
	return text, "", ""
}

// needed are the pieces of text that every wording must hold: names, and of marks the numbers.
func (p Plan) needed(l Lang) []string {
	out := p.Constants()
	for _, m := range p.Marks {
		switch m.Kind {
		case IsClass:
			out = append(out, m.class(l))
		case BeginsWith:
			out = append(out, m.Text)
		case InYears:
			out = append(out, numerals(years(m.From, m.To, l))...)
		case Between:
			out = append(out, numerals(number(m.From, m.To, l))...)
		case HasLetters:
			out = append(out, numerals(letters(m.From, m.To, l))...)
		}
	}
	return out
}

// numerals are the runs of digits and commas of a text.
func numerals(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != ',' })
}

// mentions says whether a name stands in a text: at word boundaries unless it begins or ends with what has none.
func mentions(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		first, _ := utf8.DecodeRuneInString(name)
		last, _ := utf8.DecodeLastRuneInString(name)
		if (i == 0 || !wordy(before) || !wordy(first)) && (end == len(text) || !wordy(after) || !wordy(last) || after == 's') {
			return true
		}
		at = i + 1
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
	}
}

// wordy runes make words that have boundaries: letters and digits outside of Chinese.
func wordy(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0xC0 && r < 0x2E80
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF })
}

// outside is a text without names, longest first.
func outside(text string, names []string) string {
	names = append([]string(nil), names...)
	for range names {
		long := 0
		for i := range names {
			if len(names[i]) > len(names[long]) {
				long = i
			}
		}
		if names[long] != "" {
			text = strings.ReplaceAll(text, names[long], "\x00")
		}
		names[long] = ""
	}
	return text
}

// asks says whether a text looks like one question of a person: it asks, and is neither a list nor steps nor a template.
func asks(text string, l Lang) bool {
	low := strings.ToLower(text)
	for _, bad := range []string{"step 1", "1. ", "1) ", "{", "}", "</", "步骤", "草稿", "draft:"} {
		if strings.Contains(low, bad) {
			return false
		}
	}
	if strings.ContainsAny(text, "?？") {
		return true
	}
	if l == Chinese {
		return strings.Contains(text, "想知道") || strings.Contains(text, "请问") || strings.Contains(text, "请告诉")
	}
	for _, w := range []string{"like to know", "tell me", "name the ", "please find", "looking for"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}
