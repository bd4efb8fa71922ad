package worldgen

import (
	"context"
	"testing"

	"github.com/quarry-rl/quarry/kg/store"
)

// records keeps all that a world tells.
type records struct {
	entities   map[string]*store.Entity
	order      []string // ids of what is no value, in order
	relations  map[string]*store.Relation
	documents  map[string]*store.Document
	statements []*store.Statement
}

func (r *records) Add(x store.Record) error {
	switch {
	case x.Entity != nil:
		if _, ok := r.entities[x.Entity.ID]; !ok && x.Entity.ID[0] == 'e' {
			r.order = append(r.order, x.Entity.ID)
		}
		r.entities[x.Entity.ID] = x.Entity
	case x.Relation != nil:
		r.relations[x.Relation.ID] = x.Relation
	case x.Document != nil:
		r.documents[x.Document.ID] = x.Document
	case x.Statement != nil:
		r.statements = append(r.statements, x.Statement)
	}
	return nil
}

func generate(tb testing.TB, o Options) (*World, *records) {
	tb.Helper()
	w, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	r := &records{entities: map[string]*store.Entity{}, relations: map[string]*store.Relation{}, documents: map[string]*store.Document{}}
	if err := w.Write(context.Background(), r, 2); err != nil {
		tb.Fatal(err)
	}
	return w, r
}
