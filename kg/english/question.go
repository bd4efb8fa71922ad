package english

import "strings"

// Condition narrows what a step reaches: it must also be Phrase of Name.
type Condition struct {
	Step   int // 1-based: the step whose result it describes
	Phrase *Phrase
	Name   string
}

// Plan is a question as steps from a named start: apply Steps[0] to Anchor, Steps[1] to the result, and so on.
type Plan struct {
	Anchor     string
	Steps      []*Phrase
	Conditions []Condition
}

// Frames of a question; conditions on the answer stand between as sentences of their own.
var frames = []struct{ open, close string }{
	{"{W} is ", "?"},
	{"I am looking for ", ". {W} is it?"},
	{"Can you tell me ", "?"},
	{"Please find ", "."},
}

const (
	also     = " (also "
	alsoIs   = " It is also "
	alsoIsA  = " That person is also "
	maxDepth = 10 // hops and bracketed conditions of the largest shape
)

// NFrames is the number of ways Write can put a question.
func NFrames() int { return len(frames) }

// Write words a plan as one question; n picks the frame. Conditions on the last step's result stand behind it as
// sentences, those on earlier results in brackets. Read inverts it when no name looks like a phrase and no bracket
// could describe more than one noun phrase: who needs to be understood reads back what was written.
func Write(p Plan, n int) string {
	np := p.Anchor
	last := len(p.Steps)
	for i, ph := range p.Steps {
		np = ph.Of(np)
		if i+1 == last {
			break
		}
		for _, c := range p.Conditions {
			if c.Step == i+1 {
				np += also + c.Phrase.Of(c.Name) + ")"
			}
		}
	}
	want := p.Steps[last-1].Want
	f := frames[n%len(frames)]
	text := fill(f.open, want) + np
	tail := fill(f.close, want)
	join := alsoIs
	if want == PER {
		join = alsoIsA
	}
	conds := ""
	for _, c := range p.Conditions {
		if c.Step == last {
			conds += join + c.Phrase.Of(c.Name) + "."
		}
	}
	mark, rest := tail[:1], tail[1:]
	return text + mark + conds + rest
}

func fill(s string, want Kind) string {
	w := "What"
	if want == PER {
		w = "Who"
	}
	return strings.ReplaceAll(s, "{W}", w)
}

// Read finds the plan of a question worded by Write. ok is false when the wording is unknown; the plan then is empty.
func (l *Lexicon) Read(text string) (Plan, bool) {
	body := strings.TrimSpace(text)
	for _, f := range frames {
		for _, want := range []Kind{PER, LOC} {
			open, tail := fill(f.open, want), fill(f.close, want)
			rest, ok := strings.CutPrefix(body, open)
			if !ok {
				continue
			}
			rest, ok = strings.CutSuffix(rest, tail[1:])
			if !ok {
				continue
			}
			main, extra := rest, ""
			for _, join := range []string{alsoIs, alsoIsA} {
				if i := strings.Index(rest, tail[:1]+join); i >= 0 {
					main, extra = rest[:i], rest[i+1:]
					break
				}
			}
			if extra == "" {
				main, ok = strings.CutSuffix(main, tail[:1])
				if !ok {
					continue
				}
			}
			p, ok := l.readNP(main, 0)
			if !ok || len(p.Steps) == 0 {
				continue
			}
			conds, ok := l.readSentences(extra, len(p.Steps))
			if !ok {
				continue
			}
			p.Conditions = append(p.Conditions, conds...)
			return p, true
		}
	}
	return Plan{}, false
}

// readSentences reads the conditions that stand behind the question as sentences of their own; none is fine.
func (l *Lexicon) readSentences(s string, step int) ([]Condition, bool) {
	var out []Condition
	for s != "" {
		rest, ok := strings.CutPrefix(s, alsoIs)
		join := alsoIs
		if !ok {
			if rest, ok = strings.CutPrefix(s, alsoIsA); !ok {
				return nil, false
			}
			join = alsoIsA
		}
		one := rest
		s = ""
		if i := strings.Index(rest, "."+join); i >= 0 {
			one, s = rest[:i], rest[i+1:]
		} else if one, ok = strings.CutSuffix(one, "."); !ok {
			return nil, false
		}
		ph, name, ok := l.readSimple(one)
		if !ok {
			return nil, false
		}
		out = append(out, Condition{Step: step, Phrase: ph, Name: name})
	}
	return out, true
}

// readNP reads a noun phrase: a phrase around a noun phrase, or a name. Conditions in brackets belong to the nearest
// noun phrase that ends before them, as a person reads them.
func (l *Lexicon) readNP(s string, depth int) (Plan, bool) {
	if depth > maxDepth || s == "" {
		return Plan{}, false
	}
	for _, ph := range l.longest {
		inner, ok := ph.inside(s)
		if !ok {
			continue
		}
		if p, ok := l.readNP(inner, depth+1); ok {
			p.Steps = append(p.Steps, ph)
			return p, true
		}
	}
	i := strings.LastIndex(s, also)
	if i < 0 {
		return Plan{Anchor: s}, true
	}
	bracket, ok := strings.CutSuffix(s[i+len(also):], ")")
	if !ok {
		return Plan{}, false
	}
	ph, name, ok := l.readSimple(bracket)
	if !ok {
		return Plan{}, false
	}
	p, ok := l.readNP(s[:i], depth+1)
	if !ok || len(p.Steps) == 0 {
		return Plan{}, false
	}
	p.Conditions = append(p.Conditions, Condition{Step: len(p.Steps), Phrase: ph, Name: name})
	return p, true
}

// inside returns what stands in the phrase's slot.
func (p *Phrase) inside(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, p.before)
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, p.after)
	return inner, ok && inner != ""
}

// readSimple reads one phrase around a name.
func (l *Lexicon) readSimple(s string) (*Phrase, string, bool) {
	for _, ph := range l.longest {
		if inner, ok := ph.inside(s); ok {
			return ph, inner, true
		}
	}
	return nil, "", false
}
