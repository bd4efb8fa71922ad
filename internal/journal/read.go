package journal

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// Replay calls fn with every event in order and stops at the first error fn gives, returning it unchanged. fn may call
// Blob. Events appended while it runs are not seen.
//
// Errors of its own: KindCorrupt when a number is missing or a body is no JSON, KindCanceled after Close.
func (j *Journal) Replay(fn func(Event) error) error {
	const op = "journal replay"
	rows, err := j.read.Query("SELECT seq, at, kind, body FROM events ORDER BY seq")
	if err != nil {
		return j.readError(op, err)
	}
	defer rows.Close()
	for want := int64(1); rows.Next(); want++ {
		var e Event
		var at int64
		var body string
		if err := rows.Scan(&e.Seq, &at, &e.Kind, &body); err != nil {
			return j.readError(op, err)
		}
		if e.Seq != want {
			return corrupt(op, j.path, fmt.Sprintf("event %d is missing, the next is %d", want, e.Seq), nil)
		}
		e.At, e.Body = time.Unix(0, at).UTC(), json.RawMessage(body)
		if !json.Valid(e.Body) {
			return corrupt(op, fmt.Sprintf("%s event %d", j.path, e.Seq), "its body is no JSON", nil)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return j.readError(op, err)
	}
	return nil
}

// Blob returns the bytes with the given digest, after checking that they have it.
//
// Errors: KindNotFound, KindCorrupt (damaged data), KindCanceled after Close.
func (j *Journal) Blob(digest string) ([]byte, error) {
	const op = "journal blob"
	var packed []byte
	err := j.read.QueryRow("SELECT data FROM blobs WHERE digest = ?", digest).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: digest, Msg: "no such blob in " + j.path}
	}
	if err != nil {
		return nil, j.readError(op, err)
	}
	data, err := j.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, corrupt(op, j.path+" blob "+digest, "it cannot be decompressed", err)
	}
	if got := Digest(data); got != digest {
		return nil, corrupt(op, j.path+" blob "+digest, "its bytes have the digest "+got, nil)
	}
	return data, nil
}

func (j *Journal) readError(op string, err error) error {
	select {
	case <-j.quit:
		return closed(op, j.path)
	default:
		return classify(op, j.path, err)
	}
}
