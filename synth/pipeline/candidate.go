package pipeline

import (
	"context"
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/tiers"
)

// Candidate is what became of one walk by itself, before caps, duplicates and models.
type Candidate struct {
	Walk     int
	Path     string // names and relations, "" when the walk did not complete
	Stage    Stage  // where it was rejected
	Reason   Reason // "" when it was not
	Detail   string
	Cost     Cost
	Question *quarry.Question // nil when it was rejected
	Drawn    *quarry.Question // as it was when it had its text, rejected later or not
}

// proof is what is known of a candidate so far.
type proof struct {
	walk     certify.Walk
	docs     []uint32 // of the hops
	conds    []certify.Condition
	edges    []uint32 // statements of the conditions; those of a decade's date among them, csr.NoDoc for a type
	graph    certify.Certificate
	text     *bool // N4; nil without texts
	times    certify.Times
	found    []found // by hop; nil without texts
	loads    []certify.HopLoad
	pressure float64
}

// rejection is a stage, a reason and the detail; the zero value is none.
type rejection struct {
	stage  Stage
	reason Reason
	detail string
}

// Candidate is candidate number n. Errors are the writer's, or canceled.
func (s *Space) Candidate(ctx context.Context, n int) (Candidate, error) {
	c := Candidate{Walk: n}
	path, why := s.walks.Walk(n)
	if why != walk.Complete {
		at := "nowhere"
		if path.Anchor != walk.None {
			at = s.g.ID(path.Anchor)
		}
		return c.rejected(rejection{StageWalk, ofWalk[why], "from " + at}), nil
	}
	w := <-s.workers
	held := true
	release := func() {
		if held {
			s.workers <- w
			held = false
		}
	}
	defer release()
	p := &proof{walk: walkOf(path)}
	for _, h := range path.Hops {
		p.docs = append(p.docs, h.Doc)
	}
	c.Path = s.shown(p.walk)
	r, err := w.prove(p)
	if err != nil || r.reason != "" {
		return c.rejected(r), err
	}
	release()
	d := s.draft(n, p)
	text, err := s.hooks.Writer.Write(ctx, d)
	c.Cost = text.Cost
	if err != nil {
		return c, err
	}
	if text.Text == "" {
		return c.rejected(rejection{StageWording, NoWording, text.Reason}), nil
	}
	q := s.question(n, p, text.Text)
	c.Drawn = q
	if gives := s.leaks(p, text.Text); gives != "" {
		return c.rejected(rejection{StageLeak, Leaked, gives + "; text: " + text.Text}), nil
	}
	if s.texts != nil {
		w, held = <-s.workers, true
		hit := tiers.SearchOnce(w.desk, q, s.clues(p))
		if release(); hit != nil {
			return c.rejected(rejection{StageSingle, SingleQuery, fmt.Sprintf("query %q: document %s holds the answer and %d of %d entities the question names",
				hit.Query, s.g.DocumentID(uint32(hit.Doc)), hit.Held, hit.Clues)}), nil
		}
	}
	if r := s.contaminated(p, q); r.reason != "" {
		return c.rejected(r), nil
	}
	c.Question = q
	return c, nil
}

func (c Candidate) rejected(r rejection) Candidate {
	c.Stage, c.Reason, c.Detail = r.stage, r.reason, r.detail
	return c
}

// prove chooses conditions and fills in the proof. The error is a bug's: everything it certifies it drew itself.
func (w *worker) prove(p *proof) (rejection, error) {
	s := w.s
	choice := w.chooser.Choose(p.walk)
	if choice.Reason != "" {
		return rejection{StageConditions, ofChoice[choice.Reason], fmt.Sprintf("%d tries on %s", choice.Looks, s.shown(p.walk))}, nil
	}
	p.conds = choice.Conditions
	for _, k := range p.conds {
		e := k.Edge
		if k.Set >= 0 {
			e = csr.NoDoc
			if set := s.sets[k.Set]; set.Type == "" {
				e, _ = dated(s.g, p.walk.At(k.Place), set)
			}
		}
		p.edges = append(p.edges, e)
	}
	var err error
	if p.graph, err = w.chooser.Certify(p.walk, p.conds); err != nil {
		return rejection{}, err
	}
	if r := w.certificate(p); r.reason != "" {
		return r, nil
	}
	if s.texts == nil {
		return rejection{}, nil
	}
	r, err := w.reach(p)
	if !s.o.Independent && r.reason == "" {
		w.alike(p)
	}
	return r, err
}

// certificate asks what the conditions were not chosen for.
func (w *worker) certificate(p *proof) rejection {
	s := w.s
	no := func(r Reason, format string, args ...any) rejection {
		return rejection{StageCertificate, r, fmt.Sprintf(format, args...)}
	}
	if p.graph.Margin < s.o.Margin {
		return no(Rival, "%s fails %d atom only", s.name(p.graph.Rival), p.graph.Margin)
	}
	if s.o.Independent {
		if w.alike(p); !p.graph.Independence.Holds() {
			return no(Dependent, "%+v", p.graph.Independence)
		}
	}
	if s.texts != nil {
		for i, e := range p.edges {
			if e != csr.NoDoc && s.g.Docs[e] == csr.NoDoc {
				return no(Unsourced, "%s of %s", s.label(int(s.g.Edge(e).Relation)), s.name(p.walk.At(p.conds[i].Place)))
			}
		}
		ok, doc := certify.TextNecessity(p.walk, p.docs[len(p.docs)-1], s.g.DocsOf)
		if p.text = &ok; !ok && s.o.Necessity >= N4 {
			return no(TextShortcut, "document %s", s.g.DocumentID(doc))
		}
		p.graph.Necessity.N4 = ok
	}
	if s.single != nil {
		if p.times = s.timesOf(p); !p.times.Valid() {
			if len(p.times.Ended) > 0 {
				return no(Ended, "statement %d of the question", p.times.Ended[0]+1)
			}
			return no(Ahead, "statement %d of the question", p.times.Ahead[0]+1)
		}
	}
	if other, name := w.namesakes(p); name != "" {
		return no(Ambiguous, "%q is several entities; %s is an answer then too", name, s.name(other))
	}
	return rejection{}
}

// alike is the fifth condition of independence, for which the certificate had no sentences: those of the path against
// those of each condition on the answer, and these against each other.
func (w *worker) alike(p *proof) {
	g := w.s.g
	if w.s.texts == nil {
		return
	}
	sentence := func(e uint32) []string {
		if e == csr.NoDoc {
			return nil
		}
		for _, ev := range g.Evidence(e) {
			return []string{g.Cited(e, ev).Text}
		}
		return nil
	}
	branches := [][]string{nil}
	for _, h := range p.walk.Hops {
		branches[0] = append(branches[0], sentence(h.Edge)...)
	}
	for i, k := range p.conds {
		if k.Place == len(p.walk.Hops) && p.edges[i] != csr.NoDoc {
			branches = append(branches, sentence(p.edges[i]))
		} else {
			branches[0] = append(branches[0], sentence(p.edges[i])...)
		}
	}
	for i := range branches {
		for j := range i {
			if len(branches[i]) > 0 && len(branches[j]) > 0 && certify.Likeness(branches[i], branches[j]) > certify.MaxLikeness {
				p.graph.Independence.Unlike = false
			}
		}
	}
}
