package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quarry-rl/quarry"
)

// lookupIn serves a map as an environment or as flags.
func lookupIn(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// TestPrecedence covers every key at every level: default < file < env < flag, and each level alone.
func TestPrecedence(t *testing.T) {
	values := map[string][3]string{ // file, env, flag
		"state_dir": {"from-file", "from-env", "from-flag"},
		"endpoint":  {"http://file:1", "http://env:2", "https://flag:3"},
		"log_level": {"debug", "info", "error"},
		"output":    {"json", "text", "json"},
	}
	keys := SettingKeys()
	if len(values) != len(keys) {
		t.Fatalf("the table has %d keys, Settings %d", len(values), len(keys))
	}
	for i, key := range keys {
		for levels := range 8 { // bit 0 file, bit 1 env, bit 2 flag
			dir := t.TempDir()
			want := DefaultSettings()
			field := reflect.ValueOf(&want).Elem().Field(i)
			env, flags := map[string]string{"QUARRY_OTHER": "x"}, map[string]string{}
			for level, set := range []func(v string){
				func(v string) {
					if err := os.WriteFile(filepath.Join(dir, SettingsFile), []byte(key+": "+v+"\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				},
				func(v string) { env[EnvName(key)] = v },
				func(v string) { flags[FlagName(key)] = v },
			} {
				if levels&(1<<level) != 0 {
					set(values[key][level])
					field.SetString(values[key][level])
				}
			}
			got, err := LoadSettings(Sources{Dir: dir, Env: lookupIn(env), Flag: lookupIn(flags)})
			if err != nil {
				t.Fatalf("%s, levels %03b: %v", key, levels, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, levels %03b: %s", key, levels, diff)
			}
		}
	}
}

func TestEmptyVariableIsUnset(t *testing.T) {
	got, err := LoadSettings(Sources{Dir: t.TempDir(), Env: lookupIn(map[string]string{"QUARRY_OUTPUT": ""})})
	if err != nil || got != DefaultSettings() {
		t.Errorf("%v %v", got, err)
	}
}

func TestEmptyFlagOverridesTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, SettingsFile), []byte("endpoint: http://x:1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := LoadSettings(Sources{Dir: dir, Flag: lookupIn(map[string]string{"endpoint": ""})})
	if err != nil || got.Endpoint != "" {
		t.Errorf("%v %v: --endpoint '' must give the embedded engine", got, err)
	}
}

func TestNamedFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.yaml"), []byte("output: json\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, SettingsFile), []byte("output: text\nlog_level: debug\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := LoadSettings(Sources{Dir: dir, File: "other.yaml"})
	want := DefaultSettings()
	want.Output = "json" // and quarry.yaml is not read
	if err != nil || got != want {
		t.Errorf("%v %v", got, err)
	}
	_, err = LoadSettings(Sources{Dir: dir, File: "none.yaml"})
	if quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("missing named file: %v", err)
	}
}

func TestSettingsErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		file       string
		env, flags map[string]string
		want       []string
	}{
		"unknown key":  {file: "statedir: x\n", want: []string{`invalid quarry.yaml:1:1: unknown key statedir | did you mean state_dir?`}},
		"wrong type":   {file: "output: json\nlog_level: 3\n", want: []string{`invalid quarry.yaml:2:12: log_level is 3, expected text | write "3" with the quotes`}},
		"bad in file":  {file: "output: xml\n", want: []string{`invalid quarry.yaml:1:1: output is "xml", expected one of text, json`}},
		"bad env":      {env: map[string]string{"QUARRY_LOG_LEVEL": "loud"}, want: []string{`invalid QUARRY_LOG_LEVEL: log_level is "loud", expected one of debug, info, warn, error`}},
		"bad flag":     {flags: map[string]string{"state-dir": ""}, want: []string{`invalid --state-dir: state_dir is "", expected a folder`}},
		"bad endpoint": {flags: map[string]string{"endpoint": "localhost:3"}, want: []string{`invalid --endpoint: endpoint is "localhost:3", expected a URL such as http://127.0.0.1:30000, or nothing for the embedded engine`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.file != "" {
				if err := os.WriteFile(filepath.Join(dir, SettingsFile), []byte(tc.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := LoadSettings(Sources{Dir: dir, Env: lookupIn(tc.env), Flag: lookupIn(tc.flags)})
			if diff := cmp.Diff(tc.want, flat(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
