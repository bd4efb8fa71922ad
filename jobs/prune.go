package jobs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// use marks a stage directory as part of this run. The time of stage.json says when that was last; when it cannot be
// set, Prune only takes the directory for older than it is.
func (r *RunDir) use(dir string) {
	r.mu.Lock()
	r.used[dir] = true
	r.mu.Unlock()
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, stageName), now, now)
}

// Prune removes finished stages of former keys and returns their directories. Of each stage's keys the keep used last
// stay, those of this run before all others, so that a user who changes a setting back and forth finds both cached.
//
// It removes only what a stage.json of this schema or an older one names as its own. Unfinished stages stay: their work may be resumed.
// A kill leaves a directory whole or removed. Call it when no stage runs.
func (r *RunDir) Prune(keep int) (removed []string, err error) {
	type old struct {
		dir      string
		current  bool
		lastUsed time.Time
	}
	stages := filepath.Join(r.path, stagesDir)
	entries, err := os.ReadDir(stages)
	if err != nil {
		return nil, failed("prune", r.path, stages, err)
	}
	byName := map[string][]old{}
	for _, e := range entries {
		dir := filepath.Join(stages, e.Name())
		if name, at, ok := ownStage(dir, e); ok {
			byName[name] = append(byName[name], old{dir, r.used[dir], at})
		}
	}
	var errs []error
	for _, all := range byName {
		slices.SortFunc(all, func(a, b old) int {
			if a.current != b.current {
				if a.current {
					return -1
				}
				return 1
			}
			if c := b.lastUsed.Compare(a.lastUsed); c != 0 {
				return c
			}
			return strings.Compare(a.dir, b.dir)
		})
		for i, o := range all {
			if i < keep || o.current {
				continue
			}
			if err := atomicfile.RemoveAll(o.dir); err != nil {
				errs = append(errs, failed("prune", o.dir, o.dir, err))
				continue
			}
			r.log.Info("stage of a former key is removed", "dir", o.dir, "last_used", o.lastUsed)
			removed = append(removed, o.dir)
		}
	}
	slices.Sort(removed)
	return removed, errors.Join(errs...)
}

// ownStage reads the stage.json of a directory and when it was last used; ok is false when the directory is not, by
// its name and content, a finished stage of this schema or an older one.
func ownStage(dir string, e os.DirEntry) (name string, lastUsed time.Time, ok bool) {
	file := filepath.Join(dir, stageName)
	info, err := os.Lstat(file)
	if err != nil || !e.IsDir() || !info.Mode().IsRegular() {
		return "", time.Time{}, false
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", time.Time{}, false
	}
	var head struct {
		Schema    int
		Name, Key string
	}
	if json.Unmarshal(data, &head) != nil || head.Schema < 1 || head.Schema > StageSchema || len(head.Key) < keyDigits {
		return "", time.Time{}, false
	}
	return head.Name, info.ModTime(), e.Name() == stageDir(head.Name, head.Key)
}
