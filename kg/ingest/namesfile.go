package ingest

import (
	"encoding/json"

	"github.com/quarry-rl/quarry/kg/store"
)

// named is a value of entity2wikidata.json, which comes with FB15k-237 and other sets.
type named struct {
	Label        string   `json:"label"`
	LabelZH      string   `json:"label_zh"`
	Alternatives []string `json:"alternatives"`
	Aliases      []string `json:"aliases"`
	Description  string   `json:"description"`
	Type         string   `json:"type"`
}

// readNames reads one object from id to names. A value that is an object names an entity; one that is a string names a
// relation, as in DocRED's rel_info.json.
func (r *run) readNames(in *input) error {
	return r.eachJSON(in, true, func(key, value []byte) error {
		var id string
		if err := json.Unmarshal(key, &id); err != nil || id == "" {
			return faultf("expected an id as key, found %q", key)
		}
		if len(value) > 0 && value[0] == '"' {
			var label string
			if err := json.Unmarshal(value, &label); err != nil || label == "" {
				return faultf("%s: expected a label, found %q", id, value)
			}
			return r.relation(&store.Relation{ID: id, Label: label})
		}
		var n *named
		if err := json.Unmarshal(value, &n); err != nil || n == nil {
			return faultf("%s: expected an object with label, alternatives and description, found %s", id, clip(value))
		}
		return r.entity(&store.Entity{ID: id, Name: n.Label, NameZH: n.LabelZH, Aliases: append(n.Alternatives, n.Aliases...), Description: n.Description, Type: n.Type})
	})
}

// clip shortens what an error shows.
func clip(b []byte) string {
	if len(b) <= 40 {
		return string(b)
	}
	return string(b[:40]) + "..."
}
