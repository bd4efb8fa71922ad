package decontam

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Names of the fields of benchmarks, the first that is there and not empty counts; case does not matter.
var (
	questionFields = []string{"question", "query", "problem", "prompt", "instruction", "input", "text"}
	answerFields   = []string{"answer", "answers", "golden_answers", "gold", "final_answer", "ground_truth", "target", "reference", "label", "output"}
	aliasFields    = []string{"answer_aliases", "aliases", "possible_answers"}
	entityFields   = []string{"entities", "question_entities"}
	pageFields     = []string{"pages", "evidence_pages", "titles", "urls", "wiki_links", "evidence", "necessary_evidence", "supporting_facts", "paragraph_support_title"}
	partFields     = []string{"decomposition", "question_decomposition"} // hold questions with pages of their own
)

// maxPlain bounds a plain benchmark in bytes after decompression; maxDepth how deep answers and parts may nest.
const (
	maxPlain = 1 << 30
	maxDepth = 32
)

func readAll(path string) ([]byte, error) {
	f, err := atomicfile.Open("read benchmark", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	switch {
	case strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, &quarry.Error{Op: "read benchmark", Kind: quarry.KindCorrupt, Subject: path, Err: err, Hint: "is it really gzip?"}
		}
		r = z
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewReader(f)
		if err != nil {
			return nil, &quarry.Error{Op: "read benchmark", Kind: quarry.KindCorrupt, Subject: path, Err: err, Hint: "is it really zstd?"}
		}
		defer z.Close()
		r = z
	}
	return readPlain(path, r)
}

func readPlain(path string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPlain+1))
	if err != nil {
		return nil, &quarry.Error{Op: "read benchmark", Kind: quarry.KindCorrupt, Subject: path, Err: err}
	}
	if len(data) > maxPlain {
		return nil, fault(path, quarry.KindInvalid, "is larger than 1 GiB", "split it")
	}
	return data, nil
}

// Read reads a plain benchmark: JSON lines or a JSON array of objects with a question and, where there are, answer,
// entities and evidence pages under their common names, or text with one question a line. .gz and .zst are unpacked.
func Read(ctx context.Context, path string) ([]Item, error) {
	data, err := readAll(path)
	if err != nil {
		return nil, err
	}
	return parse(ctx, path, data)
}

func parse(ctx context.Context, path string, data []byte) ([]Item, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var items []Item
	var err error
	switch start := bytes.TrimLeft(data, " \t\r\n"); {
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[")):
		items, err = parseJSON(ctx, path, data, start[0] == '[')
	default:
		items, err = parseText(path, data)
	}
	if err == nil && len(items) == 0 {
		err = fault(path, quarry.KindInvalid, "holds no question", "")
	}
	return items, err
}

func parseText(path string, data []byte) ([]Item, error) {
	var items []Item
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return nil, fault(fmt.Sprintf("%s:%d", path, n), quarry.KindInvalid, "expected text in UTF-8, JSON lines or a JSON array", "convert it first")
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			items = append(items, Item{Text: text})
		}
	}
	return items, nil
}

func parseJSON(ctx context.Context, path string, data []byte, array bool) ([]Item, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	at, line := 0, 1
	// where is the line of the next value
	where := func() string {
		to := int(d.InputOffset())
		for to < len(data) && strings.IndexByte(" \t\r\n,", data[to]) >= 0 {
			to++
		}
		line += bytes.Count(data[at:to], []byte("\n"))
		at = to
		return fmt.Sprintf("%s:%d", path, line)
	}
	if array {
		if _, err := d.Token(); err != nil {
			return nil, fault(path, quarry.KindInvalid, "expected a JSON array: "+err.Error(), "")
		}
	}
	var items []Item
	for {
		if err := ctx.Err(); err != nil {
			return nil, &quarry.Error{Op: "read benchmark", Kind: quarry.KindCanceled, Subject: path, Err: err}
		}
		if array && !d.More() {
			if _, err := d.Token(); err != nil {
				return nil, fault(where(), quarry.KindInvalid, "expected ] at the end of the array", "was the file cut off?")
			}
			return items, nil
		}
		place := where()
		var row map[string]any
		if err := d.Decode(&row); errors.Is(err, io.EOF) && !array {
			return items, nil
		} else if err != nil {
			return nil, fault(place, quarry.KindInvalid, "expected a JSON object: "+err.Error(), "")
		}
		it, ok := itemOf(row)
		if !ok {
			return nil, fault(place, quarry.KindInvalid, fmt.Sprintf("expected a text under one of %s; there are %s", strings.Join(questionFields, ", "), strings.Join(slices.Sorted(maps.Keys(row)), ", ")),
				"rename the field of the question")
		}
		items = append(items, it)
	}
}

func itemOf(row map[string]any) (it Item, ok bool) {
	low := map[string]any{}
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(row))) {
		low[strings.ToLower(k)] = row[k]
	}
	for _, k := range questionFields {
		if s, is := low[k].(string); is && strings.TrimSpace(s) != "" {
			it.Text = s
			break
		}
	}
	if it.Text == "" {
		return it, false
	}
	first := func(fields []string) []string {
		for _, k := range fields {
			if s := leaves(low[k], 0); len(s) > 0 {
				return s
			}
		}
		return nil
	}
	it.Answers = append(first(answerFields), first(aliasFields)...)
	it.Entities = first(entityFields)
	it.Pages = pages(low, 0)
	return it, true
}

// leaves are all texts and numbers in a value.
func leaves(v any, depth int) []string {
	if depth > maxDepth {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case string:
		if strings.TrimSpace(v) != "" {
			out = append(out, v)
		}
	case json.Number:
		out = append(out, v.String())
	case []any:
		for _, x := range v {
			out = append(out, leaves(x, depth+1)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(v[k], depth+1)...)
		}
	}
	return out
}

// pages are the titles or addresses of the evidence of a question and of its parts.
func pages(row map[string]any, depth int) []string {
	if depth > maxDepth {
		return nil
	}
	var out []string
	for _, k := range pageFields {
		out = append(out, titles(row[k], depth+1)...)
	}
	for _, k := range partFields {
		parts, _ := row[k].([]any)
		for _, p := range parts {
			if part, ok := p.(map[string]any); ok {
				out = append(out, pages(part, depth+1)...)
			}
		}
	}
	return out
}

// titles are those of a text, of an object with a title or url, of a pair of a title and a sentence number, and of lists
// of these.
func titles(v any, depth int) []string {
	if depth > maxDepth {
		return nil
	}
	switch v := v.(type) {
	case string:
		if strings.TrimSpace(v) != "" {
			return []string{v}
		}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, titles(x, depth+1)...)
		}
		return out
	case map[string]any:
		for _, k := range []string{"title", "url"} {
			if t := titles(v[k], depth+1); len(t) > 0 {
				return t
			}
		}
	}
	return nil
}
