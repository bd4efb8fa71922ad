package configs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/quarry-rl/quarry"
)

// maxBytes bounds a configuration file; the longest spec is a few kilobytes.
const maxBytes = 1 << 20

// maxSuggest bounds the words that are compared for a did-you-mean: nobody mistypes a longer one.
const maxSuggest = 64

// decoder walks the syntax tree and the Go value side by side. The library's own strict mode stops at the first error
// and names neither the path nor the nearest key.
type decoder struct {
	op, file string
	keys     []string          // every path of the format, for suggestions across sections
	at       map[string]string // path -> "file:line:col" of what the file sets
	errs     []error
}

// decode reads YAML over out, a pointer to a struct whose fields carry yaml tags. It returns where each path stands;
// all problems are reported, joined, each of KindInvalid.
func decode(op, file string, src []byte, out any) (map[string]string, error) {
	target := reflect.ValueOf(out).Elem()
	d := &decoder{op: op, file: file, keys: keyPaths(target.Type(), ""), at: map[string]string{}}
	body, err := d.parse(src)
	if err != nil {
		return nil, err
	}
	if body != nil {
		d.value(body, target, "")
	}
	return d.at, errors.Join(d.errs...)
}

func (d *decoder) parse(src []byte) (ast.Node, error) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // the mark some editors put before UTF-8
	if len(src) > maxBytes {
		return nil, d.bad(d.file, fmt.Sprintf("file has %d bytes, expected at most %d", len(src), maxBytes), "")
	}
	for i, line := range strings.Split(string(src), "\n") {
		if !utf8.ValidString(line) {
			return nil, d.bad(fmt.Sprintf("%s:%d", d.file, i+1), "bytes that are not UTF-8", "save the file as UTF-8")
		}
	}
	f, err := parser.ParseBytes(src, 0)
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) && ye.GetToken() != nil {
			p := ye.GetToken().Position
			return nil, d.bad(fmt.Sprintf("%s:%d:%d", d.file, p.Line, p.Column), "not YAML: "+ye.GetMessage(), d.sample())
		}
		return nil, d.bad(d.file, "not YAML: "+err.Error(), d.sample())
	}
	var bodies []ast.Node
	for _, doc := range f.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentGroupType {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) > 1 {
		return nil, d.bad(d.pos(bodies[1]), "a second YAML document, expected one", "keep one spec per file")
	}
	if len(bodies) == 0 {
		return nil, nil
	}
	return bodies[0], nil
}

// sample says where to see such a file.
func (d *decoder) sample() string {
	if d.op == opSpec {
		return "quarry check demo prints a spec to start from"
	}
	return ""
}

func (d *decoder) bad(subject, msg, hint string) error {
	return &quarry.Error{Op: d.op, Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
}

func (d *decoder) pos(n ast.Node) string {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return d.file
	}
	p := n.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", d.file, p.Line, p.Column)
}

func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	if path != "" {
		d.at[path] = d.pos(n)
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, path)
	default:
		if !setScalar(n, v) {
			d.mismatch(n, path, expected(v.Type()))
		}
	}
}

func (d *decoder) mismatch(n ast.Node, path, want string) {
	if path == "" {
		path = "the file"
	}
	hint := ""
	if want == "text" && (n.Type() == ast.IntegerType || n.Type() == ast.FloatType || n.Type() == ast.BoolType) {
		hint = fmt.Sprintf("write %q with the quotes", n.GetToken().Value)
	}
	d.errs = append(d.errs, d.bad(d.pos(n), fmt.Sprintf("%s is %s, expected %s", path, describe(n), want), hint))
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		d.mismatch(n, path, "a mapping of keys")
		return
	}
	fields := fieldsOf(v.Type())
	seen := map[string]bool{}
	for _, p := range pairs {
		key, ok := p.Key.(*ast.StringNode)
		if !ok {
			d.errs = append(d.errs, d.bad(d.pos(p.Key), fmt.Sprintf("key %s, expected a plain name", p.Key.String()), ""))
			continue
		}
		child := join(path, key.Value)
		i, ok := fields[key.Value]
		switch {
		case !ok:
			d.unknown(key, child, v.Type())
		case seen[key.Value]:
			d.errs = append(d.errs, d.bad(d.pos(key), child+" stands twice, expected once", ""))
		default:
			d.value(p.Value, v.Field(i), child)
			d.at[child] = d.pos(key)
		}
		seen[key.Value] = true
	}
}

// unknown reports a key that the format lacks, with the nearest sibling, or else the place where that key does exist.
func (d *decoder) unknown(key *ast.StringNode, path string, t reflect.Type) {
	var siblings []string
	for i := range t.NumField() {
		siblings = append(siblings, yamlName(t.Field(i)))
	}
	near := ""
	if len(key.Value) <= maxSuggest {
		near = Suggest(key.Value, siblings)
	}
	if near != "" {
		near = strings.TrimSuffix(path, key.Value) + near
	} else {
		for _, k := range d.keys {
			if strings.HasSuffix(k, "."+key.Value) {
				near = k
				break
			}
		}
	}
	hint := "known keys here: " + strings.Join(siblings, ", ")
	switch {
	case near != "":
		hint = fmt.Sprintf("did you mean %s?", near)
	case len(siblings) == 0:
		hint = "this section has no keys"
	}
	d.errs = append(d.errs, d.bad(d.pos(key), "unknown key "+path, hint))
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, path string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.mismatch(n, path, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	for i, item := range s.Values {
		d.value(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(out)
}

// setScalar stores a scalar without any conversion but whole number to float, and says whether the types agree.
func setScalar(n ast.Node, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		switch s := n.(type) {
		case *ast.StringNode:
			v.SetString(s.Value)
			return true
		case *ast.LiteralNode:
			v.SetString(s.Value.Value)
			return true
		}
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return true
		}
	case reflect.Int:
		if i, ok := intOf(n); ok && !v.OverflowInt(i) {
			v.SetInt(i)
			return true
		}
	case reflect.Uint64:
		if n, ok := n.(*ast.IntegerNode); ok {
			switch u := n.Value.(type) {
			case uint64:
				v.SetUint(u)
				return true
			case int64:
				v.SetUint(uint64(u))
				return u >= 0
			}
		}
	case reflect.Float64:
		if f, ok := floatOf(n); ok {
			v.SetFloat(f)
			return true
		}
	}
	return false
}

func intOf(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch u := i.Value.(type) {
	case int64:
		return u, true
	case uint64:
		return int64(u), u <= math.MaxInt64
	}
	return 0, false
}

func floatOf(n ast.Node) (float64, bool) {
	if f, ok := n.(*ast.FloatNode); ok {
		return f.Value, !math.IsInf(f.Value, 0) && !math.IsNaN(f.Value)
	}
	// The library takes a number with an exponent and no point (1e-3) for text; YAML 1.2 does not.
	if s, ok := n.(*ast.StringNode); ok && s.GetToken().Type == token.StringType && s.Value != "" {
		if strings.Trim(s.Value, "0123456789+-.eE") != "" {
			return 0, false
		}
		f, err := strconv.ParseFloat(s.Value, 64)
		return f, err == nil
	}
	i, ok := intOf(n)
	return float64(i), ok
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number >= 0"
	default:
		return "a number"
	}
}

// describe names what stands in the file, short enough for one line.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return "an anchor, alias or tag"
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	text := n.GetToken().Value
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "..."
	}
	return fmt.Sprintf("the text %q", text)
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func fieldsOf(t reflect.Type) map[string]int {
	out := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		out[yamlName(t.Field(i))] = i
	}
	return out
}

// keyPaths lists the leaf paths of a struct type in order.
func keyPaths(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		path := join(prefix, yamlName(f))
		if f.Type.Kind() == reflect.Struct {
			out = append(out, keyPaths(f.Type, path)...)
			continue
		}
		out = append(out, path)
	}
	return out
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}
