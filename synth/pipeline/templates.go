package pipeline

import (
	"context"
	"errors"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/wording"
)

// Templates is the writer that needs no model: package wording, with phrases for relations from a lexicon.
type Templates struct {
	Lexicon *wording.Lexicon
}

// Write words a draft in a frame drawn from its seed and walk.
func (t Templates) Write(_ context.Context, d *Draft) (Wording, error) {
	p := d.Plan
	p.Atoms = append([]wording.Atom{}, p.Atoms...)
	for i := range p.Atoms {
		p.Atoms[i].Relation = t.Lexicon.Relation(p.Atoms[i].Relation)
	}
	frame := (d.Seed + uint64(d.Walk)*0x9e3779b97f4a7c15) >> 33
	text, err := wording.Write(p, d.Lang, int(frame))
	var e *quarry.Error
	if errors.As(err, &e) && e.Subject == wording.NotReadable {
		return Wording{Reason: err.Error()}, nil
	}
	return Wording{Text: text}, err
}
