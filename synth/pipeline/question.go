package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/leak"
	"github.com/quarry-rl/quarry/synth/wording"
)

// Draft is a question before it has words.
type Draft struct {
	Seed uint64
	Walk int // number of the walk: with Seed, where what is random about the wording comes from
	Lang wording.Lang
	Plan wording.Plan // variables 0 to L-1 are the places 1 to L of the path, further ones the dates of decades
}

// classes are how the types of named entity recognition are called as classes.
var classes = map[string][2]string{"PER": {"person", "人物"}, "LOC": {"place", "地点"}, "ORG": {"organisation", "组织"}}

func (s *Space) draft(n int, p *proof) *Draft {
	d := &Draft{Seed: s.o.Seed, Walk: n, Lang: wording.Lang(s.o.Lang)}
	last := len(p.walk.Hops) - 1
	d.Plan.Answer = last
	atom := func(from wording.Term, step csr.Step, to wording.Term) {
		r := s.g.Relation(step.Relation())
		if step.Inverse() {
			from, to = to, from
		}
		d.Plan.Atoms = append(d.Plan.Atoms, wording.Atom{Subject: from, Relation: wording.Relation{ID: r.ID, Label: r.Label, LabelZH: r.LabelZH}, Object: to})
	}
	from := wording.Name(s.name(p.walk.Anchor))
	for i, h := range p.walk.Hops {
		d.Plan.Kinds = append(d.Plan.Kinds, wording.KindOf(s.g.Type(h.To)))
		atom(from, h.Step, wording.Var(i))
		from = wording.Var(i)
	}
	for _, k := range p.conds {
		at := wording.Var(k.Place - 1)
		switch {
		case k.Set < 0:
			atom(at, k.Step, wording.Name(s.name(k.To)))
		case s.sets[k.Set].Type != "":
			class := s.sets[k.Set].Type
			mark := wording.Mark{Var: at.Var, Kind: wording.IsClass, Class: class, ClassZH: class}
			if c, ok := classes[class]; ok {
				mark.Class, mark.ClassZH = c[0], c[1]
			}
			d.Plan.Marks = append(d.Plan.Marks, mark)
		default:
			set, date := s.sets[k.Set], wording.Var(len(d.Plan.Kinds))
			d.Plan.Kinds = append(d.Plan.Kinds, wording.Date)
			atom(at, csr.Along(set.Relation), date)
			d.Plan.Marks = append(d.Plan.Marks, wording.Mark{Var: date.Var, Kind: wording.InYears, From: int64(set.Decade), To: int64(set.Decade) + 9})
		}
	}
	return d
}

// clues are the entities that the question names.
func (s *Space) clues(p *proof) []quarry.Named {
	out := []quarry.Named{s.g.Named(p.walk.Anchor)}
	for _, k := range p.conds {
		if k.Set < 0 {
			out = append(out, s.g.Named(k.To))
		}
	}
	return out
}

// leaks says what a text gives away, "" when nothing.
func (s *Space) leaks(p *proof, text string) string {
	answer := s.g.Named(p.walk.Answer())
	secret := leak.Secret{Answer: answer.Name, Aliases: answer.Aliases}
	id := func(id, name string) {
		if id != name {
			secret.IDs = append(secret.IDs, id)
		}
	}
	id(s.g.ID(p.walk.Anchor), s.g.Name(p.walk.Anchor))
	for i, h := range p.walk.Hops {
		id(s.g.ID(h.To), s.g.Name(h.To))
		id(s.g.RelationID(h.Step.Relation()), s.g.Label(h.Step.Relation()))
		if i < len(p.walk.Hops)-1 {
			secret.Inside = append(secret.Inside, s.g.Named(h.To))
		}
	}
	var df func(string) float64
	if s.texts != nil {
		df = func(token string) float64 { return float64(s.texts.frequency(token)) / float64(s.g.Documents()) }
	}
	for _, f := range leak.Check(text, secret, df) {
		if f.Kind == leak.KindNodeID && s.mustSay(p, f.Text) {
			continue
		}
		return fmt.Sprintf("%s: %q matches %q", f.Kind, f.Text, f.Match)
	}
	return ""
}

// mustSay says whether an id stands in for the name of something that the question names: the graph has no better one.
func (s *Space) mustSay(p *proof, id string) bool {
	return slices.ContainsFunc(s.clues(p), func(c quarry.Named) bool { return c.ID == id && c.Name == id })
}

// WalkID says where a question comes from: with the graph and the options it can be drawn again.
type WalkID struct {
	Number int    `json:"number"`
	Seed   uint64 `json:"seed"`
	Shape  string `json:"shape"`
	Hops   int    `json:"hops"`
}

// question is a proven candidate with its text.
func (s *Space) question(n int, p *proof, text string) *quarry.Question {
	g := s.g
	answer := g.Named(p.walk.Answer())
	q := &quarry.Question{Text: text, Answer: answer.Name, AnswerID: answer.ID, Lang: s.o.Lang, Source: "walk", Split: quarry.SplitTrain, License: s.o.License,
		AnswerSet: p.graph.Answers, AsOf: s.o.AsOf}
	if q.Lang == "zh" {
		q.Answer = s.name(p.walk.Answer())
	}
	if g.Literal(p.walk.Answer()) {
		q.AnswerID = ""
	}
	for _, a := range append([]string{answer.Name}, answer.Aliases...) {
		if a != q.Answer {
			q.Aliases = append(q.Aliases, a)
		}
	}
	variable := func(place int) string {
		switch place {
		case 0:
			return g.ID(p.walk.Anchor)
		case len(p.walk.Hops):
			return "?a"
		}
		return fmt.Sprintf("?v%d", place)
	}
	var path []quarry.Named
	for i, h := range p.walk.Hops {
		q.Path = append(q.Path, quarry.Hop{Statement: s.cite(h.Edge, p.docs[i]), Inverse: h.Step.Inverse()})
		q.Atoms = append(q.Atoms, atomOf(g.RelationID(h.Step.Relation()), variable(i), variable(i+1), h.Step.Inverse()))
		path = append(path, g.Named(h.To))
	}
	q.Entities = leak.Rewarded(text, path)
	for i, k := range p.conds {
		if p.edges[i] == csr.NoDoc {
			continue
		}
		to, inverse := "", false
		if k.Set >= 0 {
			to = dateVariable(i)
		} else {
			to, inverse = g.ID(k.To), k.Step.Inverse()
		}
		st := s.cite(p.edges[i], g.Docs[p.edges[i]])
		q.Conditions = append(q.Conditions, st)
		q.Atoms = append(q.Atoms, atomOf(st.Predicate, variable(k.Place), to, inverse))
	}
	q.Certificate = s.certificateOf(p, variable)
	q.Walk = encode(WalkID{Number: n, Seed: s.o.Seed, Shape: string(walk.Chain), Hops: len(p.walk.Hops)})
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d\n%s", g.Digest(), s.o.Seed, n, text))
	q.ID = "q-" + hex.EncodeToString(sum[:8])
	return q
}

func dateVariable(condition int) string { return fmt.Sprintf("?d%d", condition+1) }

func atomOf(p, from, to string, inverse bool) quarry.Atom {
	if inverse {
		from, to = to, from
	}
	return quarry.Atom{S: from, P: p, O: to}
}

// encode is for values of our own, strings and finite numbers: it cannot fail.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
