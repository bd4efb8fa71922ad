//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry/kg/retrieve"
)

// TestServe runs the server as a process of its own: it says where it listens, answers there, and ends with code 0 when
// it is told to, the request under way answered.
func TestServe(t *testing.T) {
	t.Parallel()
	w := newWorkdir(t)
	w.must(&buildDoc{}, "kg", "build", "--out", "kg", "data")
	srv := w.serve("kg", "serve", "kg", "--addr", "127.0.0.1:0")
	url := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(srv.line())
	if passages := srv.line(); url == "" || passages != "passages  1685" {
		t.Fatalf("it says %q and %q", url, passages)
	}
	answer, err := http.Post(url+"/retrieve", "application/json", strings.NewReader(`{"queries":["Schneider born"],"topk":1,"return_scores":true}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "born 13 March 1963 in Mediaș") || !strings.Contains(string(body), `"url":"doc:d0000"`) {
		t.Errorf("status %d, %v, %s", answer.StatusCode, err, body)
	}
	code, stdout, stderr := w.run("kg", "serve", "kg", "--addr", strings.TrimPrefix(url, "http://"))
	if code != 5 || stdout != "" || !strings.Contains(stderr, "hint: choose a free address with --addr") {
		t.Errorf("a second one on the same address: code %d, %q, %s", code, stdout, stderr)
	}
	finish := srv.begin(strings.TrimPrefix(url, "http://"), "/retrieve", `{"queries":["Schneider born"]}`)
	srv.stop()
	if answer := finish(); !strings.HasPrefix(answer, "HTTP/1.1 200 OK") || !strings.Contains(answer, "born 13 March 1963") {
		t.Errorf("the request under way got %s", answer)
	}
	if code, stderr := srv.end(); code != 0 || stderr != "" {
		t.Errorf("ended with code %d, %s", code, stderr)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("it still answers")
	}

	srv = w.serve("kg", "serve", "kg", "--addr", "127.0.0.1:0", "--fault-empty", "1", "--log-level", "debug", "-o", "json")
	var doc struct {
		URL      string `json:"url"`
		Passages int    `json:"passages"`
	}
	if err := json.NewDecoder(srv.out).Decode(&doc); err != nil || doc.Passages != 1685 {
		t.Fatalf("%+v, %v", doc, err)
	}
	c, err := retrieve.NewClient(doc.URL, retrieve.ClientOptions{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := c.Search(t.Context(), "Schneider", 1); err != nil || len(found) > 0 {
		t.Errorf("with --fault-empty 1: %v, %v", found, err)
	}
	if log := srv.says(); !strings.Contains(log, `"msg":"request","route":"/retrieve"`) || !strings.Contains(log, `"fault":"empty"`) {
		t.Errorf("log %s", log)
	}
	srv.stop()
	if code, stderr := srv.end(); code != 0 || stderr != "" {
		t.Errorf("ended with code %d, %s", code, stderr)
	}
}

// served is a server under way.
type served struct {
	*workdir
	cmd      *exec.Cmd
	out, err *bufio.Reader
}

// serve starts quarry as a process, which ends with the test at the latest.
func (w *workdir) serve(args ...string) *served {
	w.Helper()
	s := &served{workdir: w, cmd: exec.CommandContext(w.Context(), "quarry", args...)}
	s.cmd.Dir = w.dir
	out, err := s.cmd.StdoutPipe()
	errs, err2 := s.cmd.StderrPipe()
	if err := errors.Join(err, err2, s.cmd.Start()); err != nil {
		w.Fatal(err)
	}
	s.out, s.err = bufio.NewReader(out), bufio.NewReader(errs)
	return s
}

// line is the next line of stdout.
func (s *served) line() string { s.Helper(); return s.next(s.out) }

// says is the next line of stderr.
func (s *served) says() string { s.Helper(); return s.next(s.err) }

func (s *served) next(r *bufio.Reader) string {
	s.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		s.Fatalf("%v after %q", err, text)
	}
	return strings.TrimSpace(text)
}

// begin sends a request but for its body and waits until the server asks for that; the function sends it and gives the
// answer.
func (s *served) begin(addr, route, body string) (finish func() string) {
	s.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", route, len(body))
	r := bufio.NewReader(c)
	if line := s.next(r) + s.next(r); line != "HTTP/1.1 100 Continue" {
		s.Fatalf("the server says %q", line)
	}
	return func() string {
		_, err := io.WriteString(c, body)
		answer, err2 := io.ReadAll(r)
		if err := errors.Join(err, err2); err != nil {
			s.Error(err)
		}
		return string(answer)
	}
}

// stop sends SIGTERM and waits until the server has it.
func (s *served) stop() {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	if line := s.says(); !strings.HasPrefix(line, "terminated: finishing what is under way") {
		s.Errorf("it says %q", line)
	}
}

// end waits for the exit code; stderr is what came last.
func (s *served) end() (code int, stderr string) {
	rest, _ := io.ReadAll(s.err)
	_ = s.cmd.Wait() // the code says it
	return s.cmd.ProcessState.ExitCode(), string(rest)
}
