package configs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update rewrites schema.json and the tables of docs/configuration.md: go test ./configs -run Generated -update.
var update = flag.Bool("update", false, "rewrite generated files")

const docPage = "../docs/configuration.md"

// fieldDocs reads the doc comments of a file's struct fields, "Type.Field" -> comment on one line without the name.
func fieldDocs(t *testing.T, files ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range st.Fields.List {
				for _, id := range field.Names {
					text := strings.Join(strings.Fields(field.Doc.Text()), " ")
					text = strings.TrimPrefix(text, id.Name+" ")
					for _, verb := range []string{"is ", "are ", "says "} {
						text = strings.TrimPrefix(text, verb)
					}
					out[ts.Name.Name+"."+id.Name] = strings.TrimSuffix(text, ".")
				}
			}
			return false
		})
	}
	return out
}

// object keeps the order of keys, which encoding/json would sort away in a map.
type object []struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		v, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.key, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o *object) add(key string, value any) {
	*o = append(*o, struct {
		key   string
		value any
	}{key, value})
}

func schemaOf(v reflect.Value, docs map[string]string) object {
	var o, props object
	o.add("type", "object")
	for i := range v.NumField() {
		f := v.Type().Field(i)
		fv := v.Field(i)
		if fv.Kind() == reflect.Struct {
			props.add(yamlName(f), schemaOf(fv, docs))
			continue
		}
		var p object
		switch fv.Kind() {
		case reflect.String:
			p.add("type", "string")
		case reflect.Bool:
			p.add("type", "boolean")
		case reflect.Int:
			p.add("type", "integer")
		case reflect.Uint64:
			p.add("type", "integer")
			p.add("minimum", 0)
		case reflect.Float64:
			p.add("type", "number")
		case reflect.Slice:
			p.add("type", "array")
			p.add("items", map[string]string{"type": "string"})
		}
		p.add("description", docs[v.Type().Name()+"."+f.Name])
		if e := f.Tag.Get("enum"); e != "" {
			p.add("enum", strings.Split(e, ","))
		}
		if !fv.IsZero() || fv.Kind() != reflect.String {
			p.add("default", fv.Interface())
		}
		props.add(yamlName(f), p)
	}
	o.add("additionalProperties", false)
	o.add("properties", props)
	return o
}

func renderSchema(t *testing.T) []byte {
	t.Helper()
	var o object
	o.add("$schema", "https://json-schema.org/draft/2020-12/schema")
	o.add("title", "quarry spec of kind "+KindRun)
	o.add("required", []string{"apiVersion", "kind"})
	o = append(o, schemaOf(reflect.ValueOf(Default()), fieldDocs(t, "run.go"))...)
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// tables renders the generated part of docs/configuration.md.
func tables(t *testing.T) string {
	t.Helper()
	docs := fieldDocs(t, "run.go", "settings.go")
	var b strings.Builder
	b.WriteString("### Settings\n\n| key | default | flag | variable | meaning |\n|---|---|---|---|---|\n")
	s := reflect.ValueOf(DefaultSettings())
	for i, key := range SettingKeys() {
		fmt.Fprintf(&b, "| `%s` | `%s` | `--%s` | `%s` | %s |\n", key, literal(s.Field(i)), FlagName(key), EnvName(key),
			docs["Settings."+s.Type().Field(i).Name])
	}
	b.WriteString("\n### Spec of kind Run\n\n| key | default | meaning |\n|---|---|---|\n")
	var rows func(v reflect.Value, prefix string)
	rows = func(v reflect.Value, prefix string) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			path := join(prefix, yamlName(f))
			if v.Field(i).Kind() == reflect.Struct {
				rows(v.Field(i), path)
				continue
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", path, literal(v.Field(i)), docs[v.Type().Name()+"."+f.Name])
		}
	}
	rows(reflect.ValueOf(Default()), "")
	return b.String()
}

func literal(v reflect.Value) string {
	if v.Kind() == reflect.String && v.Len() > 0 {
		return v.String()
	}
	j, _ := json.Marshal(v.Interface())
	return string(j)
}

func TestGeneratedSchema(t *testing.T) {
	golden(t, "schema.json", renderSchema(t))
}

func TestGeneratedDocs(t *testing.T) {
	page, err := os.ReadFile(docPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- generated: begin -->\n", "<!-- generated: end -->"
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the markers %q and %q", docPage, begin, end)
	}
	golden(t, docPage, []byte(head+begin+tables(t)+end+tail))
}

func golden(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s is not up to date (-file +generated):\n%s\nrun: go test ./configs -run Generated -update", path, diff)
	}
}

// TestEveryKeyIsDocumented keeps a new field from entering the schema without a sentence.
func TestEveryKeyIsDocumented(t *testing.T) {
	docs := fieldDocs(t, "run.go", "settings.go")
	var walk func(rt reflect.Type)
	walk = func(rt reflect.Type) {
		for i := range rt.NumField() {
			f := rt.Field(i)
			if f.Tag.Get("yaml") == "" || f.Tag.Get("yaml") != f.Tag.Get("json") {
				t.Errorf("%s.%s: yaml and json tags differ or are missing", rt.Name(), f.Name)
			}
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type)
				continue
			}
			if docs[rt.Name()+"."+f.Name] == "" {
				t.Errorf("%s.%s has no doc comment", rt.Name(), f.Name)
			}
		}
	}
	walk(reflect.TypeFor[Run]())
	walk(reflect.TypeFor[Settings]())
}
