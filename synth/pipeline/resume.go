package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// progress is where a run is: everything that is not in the candidates themselves. It is made from the files alone.
type progress struct {
	next     int // walk
	accepted int
	last     int // walk after that of the last accepted question
	cost     Cost
	chosen   *selection
	passed   map[Stage]int // candidates that came out of a stage
}

func (p *progress) count(e *Entry) {
	p.next = e.Walk + 1
	if e.Cost != nil {
		p.cost = p.cost.plus(*e.Cost)
	}
	if e.State == Accepted {
		p.accepted++
		p.last = p.next
	}
	for _, s := range Stages() {
		if s == e.Stage {
			break
		}
		p.passed[s]++
	}
}

// open reads what a folder holds and makes it ready to go on: an unfinished last line and questions that no line accepts
// are cut off.
func (s *Space) open(ctx context.Context, dir string) (*disk, *progress, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, atomicfile.Classify("synth", dir, err)
	}
	ledger, err := openLocked(filepath.Join(dir, LedgerFile))
	if err != nil {
		return nil, nil, err
	}
	questions, err := os.OpenFile(filepath.Join(dir, QuestionsFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		ledger.Close()
		return nil, nil, atomicfile.Classify("synth", filepath.Join(dir, QuestionsFile), err)
	}
	st := &disk{ledger: ledger, questions: questions}
	p, err := s.restore(ctx, st, ledger, questions)
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		st.close()
		return nil, nil, err
	}
	return st, p, nil
}

func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, atomicfile.Classify("synth", path, err)
	}
	if held, err := atomicfile.TryLock(f); err != nil {
		f.Close()
		if held {
			return nil, &quarry.Error{Op: "synth", Kind: quarry.KindConflict, Subject: path, Msg: "another run writes it", Hint: "wait for it to end, or give another folder"}
		}
		return nil, atomicfile.Classify("synth", path, err)
	}
	return f, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return atomicfile.Classify("synth", dir, err)
	}
	defer d.Close()
	return atomicfile.Classify("synth", dir, d.Sync())
}

func (s *Space) restore(ctx context.Context, st *disk, ledger, questions *os.File) (*progress, error) {
	chosen, err := newSelection(s.o)
	if err != nil {
		return nil, err
	}
	p := &progress{chosen: chosen, passed: map[Stage]int{}}
	qs := &questionReader{name: questions.Name(), r: bufio.NewReaderSize(questions, 1<<16)}
	same := func(h *header) error { return s.settings.differ(ledger.Name(), h.Settings) }
	var head *header
	var whole int64
	head, st.chain, whole, err = scan(ledger.Name(), ledger, same, func(e Entry) error {
		p.count(&e)
		switch {
		case e.State == Accepted:
			q, err := qs.next(&e)
			if err != nil {
				return err
			}
			return p.again(e.Walk, q)
		case e.Stage == StagePolicy: // its text is in no file; it is the same again
			c, err := s.Candidate(ctx, e.Walk)
			if err != nil || c.Question == nil {
				return lost(err, ledger.Name(), e.Walk)
			}
			return p.again(e.Walk, c.Question)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	st.end = qs.end
	if head == nil {
		if info, err := questions.Stat(); err != nil || info.Size() > 0 {
			return nil, &quarry.Error{Op: "synth", Kind: quarry.KindConflict, Subject: questions.Name(), Msg: "there are questions without a ledger", Hint: "give another folder", Err: err}
		}
	}
	st.ledger, st.questions = s.wrapped(LedgerFile, ledger), s.wrapped(QuestionsFile, questions)
	if err := errors.Join(st.ledger.Truncate(whole), st.questions.Truncate(st.end)); err != nil {
		return nil, atomicfile.Classify("synth", ledger.Name(), err)
	}
	if head == nil {
		line := st.chain.seal(nil, header{Schema: Schema, Graph: s.g.Digest(), Options: s.settings.Digest(), Settings: s.settings})
		if err := put(st.ledger, line); err != nil {
			return nil, atomicfile.Classify("synth", ledger.Name(), err)
		}
	}
	return p, nil
}

// again takes in a question that came this far before.
func (p *progress) again(n int, q *quarry.Question) error {
	if len(q.Path) == 0 {
		return &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("walk %d", n), Msg: "its question has no path", Hint: "start in another folder"}
	}
	r, err := p.chosen.add(n, q)
	if err == nil && r.reason != "" {
		err = &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("walk %d", n), Msg: "the ledger took it in, and now it would be refused as " + string(r.reason) + ": " + r.detail,
			Hint: "another quarry wrote the ledger; go on with that one, or start in another folder"}
	}
	return err
}

func lost(err error, path string, n int) error {
	if err != nil {
		return err
	}
	return &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: path, Msg: fmt.Sprintf("walk %d came to the policy, and now it does not", n),
		Hint: "another quarry wrote the ledger; go on with that one, or start in another folder"}
}

// questionReader reads questions.jsonl along with the ledger.
type questionReader struct {
	name string
	r    *bufio.Reader
	end  int64
}

// next is the question of an accepted entry.
func (r *questionReader) next(e *Entry) (*quarry.Question, error) {
	bad := func(msg string, err error) error {
		return &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("%s, question %s", r.name, e.Question), Msg: msg, Err: err,
			Hint: "restore the file from a copy, or start in another folder; nothing of it is repaired"}
	}
	line, err := r.r.ReadBytes('\n')
	if err != nil && err != io.EOF {
		return nil, atomicfile.Classify("synth", r.name, err)
	}
	if err != nil || r.end+int64(len(line)) != e.End || digestOf(line[:len(line)-1]) != e.Digest {
		return nil, bad("its line is not the one that the ledger accepted", nil)
	}
	r.end = e.End
	q := &quarry.Question{}
	if err := json.Unmarshal(line, q); err != nil {
		return nil, bad("it cannot be read", err)
	}
	return q, nil
}

func (st *disk) close() error { return errors.Join(st.ledger.Close(), st.questions.Close()) }
