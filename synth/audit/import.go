package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

// Verdict is what a reviewer says about a question. Verdicts are stored.
type Verdict string

// The verdicts. Good: right, with one answer, worth training on.
const (
	Good   Verdict = "good"
	Bad    Verdict = "bad"
	Unsure Verdict = "unsure" // counts for neither
)

// Fault is why a reviewer rejects a question. Faults are stored: append only.
type Fault string

// Faults lists them.
func Faults() []Fault {
	return []Fault{"wrong_answer", "other_answers", "not_supported", "gives_away", "too_easy", "unclear", "unnatural", "outdated", "duplicate", "other"}
}

func verdict(s string) (Verdict, error) {
	v := Verdict(strings.ToLower(strings.TrimSpace(s)))
	if v != "" && v != Good && v != Bad && v != Unsure {
		return "", fmt.Errorf("verdict %q, expected good, bad, unsure or nothing", s)
	}
	return v, nil
}

func fault(s string, v Verdict) (Fault, error) {
	f := Fault(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "_"))
	switch {
	case f == "":
		return f, nil
	case !slices.Contains(Faults(), f):
		var names []string
		for _, k := range Faults() {
			names = append(names, string(k))
		}
		return "", fmt.Errorf("reason %q, expected one of %s, or nothing", s, strings.Join(names, ", "))
	case v == Good:
		return "", fmt.Errorf("reason %q of a good question, expected nothing", s)
	}
	return f, nil
}

// Imported counts the rows of a sheet: Rows = Empty + Added + Changed + Same.
type Imported struct {
	Rows    int `json:"rows"`
	Empty   int `json:"empty"`   // without a verdict
	Added   int `json:"added"`   // new
	Changed int `json:"changed"` // the reviewer had said something else before
	Same    int `json:"same"`    // said before
}

const (
	maxComment  = 4000
	maxReviewer = 100
	maxFaults   = 20 // errors that are told
)

// Import takes the verdicts of a sheet into the folder's file. All rows are checked first, and nothing is written when one
// is at fault. The same sheet again changes nothing. path is for messages. Errors: invalid (a row that is not of this
// folder, whose text was moved, with an unknown verdict or reason, or twice; no name), and those of the two files.
func Import(dir, path string, rows []Row, reviewer string, now time.Time) (Imported, error) {
	var out Imported
	reviewer = strings.Join(strings.Fields(reviewer), " ")
	if reviewer == "" || len(reviewer) > maxReviewer || tidy(reviewer) != reviewer {
		return out, &quarry.Error{Op: "synth audit", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("reviewer %.20q", reviewer), Msg: fmt.Sprintf("a name of 1 to %d bytes is expected", maxReviewer), Hint: "give --reviewer NAME"}
	}
	head, err := pipeline.ReadHead(dir)
	if err != nil {
		return out, err
	}
	lines := map[string]*pipeline.Entry{} // by sum
	for i := range rows {
		if sum, _, ok := strings.Cut(rows[i].Key, "-"); ok {
			lines[strings.TrimPrefix(sum, "k")] = nil
		}
	}
	err = pipeline.Entries(dir, func(e pipeline.Entry) error {
		if _, asked := lines[e.Sum]; asked {
			lines[e.Sum] = &e
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	var given []Record
	var faults []error
	first := map[string]int{}
	for i := range rows {
		r, err := record(&rows[i], lines, first)
		switch {
		case err != nil && len(faults) < maxFaults:
			faults = append(faults, &quarry.Error{Op: "synth audit", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", path, rows[i].Line), Msg: err.Error(),
				Hint: "nothing was taken in; correct the row, or export the sheet again with quarry synth audit --sample"})
		case err == nil && r.Verdict == "":
			out.Empty++
		case err == nil:
			r.Reviewer, r.Date = reviewer, now.UTC().Format(time.DateOnly)
			given = append(given, r)
		}
	}
	if faults != nil {
		return Imported{}, errors.Join(faults...)
	}
	if out.Rows = len(rows); len(given) == 0 {
		return out, nil
	}
	err = update(dir, head.Sum, func(before []Record) []Record {
		said := map[string]Record{}
		for _, r := range before {
			if r.Reviewer == reviewer {
				said[r.Line] = r
			}
		}
		var more []Record
		for _, r := range given {
			old, ok := said[r.Line]
			switch {
			case !ok:
				out.Added++
			case old.Verdict == r.Verdict && old.Fault == r.Fault && old.Comment == r.Comment:
				out.Same++
				continue
			default:
				out.Changed++
			}
			more = append(more, r)
		}
		return more
	})
	if err != nil {
		return Imported{}, err
	}
	return out, nil
}

// record makes a row a record, or says what is wrong with it.
func record(row *Row, lines map[string]*pipeline.Entry, first map[string]int) (Record, error) {
	key := strings.TrimSpace(row.Key)
	sum, _, _ := strings.Cut(strings.TrimPrefix(key, "k"), "-")
	e := lines[sum]
	switch {
	case key == "":
		return Record{}, errors.New("the row has no key")
	case e == nil:
		return Record{}, fmt.Errorf("key %.40q is of no line in this folder's ledger", key)
	case keyOf(sum, row.Question) != key:
		return Record{}, fmt.Errorf("key %s is of another question than the row's: was one column sorted, or the question edited?", key)
	case first[key] > 0:
		return Record{}, fmt.Errorf("key %s stands in line %d too", key, first[key])
	}
	first[key] = row.Line
	v, err := verdict(row.Verdict)
	if err != nil {
		return Record{}, err
	}
	f, err := fault(row.Reason, v)
	if err != nil {
		return Record{}, err
	}
	comment := strings.TrimSpace(tidy(row.Comment))
	switch {
	case v == "" && (f != "" || comment != ""):
		return Record{}, errors.New("a reason or comment without a verdict: good, bad or unsure is expected")
	case len(comment) > maxComment:
		return Record{}, fmt.Errorf("a comment of %d bytes, expected at most %d", len(comment), maxComment)
	}
	return Record{Walk: e.Walk, Line: e.Sum, Question: e.Question, State: e.State, Stage: e.Stage, Reason: e.Reason, Verdict: v, Fault: f, Comment: comment}, nil
}
