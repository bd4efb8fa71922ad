package datasets

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

func TestSchemaGolden(t *testing.T) {
	for kind, text := range map[string]string{"q1": schemaText[Q1](), "s1": schemaText[S1](), "d1": schemaText[D1](), "r1": schemaText[R1](), "t1": schemaText[T1]()} {
		path := filepath.Join("testdata", kind+".schema.txt")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := string(must(os.ReadFile(path))(t))
		if diff := cmp.Diff(want, text+"\n"); diff != "" {
			t.Errorf("%s changed (-golden +now); a change of columns counts the schema version up:\n%s", kind, diff)
		}
	}
}

// Names that make a trainer take another path, replace its own data or fail (TRL, verl, ms-swift).
func TestForbiddenColumns(t *testing.T) {
	verl := strings.Fields(`sampling_params trajectory trace priority index tools_kwargs interaction_kwargs raw_prompt dummy_tensor session_id
		__rollout_n__ __do_sample__ global_steps validate uid prompts responses response_mask rollout_log_probs rm_scores routed_experts
		teacher_logprobs teacher_ids`)
	s1 := strings.Fields(`prompt completion chosen rejected text conversation conversations system instruction input output label labels input_ids
		attention_mask completion_mask assistant_masks images videos audios chat_template_kwargs channel margin objects`)
	trl := strings.Fields("input_ids labels completion_mask attention_mask")
	for _, c := range []struct {
		schema    *parquet.Schema
		forbidden []string
	}{
		{parquet.SchemaOf(S1{}), slices.Concat(verl, s1)},
		{parquet.SchemaOf(D1{}), slices.Concat(verl, trl)},
		{parquet.SchemaOf(R1{}), slices.Concat(verl, trl)},
		{parquet.SchemaOf(T1{}), slices.Concat(verl, s1)},
	} {
		for _, f := range c.schema.Fields() {
			if slices.Contains(c.forbidden, f.Name()) || strings.HasPrefix(f.Name(), "teacher_") {
				t.Errorf("%s has the column %s", c.schema.Name(), f.Name())
			}
		}
	}
}

// Every column is snake case, lists have three levels and only the annotations that all readers know are used.
func TestSchemaRules(t *testing.T) {
	for _, s := range []*parquet.Schema{parquet.SchemaOf(Q1{}), parquet.SchemaOf(S1{}), parquet.SchemaOf(D1{}), parquet.SchemaOf(R1{}), parquet.SchemaOf(T1{})} {
		for _, path := range s.Columns() {
			leaf, _ := s.Lookup(path...)
			for i, name := range path {
				if name != strings.ToLower(name) || strings.ContainsAny(name, ". -") {
					t.Errorf("%s: column name %q", s.Name(), name)
				}
				if name == "list" && (i+1 == len(path) || path[i+1] != "element") {
					t.Errorf("%s: %v is not a list of three levels", s.Name(), path)
				}
			}
			if n := strings.Count(strings.Join(path, "."), "list"); n != leaf.MaxRepetitionLevel {
				t.Errorf("%s: %v has %d repeated levels and %d lists", s.Name(), path, leaf.MaxRepetitionLevel, n)
			}
			if k := leaf.Node.Type().String(); !slices.Contains([]string{"STRING", "BOOLEAN", "INT(8,true)", "INT(32,true)", "INT(64,true)", "FLOAT", "DOUBLE"}, k) {
				t.Errorf("%s: %v has type %s", s.Name(), path, k)
			}
		}
	}
}

// The statistics of short columns stay, those of every other text column are off.
func TestShortColumnsExist(t *testing.T) {
	for kind, sp := range knownKinds() {
		row := map[string]any{"Q1": Q1{}, "S1": S1{}, "D1": D1{}, "R1": R1{}, "T1": T1{}}[kind]
		s := parquet.SchemaOf(row)
		for _, name := range sp.short {
			leaf, ok := s.Lookup(name)
			if !ok || leaf.Node.Type().Kind() != parquet.ByteArray {
				t.Errorf("%s: short column %q is not a text column", kind, name)
			}
		}
		if reflect.TypeOf(row).Name() != sp.kind || s.Name() != sp.kind {
			t.Errorf("%s: type %T, message %s", sp.kind, row, s.Name())
		}
	}
}
