package pipeline

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// LedgerFile and QuestionsFile are what a run leaves in its folder (docs/formats/synth-ledger.md).
const (
	LedgerFile    = "ledger.jsonl"
	QuestionsFile = "questions.jsonl"
)

// Schema names the format of a ledger.
const (
	schemaName    = "quarry.synth-ledger/"
	schemaVersion = 1
	Schema        = schemaName + "1"
)

// State is how a candidate ended.
type State string

// The states. A quarantined candidate is one that models failed to judge; it counts among the rejected.
const (
	Accepted    State = "accepted"
	Rejected    State = "rejected"
	Quarantined State = "quarantined"
)

// Entry is one line of a ledger: the end of one candidate.
type Entry struct {
	Walk     int    `json:"walk"` // its number; lines are in order, without gaps, from 0
	State    State  `json:"state"`
	Stage    Stage  `json:"stage,omitempty"` // of a rejection
	Reason   Reason `json:"reason,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Question string `json:"question,omitempty"` // id of an accepted one
	End      int64  `json:"end,omitempty"`      // of an accepted one: bytes of questions.jsonl with it
	Digest   string `json:"digest,omitempty"`   // of an accepted one: SHA-256 of its line there
	Cost     *Cost  `json:"cost,omitempty"`     // of models, where there was any
	Sum      string `json:"sum"`                // of the file up to here
}

// header is the first line.
type header struct {
	Schema   string   `json:"schema"`
	Graph    string   `json:"graph"`
	Options  string   `json:"options"` // digest of the settings
	Settings Settings `json:"settings"`
	Sum      string   `json:"sum"`
}

// chain seals lines: each ends with a sum over the sum before it and its own bytes, so that no line can be changed, lost
// or swapped unnoticed.
type chain struct{ last [sha256.Size]byte }

const (
	sumDigits = 16
	sumField  = `,"sum":"`
	sumTail   = len(sumField) + sumDigits + len("\"}")
)

// seal appends a line whose object has an empty sum as its last field.
func (c *chain) seal(dst []byte, v any) []byte {
	b := encode(v)
	body := b[:len(b)-len(sumField)-len("\"}")]
	c.over(body)
	dst = append(dst, body...)
	dst = append(dst, sumField...)
	dst = append(dst, hex.EncodeToString(c.last[:sumDigits/2])...)
	return append(dst, "\"}\n"...)
}

func (c *chain) over(body []byte) {
	h := sha256.New()
	h.Write(c.last[:])
	h.Write(body)
	h.Sum(c.last[:0])
}

// open checks a line without its line break.
func (c *chain) open(line []byte) bool {
	if len(line) <= sumTail {
		return false
	}
	body, tail := line[:len(line)-sumTail], line[len(line)-sumTail:]
	next := *c
	next.over(body)
	if string(tail) != sumField+hex.EncodeToString(next.last[:sumDigits/2])+"\"}" {
		return false
	}
	*c = next
	return true
}

// scan reads a ledger and hands over its entries in order. It returns the header, the chain, and the bytes of whole
// lines: what follows is the beginning of one line that was not finished. An empty file, and one with part of a header,
// have neither. Errors are corrupt (which line), invalid (another format, a newer one), and those of begin,
// which is shown the header first, and visit.
func scan(path string, from io.Reader, begin func(h *header) error, visit func(e Entry) error) (head *header, c chain, whole int64, err error) {
	bad := func(line int, msg string) error {
		return &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: path + ":" + strconv.Itoa(line), Msg: msg,
			Hint: "restore the file from a copy, or start in another folder; nothing of it is repaired"}
	}
	r := bufio.NewReaderSize(from, 1<<16)
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			if line == 1 && !bytes.HasPrefix([]byte(headStart), text[:min(len(text), len(headStart))]) {
				return nil, c, 0, foreign(path)
			}
			return head, c, whole, nil
		}
		if err != nil {
			return nil, c, 0, atomicfile.Classify("synth", path, err)
		}
		size := int64(len(text))
		text = text[:size-1]
		if line == 1 {
			if head, err = readHeader(path, text, &c); err != nil {
				return nil, c, 0, err
			}
			if err := begin(head); err != nil {
				return nil, c, 0, err
			}
			whole = size
			continue
		}
		if !c.open(text) {
			return nil, c, 0, bad(line, "its sum is not that of the lines up to it")
		}
		var e Entry
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, c, 0, bad(line, err.Error())
		}
		if e.Walk != line-2 || (e.State == Accepted) != (e.Reason == "") {
			return nil, c, 0, bad(line, fmt.Sprintf("walk %d, state %q, reason %q; walk %d is expected", e.Walk, e.State, e.Reason, line-2))
		}
		if err := visit(e); err != nil {
			return nil, c, 0, err
		}
		whole += size
	}
}

const headStart = `{"schema":"` + schemaName

func foreign(path string) error {
	return &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: path, Msg: "it is not the ledger of a synthesis: " + headStart + "N\" is expected at its beginning",
		Hint: "give another folder"}
}

func readHeader(path string, text []byte, c *chain) (*header, error) {
	var h header
	if !bytes.HasPrefix(text, []byte(headStart)) {
		return nil, foreign(path)
	}
	version, _, _ := strings.Cut(string(text[len(headStart):]), `"`)
	if v, err := strconv.Atoi(version); err == nil && v > schemaVersion {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: path, Msg: fmt.Sprintf("schema %s%d is newer than %s", schemaName, v, Schema), Hint: "use the quarry that wrote it, or a newer one"}
	}
	if !c.open(text) {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: path + ":1", Msg: "its sum is not that of the line", Hint: "restore the file from a copy, or start in another folder"}
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Schema != Schema {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindCorrupt, Subject: path + ":1", Msg: "the header cannot be read", Err: err, Hint: "restore the file from a copy, or start in another folder"}
	}
	return &h, nil
}

// digestOf is of a question's line without its line break.
func digestOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// file is what a run writes to. *os.File is one.
type file interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

// disk is the two files of a run while it goes on. Questions are on the disk before the lines that accept them.
type disk struct {
	ledger, questions file
	chain             chain
	end               int64 // bytes of questions.jsonl that the ledger knows
}

// append writes a block: entries in order, each accepted one with its question. It sets the entries' End and Sum.
func (s *disk) append(entries []Entry, qs map[int]*quarry.Question) error {
	var texts, lines []byte
	c, end := s.chain, s.end
	for _, e := range entries {
		if e.State == Accepted {
			b, err := json.Marshal(qs[e.Walk])
			if err != nil {
				return err
			}
			texts = append(append(texts, b...), '\n')
			e.Digest = digestOf(b)
			e.End = s.end + int64(len(texts))
			end = e.End
		}
		lines = c.seal(lines, e)
	}
	err := put(s.questions, texts)
	if err == nil {
		err = put(s.ledger, lines)
	}
	s.chain, s.end = c, end
	return err
}

func put(f file, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Sync()
}
