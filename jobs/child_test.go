package jobs

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// The test binary runs itself as the second process: childEnv says which part it plays in which run directory.
const (
	childEnv = "QUARRY_JOBS_TEST_CHILD"
	dirEnv   = "QUARRY_JOBS_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "hold": // takes the lock and keeps it until killed
		r, err := Open(context.Background(), os.Getenv(dirEnv), nil)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		waitForKill(r)
	case "prune", "spoilt": // removes a stage, slowly
		r, err := Open(context.Background(), os.Getenv(dirEnv), nil)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		if os.Getenv(childEnv) == "prune" {
			_, err = r.Prune(1)
		} else {
			s := bulky(1)
			s.Run = func(context.Context, string) (Result, error) { waitForKill(r); return Result{}, nil }
			_, err = r.Exec(context.Background(), s)
		}
		fmt.Println("unreachable:", err)
		waitForKill(r)
	case "stuck", "stuck-resumable": // writes its files, then never gets to stage.json
		r, err := Open(context.Background(), os.Getenv(dirEnv), nil)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s := writer("a.txt", "half")
		s.Resumable = os.Getenv(childEnv) == "stuck-resumable"
		write := s.Run
		s.Run = func(ctx context.Context, dir string) (Result, error) {
			if _, err := write(ctx, dir); err != nil {
				return Result{}, err
			}
			if err := os.WriteFile(filepath.Join(dir, "stray"), []byte("x"), 0o666); err != nil {
				return Result{}, err
			}
			fmt.Println("ready")
			waitForKill(r)
			return Result{}, nil
		}
		_, err = r.Exec(context.Background(), s)
		fmt.Println("unreachable:", err)
		os.Exit(1)
	}
}

// waitForKill keeps a process and what it holds alive: an empty select would end it as a deadlock.
func waitForKill(held *RunDir) {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
	runtime.KeepAlive(held)
}

// child starts this binary in a part and returns once it has printed "ready".
func child(t *testing.T, part, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+part, dirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = cmd.Process.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if st, err := cmd.Process.Wait(); err != nil || st.Success() {
		t.Fatalf("child ended as %v, %v", st, err)
	}
}
