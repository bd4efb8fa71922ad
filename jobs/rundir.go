package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// RunDir is the directory of one run, held by one process at a time. Stages of different names or keys may be
// executed concurrently.
type RunDir struct {
	path string
	lock *os.File
	log  *slog.Logger

	mu      sync.Mutex
	running map[string]bool // stage directories in use by this process
	used    map[string]bool // those whose records Exec returned
}

// Open makes the directory if it is missing and takes its exclusive lock, which the kernel frees when the process
// ends, however it ends. A lock that is held is tried again for two seconds, because a killed process holds it until it
// is torn down; then KindConflict. log receives one line per stage; nil drops them.
func Open(ctx context.Context, path string, log *slog.Logger) (*RunDir, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, stateError("open run", path, err)
	}
	if err := os.MkdirAll(filepath.Join(path, stagesDir), 0o777); err != nil {
		return nil, stateError("open run", path, err)
	}
	lock, err := acquire(ctx, path)
	if err != nil {
		return nil, err
	}
	if _, err := atomicfile.SweepTemps(filepath.Join(path, stagesDir)); err != nil { // removals that a kill cut short
		lock.Close()
		return nil, stateError("open run", path, err)
	}
	return &RunDir{path: path, lock: lock, log: log, running: map[string]bool{}, used: map[string]bool{}}, nil
}

// Path is the absolute directory of the run.
func (r *RunDir) Path() string { return r.path }

// Close frees the lock.
func (r *RunDir) Close() error {
	if err := r.lock.Close(); err != nil {
		return failed("close run", r.path, r.path, err)
	}
	return nil
}

// Exec returns the stage's record, running it only when no verified result of the same key is there. A finished
// directory is trusted only if stage.json has the key, every file it lists has the recorded sha256, and the digest is
// that of files and facts; if not, the stage says so in the log, starts from an empty directory and runs again.
//
// Errors: KindCanceled when ctx is done (nothing is marked as finished, even if Run returned without error),
// KindConflict when this process already executes the stage, KindInvalid when stage.json has a newer schema,
// KindUnavailable on a full disk, otherwise the kind of Run's error.
func (r *RunDir) Exec(ctx context.Context, s Stage) (Record, error) {
	key, err := s.Key()
	if err != nil {
		return Record{}, err
	}
	if err := canceled(ctx, s.Name); err != nil {
		return Record{}, err
	}
	dir := filepath.Join(r.path, stagesDir, stageDir(s.Name, key))
	if !r.enter(dir) {
		return Record{}, &quarry.Error{Op: "stage", Kind: quarry.KindConflict, Subject: s.Name,
			Msg: "this process is already executing it"}
	}
	defer r.leave(dir)

	done, err := readStage(dir, s.Name, key)
	if err == nil {
		r.log.Info("stage is cached: key, files and facts verified", "stage", s.Name, "key", key[:12], "dir", dir)
		r.use(dir)
		return done.record(dir, true), nil
	}
	wipe := !s.Resumable
	switch {
	case errors.Is(err, errNewer):
		return Record{}, err
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errUntrusted):
		// never finished
	default:
		// Whatever a finished directory holds that no longer verifies is not a state to resume from.
		wipe = true
		r.log.Warn("cached result is not trusted, the stage runs again", "stage", s.Name, "dir", dir, "reason", err)
	}
	if err := prepare(dir, wipe); err != nil {
		return Record{}, failed("stage", s.Name, dir, err)
	}
	return r.run(ctx, s, key, dir)
}

// run fills the directory and, when all of it is there, writes stage.json.
func (r *RunDir) run(ctx context.Context, s Stage, key, dir string) (Record, error) {
	r.log.Info("stage runs", "stage", s.Name, "key", key[:12], "dir", dir)
	start := time.Now()
	res, err := s.Run(ctx, dir)
	if cerr := canceled(ctx, s.Name); cerr != nil {
		if err != nil {
			cerr.Err = err
		}
		return Record{}, cerr
	}
	if err != nil {
		return Record{}, failed("stage", s.Name, dir, err)
	}
	done := stageFile{Schema: StageSchema, Name: s.Name, Key: key, Files: []fileEntry{}}
	if res.Facts != nil {
		if done.Facts, err = json.Marshal(res.Facts); err != nil {
			return Record{}, &quarry.Error{Op: "stage", Kind: quarry.KindInternal, Subject: s.Name,
				Msg: "its facts do not marshal to JSON", Err: err}
		}
	}
	if done.Files, err = listFiles(dir, res.Files); err != nil {
		return Record{}, failed("stage", s.Name, dir, err)
	}
	done.Digest = digestOf(done.Files, done.Facts)
	done.Seconds = time.Since(start).Seconds()
	if err := canceled(ctx, s.Name); err != nil {
		return Record{}, err
	}
	if err := writeStage(dir, done); err != nil {
		return Record{}, failed("stage", s.Name, dir, err)
	}
	r.use(dir)
	r.log.Info("stage is done", "stage", s.Name, "digest", done.Digest[:12], "seconds", done.Seconds)
	return done.record(dir, false), nil
}

func (r *RunDir) enter(dir string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[dir] {
		return false
	}
	r.running[dir] = true
	return true
}

func (r *RunDir) leave(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, dir)
}

// prepare leaves a directory without stage.json and without half-written files. A kill while wiping leaves nothing at
// dir that a resumable stage could take for its own.
func prepare(dir string, wipe bool) error {
	if wipe {
		if err := atomicfile.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	// A killed Run leaves temporary files, which must not count as results of the one that resumes.
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_, err = atomicfile.SweepTemps(path)
		}
		return err
	})
}

// canceled is nil while ctx is live.
func canceled(ctx context.Context, stage string) *quarry.Error {
	if ctx.Err() == nil {
		return nil
	}
	return &quarry.Error{Op: "stage", Kind: quarry.KindCanceled, Subject: stage, Msg: "interrupted, not marked as done",
		Hint: "run the same command again to continue", Err: context.Cause(ctx)}
}

// failed wraps an error met while working on subject. Errors of the disk get the kind and the hint that atomicfile
// gives them; any other keeps its own.
func failed(op, subject, dir string, err error) error {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, fs.ErrPermission, syscall.ENOTDIR} {
		if errors.Is(err, errno) {
			var at *fs.PathError
			if errors.As(err, &at) {
				dir = at.Path
			}
			err = atomicfile.Classify("write", dir, err)
			break
		}
	}
	return &quarry.Error{Op: op, Kind: quarry.KindOf(err), Subject: subject, Err: err}
}
