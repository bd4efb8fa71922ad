package extract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/teacher"
)

// promptVersion changes with the prompt, the schema and the rules; a run does not go on with another one.
const promptVersion = 1

const system = `You read a passage of a document and write down the facts it states, as records.

Rules:
- Only what the passage itself says. Nothing from your own knowledge, nothing that is only suggested.
- "span" is copied from the passage character by character: the shortest run of words that states the fact, at most one or two sentences.
- "subject" is who or what the fact is about; "object" is the other end. Give each by the fullest name the passage uses, its type (PER, ORG, LOC, MISC, TIME, NUM) and the other names the passage uses for it.
- "mention" is the word in the span that stands for the subject when the span does not name it, such as "he" or "it"; else "".
- "predicate" is the relation from subject to object in a few words, such as "place of birth". Leave predicate and object names "" for a fact that has no second end.
- "statement" says the fact in one full sentence with names in place of pronouns.
- "start", "end" and "at" are times the passage gives for the fact, as YYYY, YYYY-MM or YYYY-MM-DD; a date as object is written the same way if it can be. "method" is how the fact is known or measured, in the passage's words. "" when the passage does not say.
- Text under CONTEXT only tells you whom pronouns mean: take no facts from it.
- An empty list is a good answer when the passage states nothing.`

const thing = `{"type":"object","additionalProperties":false,"required":["name","type","aliases"],"properties":{"name":{"type":"string"},"type":{"type":"string"},"aliases":{"type":"array","items":{"type":"string"}}}}`

// schema of an answer. Every key is required, as strict structured output wants it.
const schema = `{"type":"object","additionalProperties":false,"required":["statements"],"properties":{"statements":{"type":"array","items":{"type":"object","additionalProperties":false,` +
	`"required":["subject","predicate","object","statement","span","mention","start","end","at","method"],"properties":{"subject":` + thing + `,"predicate":{"type":"string"},"object":` + thing +
	`,"statement":{"type":"string"},"span":{"type":"string"},"mention":{"type":"string"},"start":{"type":"string"},"end":{"type":"string"},"at":{"type":"string"},"method":{"type":"string"}}}}}}`

// candidate is what a teacher proposes.
type candidate struct {
	Subject   end    `json:"subject"`
	Predicate string `json:"predicate"`
	Object    end    `json:"object"`
	Statement string `json:"statement"`
	Span      string `json:"span"`
	Mention   string `json:"mention"`
	Start     string `json:"start"`
	End       string `json:"end"`
	At        string `json:"at"`
	Method    string `json:"method"`
}

type end struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Aliases []string `json:"aliases"`
}

// request asks for the statements of one passage.
func (o *Options) request(d *Document, p passage, try int) teacher.Request {
	var b strings.Builder
	fmt.Fprintf(&b, "DOCUMENT: %s\n", d.Title)
	if d.Section != "" {
		fmt.Fprintf(&b, "SECTION: %s\n", d.Section)
	}
	if len(o.Relations) > 0 {
		b.WriteString("PREDICATES (use no other):\n")
		for _, r := range o.Relations {
			fmt.Fprintf(&b, "- %s\n", label(r.Label, r.ID))
		}
	}
	if p.context < p.Start {
		fmt.Fprintf(&b, "CONTEXT:\n%s\n", d.Text[p.context:p.Start])
	}
	fmt.Fprintf(&b, "PASSAGE:\n%s\n", d.Text[p.Start:p.End])
	return teacher.Request{System: system, User: b.String(), Schema: json.RawMessage(schema), MaxTokens: o.MaxTokens, Seed: o.Seed + try, Temperature: 0.3 * float64(min(try, 3))}
}

func label(label, id string) string {
	if label != "" {
		return label
	}
	return id
}

func parse(text string) ([]candidate, error) {
	var v struct {
		Statements []candidate `json:"statements"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindCorrupt, Subject: "answer", Msg: "does not fit the schema", Err: err}
	}
	return v.Statements, nil
}
