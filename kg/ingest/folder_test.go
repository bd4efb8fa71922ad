package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// TestFolderRefuses replaces one line of a good folder, or appends one, and expects file, line and what was expected.
func TestFolderRefuses(t *testing.T) {
	good := map[string]string{
		DocsFile: `{"id":"d0","title":"Ana Ro","sents":["Ana Ro was born in Lum .","She sings ."]}
{"id":"d1","title":"Lum","sents":["Lum is a town .","Ana Ro grew up there ."]}`,
		EntitiesFile: `{"id":"e0","name":"Ana Ro","type":"PER","aliases":["Ana"],"docs":["d0","d1"]}
{"id":"e1","name":"Lum","type":"LOC","aliases":[],"docs":["d0","d1"]}
{"id":"e2","name":"1950","type":"TIME","aliases":[],"docs":[]}`,
		RelationsFile: "P19\tplace of birth\t出生地\twhere a person was born\nP569\tdate of birth",
		TriplesFile:   "e0\tP19\te1\td0\t0\ne0\tP569\te2\td0\t\ne0\tP19\te1\td1\t0,1",
	}
	for _, tc := range []struct {
		name, file string
		line       int // 1-based; one past the end appends
		text, want string
	}{
		{"truncated triple", TriplesFile, 3, "e0\tP19\te1", "expected 5 columns (subject, relation, object, document, evidence), found 3"},
		{"too many columns", TriplesFile, 1, "e0\tP19\te1\td0\t0\tx", "expected 5 columns (subject, relation, object, document, evidence), found 6"},
		{"garbled column", TriplesFile, 1, "e0 P19\te1\td0\t0\t1", `column 1: expected an id of entities.jsonl, found "e0 P19"`},
		{"unknown subject", TriplesFile, 2, "e9\tP19\te1\td0\t0", `column 1: expected an id of entities.jsonl, found "e9"`},
		{"unknown relation", TriplesFile, 2, "e0\tP20\te1\td0\t0", `column 2: expected an id of relations.tsv, found "P20"`},
		{"unknown object", TriplesFile, 2, "e0\tP19\te7\td0\t0", `column 3: expected an id of entities.jsonl, found "e7"`},
		{"unknown document", TriplesFile, 2, "e0\tP19\te1\td5\t0", `column 4: expected an id of docs.jsonl, found "d5"`},
		{"evidence out of range", TriplesFile, 2, "e0\tP19\te1\td0\t0,2", `column 5: expected sentence numbers from 0 to 1, found "2"`},
		{"negative evidence", TriplesFile, 2, "e0\tP19\te1\td0\t-1", `column 5: expected sentence numbers from 0 to 1, found "-1"`},
		{"signed evidence", TriplesFile, 2, "e0\tP19\te1\td0\t+1", `column 5: expected sentence numbers from 0 to 1, found "+1"`},
		{"evidence not a number", TriplesFile, 2, "e0\tP19\te1\td0\tone", `column 5: expected sentence numbers from 0 to 1, found "one"`},
		{"trailing comma", TriplesFile, 2, "e0\tP19\te1\td0\t1,", `column 5: expected sentence numbers from 0 to 1, found ""`},
		{"huge evidence", TriplesFile, 2, "e0\tP19\te1\td0\t99999999999999999999", `column 5: expected sentence numbers from 0 to 1, found "99999999999999999999"`},
		{"invalid UTF-8 in a triple", TriplesFile, 2, "e0\tP19\te1\td0\t\xff", "expected UTF-8, found other bytes"},
		{"invalid UTF-8 in a document", DocsFile, 2, `{"id":"d1","title":"Lum","sents":["caf` + "\xe9" + ` ."]}`, "expected UTF-8, found other bytes"},
		{"document twice", DocsFile, 3, `{"id":"d0","title":"x","sents":["y"]}`, `expected each document once, found "d0" again`},
		{"NUL in a sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["y","a\u0000b"]}`, "sents[1]: expected one line of text"},
		{"line break in a sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["a\nb"]}`, "sents[0]: expected one line of text, found a line break"},
		{"carriage return in a sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["a\rb"]}`, "sents[0]: expected one line of text"},
		{"line break in a title", DocsFile, 1, `{"id":"d0","title":"x\ny","sents":["a"]}`, "title: expected one line of text"},
		{"empty sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["a",""]}`, "sents[1]: expected a sentence, found an empty one"},
		{"sentences twice", DocsFile, 2, `{"id":"d1","title":"x","sents":["a"],"sents":["b"]}`, `expected each key once, found "sents" again`},
		{"id twice in other letters", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"],"ID":"d9"}`, `expected each key once, found "ID" again`},
		{"foreign key twice", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"],"more":{"a":[1]},"more":1}`, `expected each key once, found "more" again`},
		{"no sentences", DocsFile, 1, `{"id":"d0","title":"x","sents":[]}`, "expected id, title and sents, found one of them missing or empty"},
		{"no title", DocsFile, 1, `{"id":"d0","sents":["a"]}`, "expected id, title and sents, found one of them missing or empty"},
		{"torn JSON", DocsFile, 1, `{"id":"d0","title":"x","sen`, "expected an object with id, title and sents: "},
		{"wrong type", DocsFile, 1, `{"id":"d0","title":"x","sents":"a"}`, "expected an object with id, title and sents: "},
		{"two values", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"]} {}`, "expected an object with id, title and sents: "},
		{"stray bracket", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"]}}`, "expected an object with id, title and sents: "},
		{"no object", DocsFile, 1, `[]`, "expected an object with id, title and sents: "},
		{"entity twice", EntitiesFile, 2, `{"id":"e0","name":"x","type":"PER"}`, `expected each entity once, found "e0" again`},
		{"entity without name", EntitiesFile, 2, `{"id":"e1","type":"PER"}`, "expected id, name and type, found one of them missing or empty"},
		{"entity without type", EntitiesFile, 2, `{"id":"e1","name":"x"}`, "expected id, name and type, found one of them missing or empty"},
		{"entity with a number as id", EntitiesFile, 2, `{"id":1}`, "expected an object with id, name and type: "},
		{"entity of unknown type", EntitiesFile, 2, `{"id":"e1","name":"x","type":"PERSON"}`, `type: expected one of PER, LOC, ORG, MISC, TIME, NUM, found "PERSON"`},
		{"entity in unknown document", EntitiesFile, 2, `{"id":"e1","name":"x","type":"LOC","docs":["d0","d7"]}`, `docs[1]: expected an id of docs.jsonl, found "d7"`},
		{"entity in a document twice", EntitiesFile, 2, `{"id":"e1","name":"x","type":"LOC","docs":["d0","d1","d0"]}`, `docs: expected each document once, found "d0" again`},
		{"name twice", EntitiesFile, 2, `{"id":"e1","name":"x","type":"LOC","name":"y"}`, `expected each key once, found "name" again`},
		{"line break in a name", EntitiesFile, 2, `{"id":"e1","name":"x\ny","type":"LOC"}`, "name: expected one line of text"},
		{"NUL in an alias", EntitiesFile, 2, `{"id":"e1","name":"x","aliases":["b","a\u0000"],"type":"LOC"}`, "aliases[1]: expected one line of text"},
		{"relation twice", RelationsFile, 3, "P19\tagain", `expected each relation once, found "P19" again`},
		{"relation without label", RelationsFile, 1, "P19", "expected 2 to 4 columns (id, label, label in Chinese, description), found 1"},
		{"relation with an empty label", RelationsFile, 1, "P19\t", "column 2: expected a label, found none"},
		{"relation with an empty id", RelationsFile, 1, "\tplace of birth", "column 1: expected an id, found none"},
		{"relation with five columns", RelationsFile, 1, "P19\ta\tb\tc\td", "expected 2 to 4 columns (id, label, label in Chinese, description), found 5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines := append(strings.Split(good[tc.file], "\n"), "")
			lines[tc.line-1] = tc.text
			files := map[string]string{DocsFile: good[DocsFile], EntitiesFile: good[EntitiesFile], RelationsFile: good[RelationsFile], TriplesFile: good[TriplesFile]}
			files[tc.file] = strings.Join(lines, "\n")
			_, err := Read(context.Background(), &recorder{}, Options{}, folderWith(t, files))
			var e *quarry.Error
			if !errors.As(err, &e) || e.Kind != quarry.KindInvalid || e.Hint == "" {
				t.Fatalf("got %v, want an invalid line and a hint", err)
			}
			if place := fmt.Sprintf("%s:%d", tc.file, tc.line); !strings.HasSuffix(e.Subject, place) {
				t.Errorf("subject %q does not name %s", e.Subject, place)
			}
			if !strings.HasPrefix(e.Msg, tc.want) {
				t.Errorf("message %q, want %q", e.Msg, tc.want)
			}
		})
	}
}

// TestLinkedFolder: a link to a folder is read like the folder, be it a data folder or just files.
func TestLinkedFolder(t *testing.T) {
	for _, dir := range []string{folderWith(t, nil), openKEFolder(t, map[string]string{"a.tsv": "a\tp\tb\n", "b.tsv": "b\tp\tc\n"})} {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		var direct, linked recorder
		for from, into := range map[string]*recorder{dir: &direct, link: &linked} {
			if _, err := Read(context.Background(), into, Options{}, from); err != nil {
				t.Fatal(err)
			}
		}
		same(t, linked.out, direct.out...)
	}
}
