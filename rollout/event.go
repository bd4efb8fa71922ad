package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// The journal's schema for the events of this package. A change of meaning raises the version.
const (
	SchemaName    = "quarry.rollout"
	SchemaVersion = 1
)

// Event is one fact at one time. Its JSON form is {"v":1,"kind":...,"at":...,"data":{...}} (docs/formats/journal.md).
type Event struct {
	At   time.Time
	Body Body
}

// Body is one of Started, Resumed, Admitted, TasksEnded, Finished, Failed, Leased, Dropped, Acked, Published, Drained.
type Body interface {
	// Kind is the name the journal has for it.
	Kind() string
}

// Started opens a run.
type Started struct {
	Config Config `json:"config"`
}

// Resumed says that a new process took over: its predecessor's work in flight is dispatched again as the same attempt,
// its leases are void.
type Resumed struct {
	Config Config `json:"config"`
}

// Admitted says which task the next task index stands for.
type Admitted struct {
	Group  int    `json:"group"` // task index
	TaskID string `json:"task_id"`
	Task   string `json:"task"` // digest of the task's JSON
}

// TasksEnded says that the source has no task at this index.
type TasksEnded struct {
	Group int    `json:"group"`
	Msg   string `json:"msg"`
}

// Finished is an episode that is data: right, wrong, or out of time.
type Finished struct {
	Group   int                 `json:"group"`
	Sample  int                 `json:"sample"`
	Attempt int                 `json:"attempt"`
	Episode string              `json:"episode"` // digest of the episode's JSON
	Oldest  int32               `json:"oldest"`  // versions of its trained tokens; -1, -1 when it has none
	Newest  int32               `json:"newest"`
	Failure quarry.FailureClass `json:"failure,omitempty"` // policy or timeout
}

// Failed is an attempt that is not data.
type Failed struct {
	Group     int         `json:"group"`
	Sample    int         `json:"sample"`
	Attempt   int         `json:"attempt"`
	Reason    Reason      `json:"reason"`
	ErrKind   quarry.Kind `json:"err_kind"`
	Permanent bool        `json:"permanent"` // another attempt could not end otherwise
	Msg       string      `json:"msg"`
}

// Drop is a ready group that may not ship.
type Drop struct {
	Group  int    `json:"group"`
	Reason Reason `json:"reason"`
}

// Leased gives a batch to a trainer attempt. The first lease of a batch forms it; later ones repeat its groups.
type Leased struct {
	Batch   int    `json:"batch"`
	Token   int    `json:"token"` // fencing token: 1 for the first lease of this batch
	Version int32  `json:"version"`
	Groups  []int  `json:"groups"`
	Dropped []Drop `json:"dropped,omitempty"`
}

// Dropped discards groups at ship time when too few are left for a batch.
type Dropped struct {
	Dropped []Drop `json:"dropped"`
}

// Acked says that the trainer's checkpoint which covers the batch is durable.
type Acked struct {
	Batch   int             `json:"batch"`
	Token   int             `json:"token"`
	Version int32           `json:"version"` // of the weights that came out
	Record  json.RawMessage `json:"record"`  // the caller's
}

// Published says that the engine serves new weights.
type Published struct {
	Version int32 `json:"version"`
}

// Drained ends the run: everything unacknowledged is discarded.
type Drained struct{}

// Kind names the event.
func (Started) Kind() string { return "started" }

// Kind names the event.
func (Resumed) Kind() string { return "resumed" }

// Kind names the event.
func (Admitted) Kind() string { return "admitted" }

// Kind names the event.
func (TasksEnded) Kind() string { return "tasks_ended" }

// Kind names the event.
func (Finished) Kind() string { return "finished" }

// Kind names the event.
func (Failed) Kind() string { return "failed" }

// Kind names the event.
func (Leased) Kind() string { return "leased" }

// Kind names the event.
func (Dropped) Kind() string { return "dropped" }

// Kind names the event.
func (Acked) Kind() string { return "acked" }

// Kind names the event.
func (Published) Kind() string { return "published" }

// Kind names the event.
func (Drained) Kind() string { return "drained" }

type envelope struct {
	V    int             `json:"v"`
	Kind string          `json:"kind"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// MarshalJSON writes the event with its kind and schema version.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Body == nil {
		return nil, eventError("", "has no body", nil)
	}
	data, err := json.Marshal(e.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{SchemaVersion, e.Body.Kind(), e.At.UTC(), data})
}

// UnmarshalJSON reads an event; KindCorrupt for an unknown kind, version or field.
func (e *Event) UnmarshalJSON(text []byte) error {
	var env envelope
	if err := strict(text, &env); err != nil {
		return eventError("", "is no event", err)
	}
	if env.V != SchemaVersion {
		return eventError(env.Kind, fmt.Sprintf("has version %d, this program knows %d", env.V, SchemaVersion), nil)
	}
	body, err := decodeBody(env.Kind, env.Data)
	if err != nil {
		return eventError(env.Kind, "cannot be read", err)
	}
	e.At, e.Body = env.At.UTC(), body
	return nil
}

func decodeBody(kind string, data []byte) (Body, error) {
	switch kind {
	case "started":
		return decode[Started](data)
	case "resumed":
		return decode[Resumed](data)
	case "admitted":
		return decode[Admitted](data)
	case "tasks_ended":
		return decode[TasksEnded](data)
	case "finished":
		return decode[Finished](data)
	case "failed":
		return decode[Failed](data)
	case "leased":
		return decode[Leased](data)
	case "dropped":
		return decode[Dropped](data)
	case "acked":
		return decode[Acked](data)
	case "published":
		return decode[Published](data)
	case "drained":
		return decode[Drained](data)
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}

func decode[T Body](data []byte) (Body, error) {
	var body T
	err := strict(data, &body)
	return body, err
}

func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func eventError(kind, msg string, cause error) error {
	return &quarry.Error{Op: "rollout event", Kind: quarry.KindCorrupt, Subject: kind, Msg: msg, Err: cause}
}
