package teacher

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/quarry-rl/quarry"
)

// CacheVersion is the version of the cache file (docs/formats/extract.md).
const CacheVersion = 1

const cacheMagic = "quarry-teacher-cache"

// Cache is a file of answers by the hash of their request: JSON lines, only ever appended to. One process writes it at a time.
type Cache struct {
	path string
	mu   sync.Mutex
	f    *os.File
	at   map[string]place
	end  int64
	bad  error // a write that failed: the end of the file is unknown
}

type place struct {
	off  int64
	size int32
}

type cacheHead struct {
	Magic   string `json:"format"`
	Version int    `json:"version"`
}

type cacheLine struct {
	Key    string          `json:"key"`
	Answer json.RawMessage `json:"answer"`
	Sum    uint32          `json:"crc32"` // of key and answer as they stand here
}

func lineSum(key string, answer []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE([]byte(key)), crc32.IEEETable, answer)
}

// OpenCache opens or begins the file. A last line without its end, which a kill leaves, is cut off; any other damage is an
// error. Errors: corrupt (file:line), invalid (a newer version, another file), conflict (another process has it), the disk's.
func OpenCache(path string) (*Cache, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, (&Cache{path: path}).disk(err)
	}
	c := &Cache{path: path, f: f, at: map[string]place{}}
	if err := c.open(); err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cache) open() error {
	info, err := c.f.Stat()
	if err != nil {
		return c.disk(err)
	}
	if !info.Mode().IsRegular() {
		return &quarry.Error{Op: "open teacher cache", Kind: quarry.KindInvalid, Subject: c.path, Msg: "expected a file", Hint: "name a file"}
	}
	if err := lock(c.f); err != nil {
		return &quarry.Error{Op: "open teacher cache", Kind: quarry.KindConflict, Subject: c.path, Msg: "another process uses it", Err: err,
			Hint: "wait for it, or name another file"}
	}
	if err := c.load(); err != nil {
		return err
	}
	if c.end < info.Size() {
		if err := c.f.Truncate(c.end); err != nil {
			return c.disk(err)
		}
	}
	if c.end > 0 {
		return nil
	}
	head, err := json.Marshal(cacheHead{cacheMagic, CacheVersion})
	if err != nil {
		return err
	}
	return c.append(append(head, '\n'))
}

// load indexes the whole lines.
func (c *Cache) load() error {
	r := bufio.NewReaderSize(c.f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what is left has no end
		}
		if err != nil {
			return c.disk(err)
		}
		if n == 1 {
			err = c.head(line)
		} else {
			err = c.index(line, n)
		}
		if err != nil {
			return err
		}
		c.end += int64(len(line))
	}
}

func (c *Cache) head(line []byte) error {
	var h cacheHead
	e := &quarry.Error{Op: "open teacher cache", Kind: quarry.KindInvalid, Subject: c.path + ":1", Hint: "name another file; this one stays as it is"}
	switch err := json.Unmarshal(line, &h); {
	case err != nil || h.Magic != cacheMagic:
		e.Msg = fmt.Sprintf("expected {\"format\":%q,...}: this is no cache of a teacher", cacheMagic)
	case h.Version > CacheVersion:
		e.Msg = fmt.Sprintf("version %d is newer than this program reads, %d", h.Version, CacheVersion)
		e.Hint = "use a newer quarry, or name another file"
	case h.Version != CacheVersion:
		e.Msg = fmt.Sprintf("expected version %d, found %d", CacheVersion, h.Version)
	default:
		return nil
	}
	return e
}

func (c *Cache) index(line []byte, n int) error {
	var l cacheLine
	if err := json.Unmarshal(line, &l); err != nil || l.Key == "" || l.Sum != lineSum(l.Key, l.Answer) {
		return &quarry.Error{Op: "open teacher cache", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("%s:%d", c.path, n),
			Msg: "the line does not match its checksum", Err: err, Hint: "restore the file, or delete this line: its answer will be paid for again"}
	}
	c.at[l.Key] = place{c.end, int32(len(line))}
	return nil
}

// Len is the number of answers.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.at)
}

// Close gives the file up.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.f.Close(); err != nil {
		return c.disk(err)
	}
	return nil
}

// get finds an answer; a nil cache has none.
func (c *Cache) get(key string) (a answer, ok bool, err error) {
	if c == nil {
		return a, false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.at[key]
	if !ok {
		return a, false, nil
	}
	buf := make([]byte, p.size)
	if _, err := c.f.ReadAt(buf, p.off); err != nil {
		return a, false, c.disk(err)
	}
	var l cacheLine
	if err := json.Unmarshal(buf, &l); err != nil || l.Key != key || l.Sum != lineSum(l.Key, l.Answer) || json.Unmarshal(l.Answer, &a) != nil {
		return a, false, &quarry.Error{Op: "read teacher cache", Kind: quarry.KindCorrupt, Subject: c.path, Msg: "changed while it was in use",
			Hint: "let nothing else write it, and run the same command again"}
	}
	return a, true, nil
}

// put keeps an answer; it is on the disk when put returns.
func (c *Cache) put(key string, a answer) error {
	if c == nil {
		return nil
	}
	data, err := json.Marshal(a)
	if err == nil {
		data, err = json.Marshal(cacheLine{key, data, lineSum(key, data)})
	}
	if err != nil {
		return &quarry.Error{Op: "write teacher cache", Kind: quarry.KindInternal, Subject: c.path, Err: err}
	}
	data = append(data, '\n')
	c.mu.Lock()
	defer c.mu.Unlock()
	at := place{c.end, int32(len(data))}
	if err := c.append(data); err != nil {
		return err
	}
	c.at[key] = at
	return nil
}

func (c *Cache) append(line []byte) error {
	if c.bad != nil {
		return c.bad
	}
	_, err := c.f.WriteAt(line, c.end)
	if err == nil {
		err = c.f.Sync()
	}
	if err != nil {
		c.bad = c.disk(err)
		return c.bad
	}
	c.end += int64(len(line))
	return nil
}

func (c *Cache) disk(err error) error {
	e := &quarry.Error{Op: "teacher cache", Kind: quarry.KindUnavailable, Subject: c.path, Err: err, Hint: "check the disk, then run the same command again"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Hint = quarry.KindNotFound, "create the folder first, or check the spelling"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = quarry.KindInvalid, "make it writable, or name another file"
	}
	return e
}
