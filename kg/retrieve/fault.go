package retrieve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarry-rl/quarry"
)

// Fault is one thing that goes wrong with a real search service.
type Fault string

// The faults.
const (
	FaultTimeout   Fault = "timeout"   // no answer until the caller gives up or Delay is over, then 504
	FaultBusy      Fault = "429"       // 429 with Retry-After
	FaultError     Fault = "500"       // 500
	FaultEmpty     Fault = "empty"     // a good answer with nothing found
	FaultTruncated Fault = "truncated" // texts and pages end in their middle
)

// Faults says how often which fault is injected. Rates are shares of requests, each at least 0, together at most 1.
type Faults struct {
	Seed       uint64
	Timeout    float64
	Busy       float64
	Error      float64
	Empty      float64
	Truncated  float64
	Delay      time.Duration // of a timeout; 0 is 30 s
	RetryAfter time.Duration // told with 429, in whole seconds rounded up; 0 tells none
	MaxBody    int64         // bytes of a request body that are read: 8 MiB when 0
}

type faultKey struct{}

func faultOf(ctx context.Context) Fault {
	f, _ := ctx.Value(faultKey{}).(Fault)
	return f
}

// injector draws for (seed, path, body, how often that body came before): neither the order of other requests nor
// concurrency changes what a request meets, and a retry draws anew.
type injector struct {
	next  http.Handler
	f     Faults
	times sync.Map // uint64 of a request -> *atomic.Uint64
}

// Inject wraps a Handler of this package. Timeout, Busy and Error work with any handler; Empty and Truncated are carried
// out by this package's. GET requests are let through. It remembers 100 bytes or so for each distinct request.
func Inject(next http.Handler, f Faults) (http.Handler, error) {
	sum := 0.0
	for _, r := range f.rates() {
		if !(r.share >= 0) {
			return nil, invalid("rate of "+string(r.fault), fmt.Sprintf("is %g, expected 0 to 1", r.share), "")
		}
		sum += r.share
	}
	if sum > 1+1e-9 {
		return nil, invalid("rates of faults", fmt.Sprintf("add up to %g, expected at most 1", sum), "lower one of them")
	}
	if f.Delay <= 0 {
		f.Delay = 30 * time.Second
	}
	if f.MaxBody <= 0 {
		f.MaxBody = 8 << 20
	}
	return &injector{next: next, f: f}, nil
}

type rate struct {
	fault Fault
	share float64
}

func (f Faults) rates() [5]rate {
	return [5]rate{{FaultTimeout, f.Timeout}, {FaultBusy, f.Busy}, {FaultError, f.Error}, {FaultEmpty, f.Empty}, {FaultTruncated, f.Truncated}}
}

// draw is the fault of a request that came n times before, "" for none.
func (f Faults) draw(request, n uint64) Fault {
	h := fnv.New64a()
	binary.Write(h, binary.LittleEndian, [2]uint64{request, n}) // a hash never fails
	x := rand.New(rand.NewPCG(f.Seed, h.Sum64())).Float64()
	for _, r := range f.rates() {
		if x < r.share {
			return r.fault
		}
		x -= r.share
	}
	return ""
}

func (i *injector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		i.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, i.f.MaxBody))
	if err != nil {
		err = bodyError(err)
		refuse(w, statusOf(err), err)
		return
	}
	h := fnv.New64a()
	io.WriteString(h, r.URL.Path)
	h.Write([]byte{0})
	h.Write(body)
	counter, _ := i.times.LoadOrStore(h.Sum64(), new(atomic.Uint64))
	fault := i.f.draw(h.Sum64(), counter.(*atomic.Uint64).Add(1)-1)
	switch fault {
	case FaultTimeout:
		timer := time.NewTimer(i.f.Delay)
		defer timer.Stop()
		select {
		case <-r.Context().Done():
			return
		case <-timer.C:
			refuse(w, http.StatusGatewayTimeout, injected(fault))
		}
		return
	case FaultBusy:
		if i.f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(i.f.RetryAfter.Seconds()))))
		}
		refuse(w, http.StatusTooManyRequests, injected(fault))
		return
	case FaultError:
		refuse(w, http.StatusInternalServerError, injected(fault))
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), faultKey{}, fault))
	r.Body = io.NopCloser(bytes.NewReader(body))
	i.next.ServeHTTP(w, r)
}

func injected(f Fault) error {
	return &quarry.Error{Op: "retrieve", Kind: quarry.KindUnavailable, Subject: string(f), Msg: "this fault was injected", Hint: "send the request again"}
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(failureOf(err))
}
