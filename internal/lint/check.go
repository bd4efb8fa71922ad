package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Finding is one violation.
type Finding struct {
	File string // slash-separated, relative to the module root
	Line int    // 0 when it concerns the whole file
	Msg  string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Msg
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Msg)
}

// Check reads every file below root, a module's root folder, and returns the violations in order of files. Folders
// whose name begins with a dot, but for CI's, hold nothing of the project; folders with their own go.mod are checked
// for words only.
func Check(root fs.FS) ([]Finding, error) {
	c := &checker{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if strings.HasPrefix(base, ".") && base != "." && base != ".ci" && base != ".github" {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil && name != "." {
				c.modules = append(c.modules, name)
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		c.file(name, src)
		return nil
	})
	return c.found, err
}

type checker struct {
	modules []string // folders of nested modules
	found   []Finding
}

func (c *checker) add(file string, line int, format string, args ...any) {
	c.found = append(c.found, Finding{file, line, fmt.Sprintf(format, args...)})
}

// generated is the standard mark of generated Go files.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (c *checker) file(name string, src []byte) {
	c.words(name, src)
	if !strings.HasSuffix(name, ".go") {
		return
	}
	for _, m := range c.modules {
		if within(name, m) {
			return
		}
	}
	if strings.Contains("/"+name, "/testdata/") {
		return
	}
	lines, limit := bytes.Count(src, []byte("\n")), maxLines
	if strings.HasSuffix(name, "_test.go") {
		limit = maxTestLines
	}
	if lines > limit && !generated.Match(src) {
		c.add(name, 0, "%d lines, at most %d: split it by what it holds", lines, limit)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		c.add(name, 0, "does not parse: %v", err)
		return
	}
	dir := path.Dir(name)
	if n := strings.TrimSuffix(f.Name.Name, "_test"); emptyNames[n] {
		c.add(name, fset.Position(f.Name.Pos()).Line, "package %s: name it for what it holds", n)
	}
	if strings.HasSuffix(name, "_test.go") {
		return // tests import what they need
	}
	c.imports(fset, f, name, dir)
}

// words looks through text files only: a NUL byte marks a binary one.
func (c *checker) words(name string, src []byte) {
	if bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0 {
		return
	}
	for _, w := range words {
		if at := wordAt(src, w); at >= 0 {
			c.add(name, 1+bytes.Count(src[:at], []byte("\n")), "says %q, which is of one machine only", w)
		}
	}
}

// wordAt finds a word that does not continue another one: a path below a domain or a folder is not a machine's.
func wordAt(src []byte, w string) int {
	for from := 0; ; {
		i := bytes.Index(src[from:], []byte(w))
		if i < 0 {
			return -1
		}
		at := from + i
		if at == 0 || !isPathByte(src[at-1]) {
			return at
		}
		from = at + 1
	}
}

func isPathByte(b byte) bool {
	return b == '.' || b == '_' || b == '-' || b == '}' || b == ')' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

func (c *checker) imports(fset *token.FileSet, f *ast.File, name, dir string) {
	level, family, known := layerOf(dir)
	test := isTestPackage(dir)
	if !known && !test {
		c.add(name, 0, "package folder %s is in no layer: add it to the table of internal/lint", dir)
		return
	}
	for _, spec := range f.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // ParseFile has checked the literal
		}
		line := fset.Position(spec.Pos()).Line
		if own, ok := ownFolder(to); ok {
			if !test {
				c.own(name, line, dir, own, level, family)
			}
			continue
		}
		if !test {
			c.library(name, line, dir, to)
		}
		if to == "math/rand/v2" && isPure(dir) {
			c.globalRand(fset, f, name, spec)
		}
	}
}

// ownFolder turns an import path of this module into its folder.
func ownFolder(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func (c *checker) own(name string, line int, dir, to string, level int, family string) {
	if isTestPackage(to) {
		c.add(name, line, "imports %s, which is for tests", to)
		return
	}
	toLevel, toFamily, ok := layerOf(to)
	switch {
	case !ok:
		c.add(name, line, "imports %s, which is in no layer", to)
	case toFamily != family && toLevel == level:
		c.add(name, line, "layer %d: %s may not import %s of its own layer", level, dir, to)
	case toLevel > level:
		c.add(name, line, "layer %d: %s may not import %s of layer %d", level, dir, to, toLevel)
	}
	for _, e := range foreign {
		if within(dir, e.from) && within(to, e.to) && !within(to, e.except) {
			c.add(name, line, "%s may not import %s", dir, to)
		}
	}
}

func (c *checker) library(name string, line int, dir, to string) {
	for _, h := range homes {
		if within(to, h.library) && !slices.ContainsFunc(h.families, func(f string) bool { return within(dir, f) }) {
			where := "in tests only"
			if len(h.families) > 0 {
				where = "only in " + strings.Join(h.families, " and ")
			}
			c.add(name, line, "imports %s, allowed %s", to, where)
		}
	}
	if !isPure(dir) {
		return
	}
	for _, l := range pure.libraries {
		if within(to, l) && to != "math/rand/v2" {
			c.add(name, line, "%s is arithmetic: no import of %s", dir, to)
		}
	}
}

func isPure(dir string) bool {
	return !isTestPackage(dir) && slices.ContainsFunc(pure.families, func(f string) bool { return within(dir, f) })
}

// globalRand finds draws from the shared source, whose results no seed fixes.
func (c *checker) globalRand(fset *token.FileSet, f *ast.File, name string, spec *ast.ImportSpec) {
	local := "rand"
	if spec.Name != nil {
		local = spec.Name.Name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && !sources[sel.Sel.Name] {
			c.add(name, fset.Position(sel.Pos()).Line, "%s.%s draws from the global source: pass a seeded one", local, sel.Sel.Name)
		}
		return true
	})
}
