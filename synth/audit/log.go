package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

// File is what stands beside a ledger (docs/formats/audit.md). It is only ever appended to.
const File = "audit.jsonl"

// Schema names its format.
const (
	schemaName    = "quarry.audit/"
	schemaVersion = 1
	Schema        = schemaName + "1"
)

// Record is one verdict. Of several by one reviewer on one walk the last one counts.
type Record struct {
	Walk     int             `json:"walk"`
	Line     string          `json:"line"`               // sum of the walk's line in the ledger
	Question string          `json:"question,omitempty"` // id, of an accepted one
	State    pipeline.State  `json:"state"`              // what the automatic checks said
	Stage    pipeline.Stage  `json:"stage,omitempty"`
	Reason   pipeline.Reason `json:"reason,omitempty"`
	Reviewer string          `json:"reviewer"`
	Date     string          `json:"date"` // YYYY-MM-DD
	Verdict  Verdict         `json:"verdict"`
	Fault    Fault           `json:"fault,omitempty"`
	Comment  string          `json:"comment,omitempty"`
	Sum      string          `json:"sum"`
}

// header binds the file to one ledger.
type header struct {
	Schema string `json:"schema"`
	Ledger string `json:"ledger"` // sum of its first line
	Sum    string `json:"sum"`
}

// seal makes a line of a value whose last field is an empty sum: the first 8 bytes of SHA-256 over the sum before and the
// line up to its own, as in the ledger, so that no line can be changed, lost or swapped unnoticed.
func seal(last *[sha256.Size]byte, v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\"}\n"))
	sum := over(last, bytes.TrimSuffix(body, []byte(sumField)))
	return fmt.Appendf(nil, "%s%s\"}\n", body, sum), nil
}

const sumField = `,"sum":"`

func over(last *[sha256.Size]byte, body []byte) string {
	*last = sha256.Sum256(append(last[:], body...))
	return hex.EncodeToString(last[:8])
}

// contents of a file that was read.
type contents struct {
	records []Record
	last    [sha256.Size]byte
	whole   int64 // bytes of whole lines: what follows was not finished
}

// read checks every line. head is the identity of the ledger.
func read(path, head string, data []byte) (*contents, error) {
	c := &contents{}
	for n := 1; len(data) > 0; n++ {
		line, rest, finished := bytes.Cut(data, []byte("\n"))
		if !finished {
			start := []byte(`{"schema":"` + schemaName)
			if n == 1 && !bytes.HasPrefix(start, line[:min(len(line), len(start))]) {
				return nil, foreign(path)
			}
			break
		}
		bad := func(msg string) error {
			return &quarry.Error{Op: "synth audit", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("%s:%d", path, n), Msg: msg, Hint: "restore the file from a copy; nothing of it is repaired"}
		}
		if n == 1 {
			version, ok := strings.CutPrefix(string(line), `{"schema":"`+schemaName)
			if !ok {
				return nil, foreign(path)
			}
			version, _, _ = strings.Cut(version, `"`)
			if v, err := strconv.Atoi(version); err == nil && v > schemaVersion {
				return nil, &quarry.Error{Op: "synth audit", Kind: quarry.KindInvalid, Subject: path, Msg: fmt.Sprintf("schema %s%d is newer than %s", schemaName, v, Schema), Hint: "use the quarry that wrote it, or a newer one"}
			}
		}
		at := bytes.LastIndex(line, []byte(sumField))
		if at < 0 || string(line[at:]) != sumField+over(&c.last, line[:at])+"\"}" {
			return nil, bad("its sum is not that of the lines up to it")
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if n == 1 {
			var h header
			if err := d.Decode(&h); err != nil || h.Schema != Schema {
				return nil, bad("the header cannot be read")
			}
			if h.Ledger != head {
				return nil, &quarry.Error{Op: "synth audit", Kind: quarry.KindConflict, Subject: path, Msg: "it holds verdicts on another ledger: " + h.Ledger + ", not " + head, Hint: "move it to the folder it belongs to"}
			}
		} else {
			var r Record
			if err := d.Decode(&r); err != nil {
				return nil, bad(err.Error())
			}
			if _, err := verdict(string(r.Verdict)); err != nil || r.Verdict == "" || r.Reviewer == "" || r.Walk < 0 {
				return nil, bad("the record has no verdict, reviewer or walk")
			}
			c.records = append(c.records, r)
		}
		c.whole += int64(len(line)) + 1
		data = rest
	}
	return c, nil
}

func foreign(path string) error {
	return &quarry.Error{Op: "synth audit", Kind: quarry.KindInvalid, Subject: path, Msg: `it is no audit file: {"schema":"` + schemaName + `N" is expected at its beginning`, Hint: "move it away"}
}

// Records reads the verdicts of a folder, in the order in which they came; none when there is no file.
func Records(dir string) ([]Record, error) {
	head, err := pipeline.ReadHead(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, File)
	data, err := atomicfile.ReadFile("synth audit", path)
	if quarry.KindOf(err) == quarry.KindNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := read(path, head.Sum, data)
	if err != nil {
		return nil, err
	}
	return c.records, nil
}

// update opens the file of a folder for one writer, shows what is there, and appends what choose gives back. An
// unfinished last line is cut off.
func update(dir, head string, choose func(before []Record) []Record) error {
	path := filepath.Join(dir, File)
	failed := func(err error) error { return atomicfile.Classify("synth audit", path, err) }
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	if held, err := atomicfile.TryLock(f); err != nil {
		if held {
			return &quarry.Error{Op: "synth audit", Kind: quarry.KindConflict, Subject: path, Msg: "another import writes it", Hint: "wait for it to end"}
		}
		return failed(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return failed(err)
	}
	c, err := read(path, head, data)
	if err != nil {
		return err
	}
	more := choose(c.records)
	if len(more) == 0 {
		return nil
	}
	var out []byte
	add := func(v any) error {
		line, err := seal(&c.last, v)
		out = append(out, line...)
		return err
	}
	if c.whole == 0 {
		if err := add(header{Schema: Schema, Ledger: head}); err != nil {
			return err
		}
	}
	for _, r := range more {
		if err := add(r); err != nil {
			return err
		}
	}
	if err := f.Truncate(c.whole); err != nil {
		return failed(err)
	}
	if _, err := f.Write(out); err != nil {
		return failed(err)
	}
	return failed(f.Sync())
}
