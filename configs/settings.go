package configs

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/spf13/viper"
)

// SettingsFile is read from the working folder when no other file is named.
const SettingsFile = "quarry.yaml"

const opSettings = "settings"

// Settings say where and how this process works; no digest depends on them. The yaml tag is the key, with dashes the
// flag, in capitals after QUARRY_ the environment variable.
type Settings struct {
	// StateDir is the folder of runs and journals, relative to the working folder.
	StateDir string `json:"state_dir" yaml:"state_dir" mapstructure:"state_dir"`
	// Endpoint is the URL of an engine that speaks SGLang's native API; empty is the embedded one.
	Endpoint string `json:"endpoint" yaml:"endpoint" mapstructure:"endpoint"`
	// LogLevel is the least level written to stderr: debug, info, warn or error.
	LogLevel string `json:"log_level" yaml:"log_level" mapstructure:"log_level"`
	// Output is the form of results on stdout: text or json.
	Output string `json:"output" yaml:"output" mapstructure:"output"`
}

// DefaultSettings is the lowest level.
func DefaultSettings() Settings {
	return Settings{StateDir: ".quarry", LogLevel: "warn", Output: "text"}
}

// SettingKeys lists the keys in the order of Settings.
func SettingKeys() []string { return keyPaths(reflect.TypeFor[Settings](), "") }

// EnvName is the environment variable of a settings key: state_dir gives QUARRY_STATE_DIR.
func EnvName(key string) string { return "QUARRY_" + strings.ToUpper(key) }

// FlagName is the command-line flag of a settings key: state_dir gives state-dir.
func FlagName(key string) string { return strings.ReplaceAll(key, "_", "-") }

// Sources are the levels above the default, lowest first. Flag returns the value of a flag the user gave; Env and Flag
// may be nil. An empty variable counts as not set.
type Sources struct {
	Dir  string // working folder; empty is the process's own
	File string // settings file the user named; empty reads SettingsFile in Dir if it is there
	Env  func(name string) (string, bool)
	Flag func(name string) (string, bool)
}

// LoadSettings merges the levels default < file < environment < flag and validates the result. Errors: KindNotFound
// for a named file that is missing, KindInvalid with the line, variable or flag that is wrong.
func LoadSettings(src Sources) (Settings, error) {
	v := viper.New()
	defaults := reflect.ValueOf(DefaultSettings())
	origin := map[string]string{}
	for i, key := range SettingKeys() { // every key bound by name: viper's Unmarshal forgets those it never saw
		v.SetDefault(key, defaults.Field(i).Interface())
		origin[key] = "default"
	}
	if err := mergeFile(v, src, origin); err != nil {
		return Settings{}, err
	}
	env := map[string]any{}
	for _, key := range SettingKeys() {
		if value, ok := lookup(src.Env, EnvName(key)); ok && value != "" {
			env[key], origin[key] = value, EnvName(key)
		}
	}
	// The environment is merged over the file rather than bound: viper would read the process's own, and tests and
	// embedding programs pass theirs.
	if err := v.MergeConfigMap(env); err != nil {
		return Settings{}, &quarry.Error{Op: opSettings, Kind: quarry.KindInternal, Err: err}
	}
	for _, key := range SettingKeys() {
		if value, ok := lookup(src.Flag, FlagName(key)); ok {
			v.Set(key, value)
			origin[key] = "--" + FlagName(key)
		}
	}
	var s Settings
	if err := v.UnmarshalExact(&s); err != nil {
		return Settings{}, &quarry.Error{Op: opSettings, Kind: quarry.KindInvalid, Err: err}
	}
	return s, s.check(origin)
}

func lookup(f func(string) (string, bool), name string) (string, bool) {
	if f == nil {
		return "", false
	}
	return f(name)
}

// mergeFile reads the settings file strictly for its errors, then hands the same bytes to viper.
func mergeFile(v *viper.Viper, src Sources, origin map[string]string) error {
	path := src.File
	if path == "" {
		path = SettingsFile
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(src.Dir, path)
	}
	if _, err := os.Stat(path); src.File == "" && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	text, err := readFile(opSettings, path)
	if err != nil {
		return err
	}
	shown := src.File // as the user wrote it
	if shown == "" {
		shown = SettingsFile
	}
	var probe Settings
	at, err := decode(opSettings, shown, text, &probe)
	if err != nil {
		return err
	}
	for key, pos := range at {
		origin[key] = pos
	}
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return &quarry.Error{Op: opSettings, Kind: quarry.KindInvalid, Subject: shown, Err: err}
	}
	return nil
}

// check names the level a bad value came from, which is where the user must change it.
func (s Settings) check(origin map[string]string) error {
	var errs []error
	bad := func(key, value, want string) {
		errs = append(errs, &quarry.Error{Op: opSettings, Kind: quarry.KindInvalid, Subject: origin[key],
			Msg: fmt.Sprintf("%s is %q, expected %s", key, value, want)})
	}
	if s.StateDir == "" {
		bad("state_dir", s.StateDir, "a folder")
	}
	if u, err := url.Parse(s.Endpoint); s.Endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		bad("endpoint", s.Endpoint, "a URL such as http://127.0.0.1:30000, or nothing for the embedded engine")
	}
	if levels := []string{"debug", "info", "warn", "error"}; !slices.Contains(levels, s.LogLevel) {
		bad("log_level", s.LogLevel, "one of "+strings.Join(levels, ", "))
	}
	if forms := []string{"text", "json"}; !slices.Contains(forms, s.Output) {
		bad("output", s.Output, "one of "+strings.Join(forms, ", "))
	}
	return errors.Join(errs...)
}
