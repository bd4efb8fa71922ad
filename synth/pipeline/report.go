package pipeline

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Report says what became of the walks. For every stage in = out + the sum over rejected.
type Report struct {
	Walks        int            `json:"walks"`
	Completed    int            `json:"completed"` // walks that reached their length
	Certified    int            `json:"certified"` // with everything proven that graph and texts can prove
	Accepted     int            `json:"accepted"`
	Rejected     map[Reason]int `json:"rejected"`
	Quarantined  int            `json:"quarantined"` // of the rejected: models failed to judge
	Stages       []StageCount   `json:"stages"`
	Conservation int            `json:"conservation"` // walks that are not accounted for: 0
	Seconds      float64        `json:"seconds"`      // of this run
	Digest       string         `json:"digest"`       // of both files: equal digests mean equal bytes
	Stop         Stop           `json:"stop,omitempty"`
	Cost         Cost           `json:"cost"`
	Questions    int64          `json:"questions_bytes"`
}

// StageCount is what went into a stage and came out.
type StageCount struct {
	Name     Stage          `json:"name"`
	In       int            `json:"in"`
	Out      int            `json:"out"`
	Rejected map[Reason]int `json:"rejected,omitempty"`
}

// Read makes the report of a folder from its ledger alone: Seconds and Stop are not in it. It checks every line, and
// that the questions are those the ledger accepted.
func Read(dir string) (Report, error) {
	var r Report
	ends := map[Stage]map[Reason]int{}
	path := filepath.Join(dir, LedgerFile)
	ledger, err := atomicfile.Open("synth", path)
	if err != nil {
		return r, err
	}
	defer ledger.Close()
	questions, err := atomicfile.Open("synth", filepath.Join(dir, QuestionsFile))
	if err != nil {
		return r, err
	}
	defer questions.Close()
	h := sha256.New()
	qs := &questionReader{name: questions.Name(), r: bufio.NewReaderSize(io.TeeReader(questions, h), 1<<16)}
	next := 0
	head, c, _, err := scan(path, ledger, func(*header) error { return nil }, func(e Entry) error {
		next = e.Walk + 1
		r.Walks++
		if e.Cost != nil {
			r.Cost = r.Cost.plus(*e.Cost)
		}
		switch e.State {
		case Accepted:
			r.Accepted++
			_, err := qs.next(&e)
			return err
		case Quarantined:
			r.Quarantined++
		}
		if ends[e.Stage] == nil {
			ends[e.Stage] = map[Reason]int{}
		}
		ends[e.Stage][e.Reason]++
		return nil
	})
	if err != nil {
		return r, err
	}
	if head == nil {
		return r, &quarry.Error{Op: "synth", Kind: quarry.KindNotFound, Subject: path, Msg: "it has no header: the run had not begun", Hint: "run the synthesis"}
	}
	if _, err := io.Copy(io.Discard, qs.r); err != nil {
		return r, atomicfile.Classify("synth", qs.name, err)
	}
	sum := sha256.Sum256(h.Sum(c.last[:]))
	r.Digest = hex.EncodeToString(sum[:])
	r.Questions = qs.end
	r.fill(ends)
	r.Conservation += distance(next, r.Walks)
	return r, nil
}

// fill counts the stages from where candidates ended.
func (r *Report) fill(ends map[Stage]map[Reason]int) {
	r.Rejected = map[Reason]int{}
	in, left := r.Walks, r.Accepted
	for _, s := range Stages() {
		c := StageCount{Name: s, In: in, Rejected: ends[s]}
		for why, n := range ends[s] {
			r.Rejected[why] += n
			in -= n
			left += n
		}
		c.Out = in
		r.Stages = append(r.Stages, c)
		switch s {
		case StageWalk:
			r.Completed = c.Out
		case StageRetrieval:
			r.Certified = c.Out
		}
	}
	r.Conservation = distance(r.Walks, left) // an end at no known stage is in neither sum
}

// Why tells the story of one candidate, by its walk's number or its question's id, as lines of text. Errors: not_found,
// and those of Read.
func Why(dir, what string) ([]string, error) {
	number := -1
	if n, err := strconv.Atoi(what); err == nil {
		number = n
	}
	path := filepath.Join(dir, LedgerFile)
	ledger, err := atomicfile.Open("synth", path)
	if err != nil {
		return nil, err
	}
	defer ledger.Close()
	var entry *Entry
	var from, at int64
	_, _, _, err = scan(path, ledger, func(*header) error { return nil }, func(e Entry) error {
		if e.Walk == number || e.Question != "" && e.Question == what {
			entry, from = &e, at
		}
		if e.State == Accepted {
			at = e.End
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return nil, &quarry.Error{Op: "synth why", Kind: quarry.KindNotFound, Subject: strconv.Quote(what), Msg: "the ledger has no such walk or question",
			Hint: "give the number of a walk, from 0, or the id of an accepted question, such as q-0123456789abcdef"}
	}
	if entry.State != Accepted {
		return entry.story(), nil
	}
	f, err := atomicfile.Open("synth why", filepath.Join(dir, QuestionsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, atomicfile.Classify("synth why", f.Name(), err)
	}
	qs := &questionReader{name: f.Name(), r: bufio.NewReader(f), end: from}
	q, err := qs.next(entry)
	if err != nil {
		return nil, err
	}
	return append(entry.story(), told(q)...), nil
}

// story is what the ledger alone says.
func (e *Entry) story() []string {
	if e.State == Accepted {
		return []string{fmt.Sprintf("walk %d: accepted as %s", e.Walk, e.Question)}
	}
	out := []string{fmt.Sprintf("walk %d: %s at stage %s, reason %s", e.Walk, e.State, e.Stage, e.Reason)}
	var before []string
	for _, s := range Stages() {
		if s == e.Stage {
			break
		}
		before = append(before, string(s))
	}
	if len(before) > 0 {
		out = append(out, "passed: "+strings.Join(before, ", "))
	}
	m := meanings[e.Reason]
	if m.says != "" {
		out = append(out, "because "+m.says)
	}
	if e.Detail != "" {
		out = append(out, "here: "+e.Detail)
	}
	if m.do != "" {
		out = append(out, "to get fewer: "+m.do)
	}
	if e.Cost != nil {
		out = append(out, fmt.Sprintf("cost: %d calls, %d + %d tokens", e.Cost.Calls, e.Cost.PromptTokens, e.Cost.OutputTokens))
	}
	return out
}

// told is an accepted question with its path and certificate.
func told(q *quarry.Question) []string {
	out := []string{"question: " + q.Text, "answer: " + strings.Join(slices.Concat([]string{q.Answer}, q.Aliases), " | ")}
	for i, h := range q.Path {
		line := fmt.Sprintf("hop %d: %s -%s-> %s", i+1, h.Subject, h.Predicate, h.Object)
		if h.Inverse {
			line += ", walked back"
		}
		if h.Doc != "" {
			line += fmt.Sprintf(" [%s %d-%d] %s", h.Doc, h.Start, h.End, h.Text)
		}
		out = append(out, line)
	}
	for i, c := range q.Conditions {
		line := fmt.Sprintf("condition %d: %s -%s-> %s", i+1, c.Subject, c.Predicate, c.Object)
		if c.Doc != "" {
			line += fmt.Sprintf(" [%s %d-%d] %s", c.Doc, c.Start, c.End, c.Text)
		}
		out = append(out, line)
	}
	var c Certificate
	if json.Unmarshal(q.Certificate, &c) != nil {
		return out
	}
	for _, m := range c.Members {
		if m.Type != "" {
			out = append(out, fmt.Sprintf("condition: %s is of type %s (%d entities)", m.Variable, m.Type, m.Size))
		} else {
			out = append(out, fmt.Sprintf("condition: %s is from %d to %d (%d entities)", m.Variable, m.From, m.To, m.Size))
		}
	}
	out = append(out, fmt.Sprintf("certificate: %d answer, %d by the path alone, leaf %d, necessity %s, margin %d, shape %s", c.Answers, c.PathAnswers, c.Leaf, c.Necessity, c.Margin, c.Shape))
	if c.Retrieval == nil {
		return append(out, "not certified: "+c.Missing)
	}
	for _, s := range c.Retrieval.Steps {
		if s.Kind == StepRetrieve {
			out = append(out, fmt.Sprintf("search for hop %d: %q finds %s at rank %d of %d", s.Hop, s.Query, s.Doc, s.Rank, c.Retrieval.K))
		}
	}
	return append(out, fmt.Sprintf("evidence: %d documents, %d crossings, dispersion %.3f, acquisition pressure %.2f", c.Retrieval.Documents, c.Retrieval.Crossings, c.Retrieval.Dispersion, c.Retrieval.Pressure))
}

// Entries reads the ledger of a folder, in order; what visit returns ends it.
func Entries(dir string, visit func(Entry) error) error {
	path := filepath.Join(dir, LedgerFile)
	f, err := atomicfile.Open("synth", path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, _, _, err = scan(path, f, func(*header) error { return nil }, visit)
	return err
}
