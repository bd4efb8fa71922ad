package extract

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// The files of an output folder.
const (
	StatementsFile = "statements.jsonl"
	LedgerFile     = "ledger.jsonl"
)

// LedgerVersion is the version of the ledger (docs/formats/extract.md).
const LedgerVersion = 1

const ledgerMagic = "quarry-extract-ledger"

type ledgerHead struct {
	Magic    string `json:"format"`
	Version  int    `json:"version"`
	Prompt   int    `json:"prompt"`
	Model    string `json:"model"`
	Settings string `json:"settings"` // SHA-256 of the options that belong to what is made
}

// entry is a finished document.
type entry struct {
	Doc        string         `json:"doc_id"`
	SHA256     string         `json:"source_sha256"`
	Chunks     int            `json:"chunks"`
	Failed     []failedChunk  `json:"failed_chunks,omitempty"`
	Candidates int            `json:"candidates"`
	Out        int            `json:"out"`
	Rejected   []rejection    `json:"rejected,omitempty"`
	Grounding  map[string]int `json:"grounding,omitempty"`
	Usage      Usage          `json:"usage"`
	End        int64          `json:"end"`          // bytes of statements.jsonl with this document
	Lines      string         `json:"lines_sha256"` // of this document's lines
}

type failedChunk struct {
	Start  int    `json:"start"` // bytes of the document's text
	End    int    `json:"end"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

type rejection struct {
	Reason    string    `json:"reason"`
	Candidate candidate `json:"candidate"`
}

type sealed struct {
	Entry json.RawMessage `json:"entry"`
	Sum   uint32          `json:"crc32"` // of entry as it stands here
}

func settings(o *Options) ledgerHead {
	data, err := json.Marshal(struct {
		Relations                              any
		Chunk, Overlap, MaxTokens, Tries, Seed int
	}{o.Relations, o.Chunk, o.Overlap, o.MaxTokens, o.Tries, o.Seed})
	if err != nil { // plain structs always marshal
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return ledgerHead{ledgerMagic, LedgerVersion, promptVersion, o.Model, hex.EncodeToString(sum[:])}
}

// ledger is the output folder of a run. A document is in it once its ledger line is on the disk, which is written after
// its statements; what a kill leaves behind that is cut off.
type ledger struct {
	dir         string
	lines, book *os.File
	bookEnd     int64
	end         int64             // of the statements
	done        map[string]string // SHA-256 of the text, by document
	sum         Summary
}

func openLedger(dir string, head ledgerHead) (*ledger, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, atomicfile.Classify(op, dir, err)
	}
	l := &ledger{dir: dir, done: map[string]string{}, sum: Summary{Failed: map[string]int64{}, Rejected: map[string]int64{}}}
	var err error
	for _, f := range []struct {
		to   **os.File
		name string
	}{{&l.book, LedgerFile}, {&l.lines, StatementsFile}} {
		if *f.to, err = os.OpenFile(filepath.Join(dir, f.name), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			l.close()
			return nil, atomicfile.Classify(op, filepath.Join(dir, f.name), err)
		}
	}
	if held, err := atomicfile.TryLock(l.book); err != nil {
		l.close()
		if !held {
			return nil, atomicfile.Classify(op, dir, err)
		}
		return nil, &quarry.Error{Op: op, Kind: quarry.KindConflict, Subject: dir, Msg: "another run writes there", Hint: "wait for it, or name another folder"}
	}
	if err := l.load(head); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *ledger) close() error {
	var errs []error
	for _, f := range []*os.File{l.lines, l.book} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return atomicfile.Classify(op, l.dir, errors.Join(errs...))
}

// load reads the ledger, checks the statements against it, and cuts off what was not finished.
func (l *ledger) load(head ledgerHead) error {
	book, lines := bufio.NewReaderSize(l.book, 1<<20), bufio.NewReaderSize(l.lines, 1<<20)
	for n := 1; ; n++ {
		line, err := book.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // what is left has no end
		}
		if err != nil {
			return atomicfile.Classify(op, l.book.Name(), err)
		}
		if n == 1 {
			err = l.checkHead(line, head)
		} else {
			err = l.checkEntry(line, n, lines)
		}
		if err != nil {
			return err
		}
		l.bookEnd += int64(len(line))
	}
	if l.bookEnd == 0 {
		if info, err := l.lines.Stat(); err == nil && info.Size() > 0 {
			return l.corrupt(1, "there is no ledger to the statements beside it", nil)
		}
	}
	if err := errors.Join(l.book.Truncate(l.bookEnd), l.lines.Truncate(l.end)); err != nil {
		return atomicfile.Classify(op, l.dir, err)
	}
	l.sum.Resumed = l.sum.Documents
	if l.bookEnd > 0 {
		return nil
	}
	data, err := json.Marshal(head)
	if err != nil {
		return &quarry.Error{Op: op, Kind: quarry.KindInternal, Subject: "ledger", Err: err}
	}
	return l.write(l.book, append(data, '\n'), &l.bookEnd)
}

func (l *ledger) checkHead(line []byte, want ledgerHead) error {
	var h ledgerHead
	e := &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: l.book.Name() + ":1", Hint: "name another folder"}
	switch err := json.Unmarshal(line, &h); {
	case err != nil || h.Magic != ledgerMagic:
		e.Msg = "expected the ledger of an extraction"
	case h.Version > LedgerVersion:
		e.Msg, e.Hint = fmt.Sprintf("version %d is newer than this program reads, %d", h.Version, LedgerVersion), "use a newer quarry, or name another folder"
	case h.Version != LedgerVersion:
		e.Msg = fmt.Sprintf("expected version %d, found %d", LedgerVersion, h.Version)
	case h != want:
		e.Kind, e.Msg = quarry.KindConflict, fmt.Sprintf("was begun with other settings (model %q, prompt %d)", h.Model, h.Prompt)
		e.Hint = "use the same model, relations and settings, or name another folder"
	default:
		return nil
	}
	return e
}

func (l *ledger) corrupt(n int, msg string, err error) error {
	return &quarry.Error{Op: op, Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("%s:%d", l.book.Name(), n), Msg: msg, Err: err, Hint: "restore the folder from a copy, or name another one"}
}

func (l *ledger) checkEntry(line []byte, n int, lines io.Reader) error {
	var s sealed
	var e entry
	if err := json.Unmarshal(line, &s); err != nil || s.Sum != crc32.ChecksumIEEE(s.Entry) {
		return l.corrupt(n, "the line does not match its checksum", err)
	}
	if err := json.Unmarshal(s.Entry, &e); err != nil || e.End < l.end {
		return l.corrupt(n, "the entry is not well-formed", err)
	}
	h := sha256.New()
	if _, err := io.CopyN(h, lines, e.End-l.end); err != nil {
		return l.corrupt(n, StatementsFile+" ends before the lines of this document do", err)
	}
	if hex.EncodeToString(h.Sum(nil)) != e.Lines {
		return l.corrupt(n, "the lines of this document in "+StatementsFile+" have changed", nil)
	}
	if _, twice := l.done[e.Doc]; twice || e.Candidates != e.Out+len(e.Rejected) {
		return l.corrupt(n, "the document stands twice, or its counts do not add up", nil)
	}
	l.note(&e)
	return nil
}

func (l *ledger) note(e *entry) {
	l.done[e.Doc], l.end = e.SHA256, e.End
	l.sum.Documents++
	l.sum.Chunks += e.Chunks
	l.sum.Candidates += int64(e.Candidates)
	l.sum.Out += int64(e.Out)
	for _, r := range e.Rejected {
		l.sum.Rejected[r.Reason]++
	}
	for _, f := range e.Failed {
		l.sum.Failed[f.Kind]++
	}
	l.sum.Usage.add(e.Usage)
}

// commit makes a document part of the output: its lines, then its entry.
func (l *ledger) commit(e *entry, lines []byte) error {
	sum := sha256.Sum256(lines)
	e.End, e.Lines = l.end+int64(len(lines)), hex.EncodeToString(sum[:])
	data, err := json.Marshal(e)
	if err == nil {
		data = bytes.TrimSpace(data)
		data, err = json.Marshal(sealed{data, crc32.ChecksumIEEE(data)})
	}
	if err != nil {
		return &quarry.Error{Op: op, Kind: quarry.KindInternal, Subject: "document " + e.Doc, Err: err}
	}
	at := l.end
	if err := l.write(l.lines, lines, &at); err != nil {
		return err
	}
	if err := l.write(l.book, append(data, '\n'), &l.bookEnd); err != nil {
		return err
	}
	l.note(e)
	return nil
}

func (l *ledger) write(f *os.File, data []byte, at *int64) error {
	if len(data) == 0 {
		return nil
	}
	_, err := f.WriteAt(data, *at)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return atomicfile.Classify(op, f.Name(), err)
	}
	*at += int64(len(data))
	return nil
}
