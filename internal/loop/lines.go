package loop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// Versions of the files of one JSON object a line: each line begins with it as "schema". A line of a newer version is
// refused; there are no older ones.
const (
	EpisodeSchema = 1 // episodes, docs/formats/episodes.md
	TaskSchema    = 1 // continuation tasks, docs/formats/tasks.md
	LedgerSchema  = 1 // the ledgers of synth and filter, docs/formats/ledger.md and filter-ledger.md
	noSchema      = 0 // lines whose version stands elsewhere
)

// zst ends the names of files of lines that are kept compressed.
const zst = ".zst"

// writeLines writes one JSON object a line, atomically; compressed when the name ends in .zst.
func writeLines[T any](path string, schema int, rows []T) error {
	head := "{"
	if schema != noSchema {
		head = `{"schema":` + strconv.Itoa(schema) + ","
	}
	var out, line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	for i := range rows {
		line.Reset()
		if err := enc.Encode(&rows[i]); err != nil {
			return &quarry.Error{Op: "write", Kind: quarry.KindInternal, Subject: path, Err: err}
		}
		out.WriteString(head)
		out.Write(line.Bytes()[1:])
	}
	data := out.Bytes()
	if strings.HasSuffix(path, zst) {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // one thread: the same bytes each time
		if err != nil {
			return &quarry.Error{Op: "write", Kind: quarry.KindInternal, Subject: path, Err: err}
		}
		data = z.EncodeAll(data, nil)
	}
	return atomicfile.WriteFile(path, data)
}

// readLines reads what writeLines wrote; a bad line is named.
func readLines[T any](path string, schema int) ([]T, error) {
	in, err := openLines(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out []T
	r := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			v, derr := readLine[T](line, schema)
			if derr != nil {
				derr.Op, derr.Subject = "read", fileLine(path, n)
				return nil, derr
			}
			out = append(out, v)
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, &quarry.Error{Op: "read", Kind: quarry.KindUnavailable, Subject: fileLine(path, n), Err: err, Hint: "is the file cut off? write it anew"}
		}
	}
}

// openLines opens a file of lines, plain or compressed.
func openLines(path string) (io.ReadCloser, error) {
	f, err := atomicfile.Open("read", path)
	if err != nil || !strings.HasSuffix(path, zst) {
		return f, err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Close()
		return nil, &quarry.Error{Op: "read", Kind: quarry.KindInternal, Subject: path, Err: err}
	}
	return lines{z, f}, nil
}

type lines struct {
	*zstd.Decoder
	file *os.File
}

func (l lines) Close() error {
	l.Decoder.Close()
	return l.file.Close()
}

func readLine[T any](line []byte, schema int) (v T, bad *quarry.Error) {
	var head struct {
		Schema int `json:"schema"`
	}
	err := json.Unmarshal(line, &head)
	switch {
	case err == nil && head.Schema > schema && schema != noSchema:
		return v, &quarry.Error{Kind: quarry.KindInvalid, Msg: fmt.Sprintf("schema %d, this quarry reads up to %d", head.Schema, schema), Hint: "use the quarry that wrote it, or write it anew with this one"}
	case err == nil && head.Schema < schema:
		return v, &quarry.Error{Kind: quarry.KindInvalid, Msg: fmt.Sprintf("%s, expected a JSON object with \"schema\": %d", found(head.Schema), schema), Hint: "is it another file, or edited? write it anew"}
	case err == nil:
		err = json.Unmarshal(line, &v)
	}
	if err != nil {
		return v, &quarry.Error{Kind: quarry.KindInvalid, Msg: "not the expected JSON object", Err: err, Hint: "was the file cut off or edited? write it anew"}
	}
	return v, nil
}

func found(schema int) string {
	if schema == 0 {
		return "no \"schema\""
	}
	return fmt.Sprintf("schema %d", schema)
}

func fileLine(path string, n int) string { return fmt.Sprintf("%s:%d", path, n) }
