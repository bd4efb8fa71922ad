package configs

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/quarry-rl/quarry"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

const opSpec = "spec"

// Presets lists the names of the specs that come with the program, sorted.
func Presets() []string {
	entries, err := fs.ReadDir(presetFiles, "presets")
	if err != nil {
		return nil // the folder is embedded
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(out) // without the extension "demo" comes before "demo-small"
	return out
}

// IsPreset says whether name is one of Presets.
func IsPreset(name string) bool {
	_, err := fs.Stat(presetFiles, "presets/"+name+".yaml")
	return err == nil && fs.ValidPath(name)
}

// Load reads a preset by its name, or else a spec file by its path, and validates it. Errors: KindNotFound for
// neither, listing the presets; otherwise as Parse.
func Load(arg string) (Run, error) {
	if IsPreset(arg) {
		src, err := presetFiles.ReadFile("presets/" + arg + ".yaml")
		if err != nil {
			return Run{}, err
		}
		return Parse(arg+".yaml", src)
	}
	src, err := readFile(opSpec, arg)
	if err != nil {
		return Run{}, err
	}
	return Parse(arg, src)
}

// readFile reads a configuration file no longer than one byte above the limit that decode enforces.
func readFile(op, path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && op == opSpec:
		names := Presets()
		hint := "give the path of a spec file, or a preset: " + strings.Join(names, ", ")
		if near := Suggest(path, names); near != "" {
			hint = fmt.Sprintf("did you mean %s? presets: %s", near, strings.Join(names, ", "))
		}
		return nil, &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: path, Msg: "no such file or preset", Hint: hint}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: path, Msg: "no such file",
			Hint: "create it, or leave --config out"}
	case err != nil:
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: path, Err: err}
	case !info.Mode().IsRegular():
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: path, Msg: "not a regular file, expected a YAML file",
			Hint: "name the file itself"}
	case info.Size() > maxBytes:
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: path,
			Msg: fmt.Sprintf("file has %d bytes, expected at most %d", info.Size(), maxBytes)}
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: path, Err: err, Hint: "check the file's permissions"}
	}
	return src, nil
}

// Parse reads the text of a spec over Default and validates it; file names it in errors and gives a spec without a
// name its name. All problems are reported, joined, each of KindInvalid with "file:line:col" as Subject.
func Parse(file string, src []byte) (Run, error) {
	if err := checkSize(opSpec, file, src); err != nil {
		return Run{}, err
	}
	run := Default()
	run.APIVersion, run.Kind = "", "" // both must stand in the file
	base := filepath.Base(file)
	run.Name = strings.TrimSuffix(base, filepath.Ext(base))
	at, err := decode(opSpec, file, src, &run)
	if at == nil {
		return Run{}, err
	}
	head := missingHead(opSpec, file, KindRun, at)
	if err := errors.Join(head, err); err != nil {
		return Run{}, err
	}
	var errs []error
	for _, p := range run.problems() {
		subject := file
		if pos, ok := at[p.path]; ok {
			subject = pos
		}
		errs = append(errs, &quarry.Error{Op: opSpec, Kind: quarry.KindInvalid, Subject: subject, Msg: p.message()})
	}
	if err := errors.Join(errs...); err != nil {
		return Run{}, err
	}
	return run, nil
}

// missingHead names the keys that say what the file is.
func missingHead(op, file, kind string, at map[string]string) error {
	var errs []error
	for _, k := range []struct{ key, value string }{{"apiVersion", APIVersion}, {"kind", kind}} {
		if _, ok := at[k.key]; !ok {
			errs = append(errs, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: file,
				Msg: fmt.Sprintf("%s is missing, expected %s", k.key, k.value), Hint: fmt.Sprintf("add the line `%s: %s`", k.key, k.value)})
		}
	}
	return errors.Join(errs...)
}

// YAML renders the whole spec, defaults included; Parse reads it back to the same value.
func (r Run) YAML() ([]byte, error) {
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b, yaml.IndentSequence(true), yaml.CustomMarshaler(scalar)).Encode(r); err != nil {
		return nil, &quarry.Error{Op: opSpec, Kind: quarry.KindInternal, Subject: r.Name, Err: err}
	}
	return b.Bytes(), nil
}

// A spec is read with bounds: the library's memory grows with the square of the depth of brackets.
const (
	maxSpecBytes    = 1 << 20
	maxSpecBrackets = 1000
)

func checkSize(op, file string, src []byte) error {
	n := bytes.Count(src, []byte("[")) + bytes.Count(src, []byte("{"))
	if len(src) <= maxSpecBytes && n <= maxSpecBrackets {
		return nil
	}
	return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: file, Msg: fmt.Sprintf("%d bytes with %d brackets, expected at most %d and %d", len(src), n, maxSpecBytes, maxSpecBrackets),
		Hint: "is this the spec? a spec is a page of YAML"}
}

// plain is text that YAML reads as itself; the library leaves more unquoted than its own reader takes back ("? !").
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_/.-]*$`)

// scalar quotes every text that is not plainly a word or a path, as JSON does, which YAML reads alike.
func scalar(s string) ([]byte, error) {
	if plain.MatchString(s) && !slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}, strings.ToLower(s)) {
		return []byte(s), nil
	}
	return json.Marshal(s)
}
