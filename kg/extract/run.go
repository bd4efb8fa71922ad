package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/teacher"
)

// Run extracts the documents of docs into the folder dir, in their order, and returns the sum over all runs into it. Called
// again, after an error or a kill, it goes on after the last finished document; a document that stands in dir is not read again.
// Requests under way at a kill are paid for again unless the teacher keeps a cache. The same documents and answers give the same
// bytes at any concurrency.
//
// Errors are *quarry.Error: exhausted (a budget is spent), invalid (a document, the settings, a key), conflict (begun with other
// settings, a text that changed, another run), corrupt (a damaged folder), unavailable, canceled. All documents before the
// error are kept.
func Run(ctx context.Context, t Teacher, docs iter.Seq2[Document, error], dir string, o Options) (Summary, error) {
	if err := o.settle(); err != nil {
		return Summary{}, err
	}
	l, err := openLedger(dir, settings(&o))
	if err != nil {
		return Summary{}, err
	}
	r := &run{teacher: t, opt: &o, ledger: l, spent: l.sum.Usage, places: make(chan struct{}, o.Concurrency)}
	err = r.all(ctx, docs)
	return l.sum.clone(), errors.Join(err, l.close())
}

func (s Summary) clone() Summary {
	s.Failed, s.Rejected = maps.Clone(s.Failed), maps.Clone(s.Rejected)
	return s
}

type run struct {
	teacher Teacher
	opt     *Options
	ledger  *ledger
	mu      sync.Mutex
	spent   Usage // documents under way included
	places  chan struct{}
}

// finished is what became of a document.
type finished struct {
	entry entry
	lines []byte
	err   error
}

func (r *run) all(ctx context.Context, docs iter.Seq2[Document, error]) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var queue []chan finished // under way, in the order of the source
	seen := map[string]string{}
	land := func(keep int) error {
		for len(queue) > keep {
			f := <-queue[0]
			queue = queue[1:]
			if f.err != nil {
				return f.err
			}
			if err := r.ledger.commit(&f.entry, f.lines); err != nil {
				return err
			}
			if r.opt.Progress != nil {
				r.opt.Progress(r.ledger.sum.clone())
			}
		}
		return nil
	}
	for d, err := range docs {
		if err != nil {
			return errors.Join(land(0), err)
		}
		if err := d.check(); err != nil {
			return errors.Join(land(0), err)
		}
		s := newSource(&d)
		before, again := seen[d.ID]
		if !again {
			seen[d.ID] = s.sha
			before, again = r.ledger.done[d.ID], r.ledger.done[d.ID] != ""
		} else if before == s.sha {
			r.ledger.sum.Repeated++
		}
		if again && before != s.sha {
			return errors.Join(land(0), &quarry.Error{Op: op, Kind: quarry.KindConflict, Subject: fmt.Sprintf("document %q", d.ID), Msg: "was read before with another text",
				Hint: "give each document an id of its own, or extract into another folder"})
		}
		if again {
			continue
		}
		if err := land(r.opt.Concurrency - 1); err != nil {
			return err
		}
		out := make(chan finished, 1)
		queue = append(queue, out)
		wg.Go(func() { out <- r.document(ctx, s) })
	}
	return land(0)
}

func (d *Document) check() error {
	msg := ""
	switch {
	case d.ID == "":
		msg = "has no id"
	case !utf8.ValidString(d.ID) || !utf8.ValidString(d.Title) || !utf8.ValidString(d.URL) || !utf8.ValidString(d.Section) || !utf8.ValidString(d.Text):
		msg = "is not UTF-8"
	default:
		return nil
	}
	return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("document %q", d.ID), Msg: msg, Hint: "mend the source"}
}

// asked is what a passage, or a part of it, gave.
type asked struct {
	part       passage
	candidates []candidate
	failed     *failedChunk
}

func (r *run) document(ctx context.Context, s *source) finished {
	ps := passages(s.doc.Text, s.sents, r.opt.Chunk, r.opt.Overlap)
	got := make([][]asked, len(ps))
	var usage Usage
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(r.opt.Concurrency)
	for i, p := range ps {
		g.Go(func() (err error) {
			got[i], err = r.passage(within, s, p, &usage)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return finished{err: err}
	}
	return r.judgeAll(s, ps, got, usage)
}

// passage asks for the statements of a passage: again with another seed when the answer has not the right form, and in
// halves when it is too long.
func (r *run) passage(ctx context.Context, s *source, p passage, u *Usage) ([]asked, error) {
	fail := func(err error) ([]asked, error) {
		failed := &failedChunk{Start: p.Start, End: p.End}
		if f := (*teacher.Fault)(nil); errors.As(err, &f) {
			failed.Kind, failed.Detail = string(f.Kind), f.Detail
		}
		return []asked{{part: p, failed: failed}}, nil
	}
	var last error
	for try := range r.opt.Tries {
		reply, answered, err := r.ask(ctx, r.opt.request(s.doc, p, try), u)
		if err == nil {
			c, err := parse(reply.Text)
			if err != nil {
				return nil, err
			}
			return []asked{{part: p, candidates: c}}, nil
		}
		switch kind := teacher.KindOf(err); {
		case kind == teacher.TooLong:
			a, b, ok := halve(p, s.sents)
			if !ok {
				return fail(err)
			}
			first, err := r.passage(ctx, s, a, u)
			if err != nil {
				return nil, err
			}
			second, err := r.passage(ctx, s, b, u)
			return append(first, second...), err
		case kind == teacher.Refused:
			return fail(err)
		case kind != teacher.BadAnswer || !answered: // the endpoint's trouble, not this passage's
			return nil, err
		}
		last = err
	}
	return fail(last)
}

// ask sends a request once one of the places is free and if the budget allows one more.
func (r *run) ask(ctx context.Context, q teacher.Request, u *Usage) (reply teacher.Reply, answered bool, err error) {
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return reply, false, &quarry.Error{Op: op, Kind: quarry.KindCanceled, Msg: "stopped", Err: context.Cause(ctx)}
	}
	defer func() { <-r.places }()
	if err := r.budget(); err != nil {
		return reply, false, err
	}
	reply, err = r.teacher.Complete(ctx, q)
	if answered = err == nil || reply.FinishReason != "" || reply.Text != ""; answered {
		r.spend(u, reply)
	}
	return reply, answered, err
}

func (r *run) spend(u *Usage, reply teacher.Reply) {
	one := Usage{Calls: 1, PromptTokens: int64(reply.PromptTokens), CompletionTokens: int64(reply.CompletionTokens)}
	one.Cost = r.opt.Price.Cost(one.PromptTokens, one.CompletionTokens)
	r.mu.Lock()
	defer r.mu.Unlock()
	u.add(one)
	r.spent.add(one)
}

// budget says whether one more request may be sent; those under way, fewer than Concurrency, may end above it.
func (r *run) budget() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.opt
	if (o.MaxCost == 0 || r.spent.Cost < o.MaxCost) && (o.MaxCalls == 0 || r.spent.Calls < o.MaxCalls) {
		return nil
	}
	return &quarry.Error{Op: op, Kind: quarry.KindExhausted, Subject: fmt.Sprintf("%d calls, cost %.4f", r.spent.Calls, r.spent.Cost), Msg: "the budget is spent",
		Hint: "raise it and run the same command again: it goes on where it stopped"}
}

// judgeAll sorts a document's candidates into lines and rejections. Lines come in the order of the text.
func (r *run) judgeAll(s *source, ps []passage, got [][]asked, usage Usage) finished {
	usage.Cost = r.opt.Price.Cost(usage.PromptTokens, usage.CompletionTokens) // one sum, in no order
	f := finished{entry: entry{Doc: s.doc.ID, SHA256: s.sha, Chunks: len(ps), Usage: usage, Grounding: map[string]int{}}}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	seen := map[string]bool{}
	for i, parts := range got {
		for _, a := range parts {
			if a.failed != nil {
				f.entry.Failed = append(f.entry.Failed, *a.failed)
			}
			for _, c := range a.candidates {
				f.entry.Candidates++
				rec, reason := r.opt.judge(s, ps[i], a.part, &c)
				if reason == "" {
					key := rec.key()
					if seen[key] {
						reason = Duplicate
					}
					seen[key] = true
				}
				if reason != "" {
					f.entry.Rejected = append(f.entry.Rejected, rejection{reason, c})
					continue
				}
				if f.err = enc.Encode(rec); f.err != nil {
					return f
				}
				f.entry.Out++
				f.entry.Grounding[rec.Grounding]++
			}
		}
	}
	f.lines = buf.Bytes()
	return f
}

// key is the same for records that say the same of the same words.
func (r *record) key() string {
	k := fmt.Sprint(r.PassageAt+r.Span.Start, " ", r.Span.End-r.Span.Start, " ", r.Entity.ID)
	if r.Object == nil {
		return k + "\x00" + quarry.Normalize(r.Statement)
	}
	return k + "\x00" + r.Predicate.ID + "\x00" + r.Object.ID
}
