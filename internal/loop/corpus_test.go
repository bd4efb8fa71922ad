package loop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/ingest"
)

const wiki = "../../examples/wiki"

// writeCorpus makes a data folder of the demo's first n documents: what reads every sentence costs less with fewer.
func writeCorpus(dir string, n int) error {
	docs, err := readLines[kg.Document](filepath.Join(wiki, ingest.DocsFile), noSchema)
	if err != nil {
		return err
	}
	docs = docs[:n]
	in := map[string]bool{}
	for _, d := range docs {
		in[d.ID] = true
	}
	all, err := readLines[kg.Entity](filepath.Join(wiki, ingest.EntitiesFile), noSchema)
	if err != nil {
		return err
	}
	var entities []kg.Entity
	for _, en := range all {
		en.Docs = slices.DeleteFunc(en.Docs, func(d string) bool { return !in[d] })
		if len(en.Docs) > 0 {
			entities = append(entities, en)
		}
	}
	triples, err := os.ReadFile(filepath.Join(wiki, ingest.TriplesFile))
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(triples)) {
		if f := strings.Split(line, "\t"); in[f[3]] {
			lines = append(lines, line)
		}
	}
	relations, err := os.ReadFile(filepath.Join(wiki, ingest.RelationsFile))
	if err != nil {
		return err
	}
	if err := writeLines(filepath.Join(dir, ingest.DocsFile), noSchema, docs); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(dir, ingest.EntitiesFile), noSchema, entities); err != nil {
		return err
	}
	for name, data := range map[string]string{ingest.TriplesFile: strings.Join(lines, ""), ingest.RelationsFile: string(relations)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			return err
		}
	}
	return nil
}
