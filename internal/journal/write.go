package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// Event is one fact. Seq is set by the journal (1, 2, 3, ... without gaps) and ignored by Append.
type Event struct {
	Seq  int64
	At   time.Time       // stored to the nanosecond, in UTC
	Kind string          // short name, for queries
	Body json.RawMessage // one JSON value
}

// groupLimit bounds how many waiting Append calls share one commit, so that the first of them is not held up for long.
const groupLimit = 1024

type appendRequest struct {
	events []Event
	blobs  []storedBlob
	done   chan error
}

type storedBlob struct {
	digest string
	data   []byte // zstd frame
}

// Digest names a blob: lower-case hex SHA-256 of its uncompressed bytes.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Append stores events, in order, and blobs, all or none, and returns when they are durable. A blob that is already
// there costs nothing. ctx bounds the wait for the writer only: once it has the work, Append waits for the outcome, so
// that nil and an error always tell the truth.
//
// Errors: KindInvalid (event without kind or with a body that is no JSON), KindExhausted (disk full), KindConflict
// (another process wrote to the file), KindCanceled (ctx ended or the journal is closed), KindCorrupt.
func (j *Journal) Append(ctx context.Context, events []Event, blobs [][]byte) error {
	for i, e := range events {
		if e.Kind == "" || !json.Valid(e.Body) {
			return &quarry.Error{Op: "journal append", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("event %d of %d (%s)", i+1, len(events), e.Kind),
				Msg: "an event needs a kind and a body of valid JSON"}
		}
	}
	if len(events) == 0 && len(blobs) == 0 {
		return nil
	}
	req := &appendRequest{events: events, done: make(chan error, 1)}
	for _, b := range blobs { // compressed here, so that callers do it in parallel
		req.blobs = append(req.blobs, storedBlob{Digest(b), j.enc.EncodeAll(b, nil)})
	}
	select {
	case j.appends <- req:
		return <-req.done
	case <-j.quit:
		return closed("journal append", j.path)
	case <-ctx.Done():
		return &quarry.Error{Op: "journal append", Kind: quarry.KindCanceled, Subject: j.path, Err: context.Cause(ctx)}
	}
}

// runWriter is the only goroutine that writes. The channel is unbuffered: whoever is blocked on it when a commit ends
// rides in the next one.
func (j *Journal) runWriter() {
	defer close(j.stopped)
	for {
		var group []*appendRequest
		select {
		case r := <-j.appends:
			group = append(group, r)
		case <-j.quit:
			return
		}
	gather:
		for len(group) < groupLimit {
			select {
			case r := <-j.appends:
				group = append(group, r)
			default:
				break gather
			}
		}
		err := j.broken
		if err == nil {
			err = j.commit(group)
		}
		for _, r := range group {
			r.done <- err
		}
	}
}

// commit writes a group of requests in one transaction. It runs to its end whatever becomes of the callers.
func (j *Journal) commit(group []*appendRequest) error {
	const op = "journal append"
	tx, err := j.write.Begin()
	if err != nil {
		return classify(op, j.path, err)
	}
	seq, err := j.insert(tx, group)
	if err != nil {
		_ = tx.Rollback() // SQLite may have rolled back itself; either way nothing was committed
		return classify(op, j.path, err)
	}
	if err := tx.Commit(); err != nil {
		// Whether it is on disk is unknown: only a fresh Open can tell.
		j.broken = classify(op, j.path, err)
		return j.broken
	}
	j.lastSeq = seq
	return nil
}

// insert numbers the events itself: a number that is taken shows that another process wrote to the file.
func (j *Journal) insert(tx *sql.Tx, group []*appendRequest) (int64, error) {
	addBlob, err := tx.Prepare("INSERT INTO blobs (digest, data) VALUES (?, ?) ON CONFLICT DO NOTHING")
	if err != nil {
		return 0, err
	}
	defer addBlob.Close()
	addEvent, err := tx.Prepare("INSERT INTO events (seq, at, kind, body) VALUES (?, ?, ?, ?)")
	if err != nil {
		return 0, err
	}
	defer addEvent.Close()
	seq := j.lastSeq
	for _, r := range group {
		for _, b := range r.blobs {
			if _, err := addBlob.Exec(b.digest, b.data); err != nil {
				return 0, err
			}
		}
		for _, e := range r.events {
			seq++
			if _, err := addEvent.Exec(seq, e.At.UnixNano(), e.Kind, string(e.Body)); err != nil {
				return 0, err
			}
		}
	}
	return seq, nil
}
