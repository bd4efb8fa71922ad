package ingest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// unit is what is read at once: a file, or a folder whose files belong together.
type unit struct {
	path   string
	format Format // Folder, OpenKE, or "" for a file
	found  bool   // in a folder or by a glob: a foreign file is skipped, not refused
	bytes  int64
}

// expand turns sources into units: in the order given, and sorted by path within a folder or a glob.
func (r *run) expand(sources []string) ([]unit, error) {
	if len(sources) == 0 {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Msg: "no source", Hint: "name a file, a folder or a glob"}
	}
	var out []unit
	seen := map[string]bool{}
	add := func(u unit) {
		if clean := filepath.Clean(u.path); !seen[clean] {
			seen[clean] = true
			out = append(out, u)
		}
	}
	for _, s := range sources {
		paths, globbed, err := glob(s)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			units, err := r.expandPath(p, globbed)
			if err != nil {
				return nil, err
			}
			for _, u := range units {
				add(u)
			}
		}
	}
	return out, nil
}

// glob expands a pattern; a file that is really named so goes before.
func glob(source string) (paths []string, globbed bool, err error) {
	if _, err := os.Stat(source); err == nil || !strings.ContainsAny(source, "*?[") {
		return []string{source}, false, nil
	}
	paths, err = filepath.Glob(source)
	if err != nil {
		return nil, true, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: source, Msg: "no valid pattern", Err: err, Hint: `quote "[" as "[[]"`}
	}
	if len(paths) == 0 {
		return nil, true, &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: source, Msg: "no file has such a name", Hint: "check the spelling; ** is not supported, a folder is read with all below it"}
	}
	slices.Sort(paths)
	return paths, true, nil
}

func (r *run) expandPath(path string, found bool) ([]unit, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		if err != nil { // a missing file is named with the hint of open
			return []unit{{path: path, found: found}}, nil
		}
		return []unit{{path: path, found: found, bytes: info.Size()}}, nil
	}
	if f := r.opt.Format; f == Folder || f == OpenKE {
		return []unit{{path: path, format: f, bytes: folderSize(path)}}, nil
	}
	if f := r.folderFormat(path); f != "" {
		return []unit{{path: path, format: f, bytes: folderSize(path)}}, nil
	}
	var out []unit
	root := path + string(filepath.Separator) // a link to a folder is followed
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p != root && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if f := r.folderFormat(p); f != "" {
				out = append(out, unit{path: p, format: f, bytes: folderSize(p)})
				return fs.SkipDir
			}
			return nil
		}
		u := unit{path: p, found: true}
		if info, err := os.Stat(p); err == nil { // follows a link; what it leads to is checked when it is opened
			if info.IsDir() {
				return nil
			}
			u.bytes = info.Size()
		}
		out = append(out, u)
		return nil
	})
	if err != nil {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindUnavailable, Subject: path, Err: err, Hint: "check that the folder can be read"}
	}
	if len(out) == 0 {
		return nil, &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: path, Msg: "the folder holds no files", Hint: "name a folder with data, or the file itself"}
	}
	slices.SortStableFunc(out, func(a, b unit) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

// folderFormat tells a folder whose files belong together; a format that is asked for goes before.
func (r *run) folderFormat(dir string) Format {
	if r.opt.Format != "" {
		return ""
	}
	has := func(names ...string) (n int) {
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				n++
			}
		}
		return n
	}
	switch {
	case has(DocsFile, EntitiesFile, TriplesFile, RelationsFile) >= 3: // the one that is missing will be named
		return Folder
	case has(entityIDs, relationIDs, trainIDs) == 3:
		return OpenKE
	}
	return ""
}

func folderSize(dir string) (n int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if slices.Contains([]string{DocsFile, EntitiesFile, TriplesFile, RelationsFile, entityIDs, relationIDs, trainIDs, validIDs, testIDs}, e.Name()) {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
	}
	return n
}

// file is a source on disk: reading it counts bytes and ends with the context.
type file struct {
	f *os.File
	r *run
}

func (r *run) open(path string) (*file, error) {
	f, err := atomicfile.Open(op, path) // refuses pipes, sockets and devices
	if err != nil {
		return nil, err
	}
	r.name = path
	return &file{f, r}, nil
}

func (f *file) Read(p []byte) (int, error) {
	if err := f.r.canceled(); err != nil {
		return 0, err
	}
	n, err := f.f.Read(p)
	f.r.read += int64(n)
	return n, err
}

func (f *file) Close() error { return f.f.Close() }

func (r *run) canceled() error {
	if err := r.ctx.Err(); err != nil {
		return &quarry.Error{Op: op, Kind: quarry.KindCanceled, Subject: r.name, Msg: "stopped", Err: context.Cause(r.ctx), Hint: "run the same command again"}
	}
	return nil
}

// input is one stream to read: a file or an entry of an archive.
type input struct {
	name     string // path, for an entry path!entry
	r        io.Reader
	file     *os.File // when r reads it from its start and nothing is unpacked on the way
	number   int      // of the source; blank nodes are distinct between sources
	entries  int      // how many came before in the archive
	optional bool     // a foreign format is skipped
}

const (
	headSize = 64 << 10 // what detection sees
	maxNest  = 4        // gzip in tar in gzip
)

// stream unpacks in by its magic bytes, detects its format and reads it.
func (r *run) stream(in *input, depth int) error {
	b := bufio.NewReaderSize(in.r, headSize)
	head, err := b.Peek(headSize)
	if err != nil && err != io.EOF {
		return r.readError(in, 0, err)
	}
	kind := packing(head)
	if kind != "" && depth == maxNest {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: in.name, Msg: fmt.Sprintf("packed more than %d times", maxNest), Hint: "unpack it first"}
	}
	unpacked := *in
	unpacked.file = nil
	switch kind {
	case "":
		unpacked = *in
		unpacked.r = b
		return r.format(&unpacked, head)
	case "tar":
		return r.tar(&unpacked, b, depth)
	case "xz", "zip", "7z":
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: in.name, Msg: "is packed with " + kind + ", expected plain, gzip, zstd, bzip2 or tar", Hint: "unpack it, or pack it again with zstd"}
	}
	z, err := unpack(kind, b)
	if err != nil {
		return damaged(in, kind, err)
	}
	defer z.Close()
	unpacked.r = &packed{z, in, kind}
	return r.stream(&unpacked, depth+1)
}

// packing tells a container by its magic bytes; "" is none.
func packing(head []byte) string {
	for _, m := range []struct{ magic, kind string }{
		{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\xfd7zXZ\x00", "xz"}, {"PK\x03\x04", "zip"}, {"7z\xbc\xaf\x27\x1c", "7z"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind
		}
	}
	switch {
	case len(head) >= 10 && string(head[:3]) == "BZh" && string(head[4:10]) == "1AY&SY":
		return "bzip2"
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18": // a frame that zstd skips
		return "zstd"
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return "tar"
	}
	return ""
}

func unpack(kind string, b io.Reader) (io.ReadCloser, error) {
	switch kind {
	case "gzip":
		return gzip.NewReader(b)
	case "zstd":
		d, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(2<<30))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(bzip2.NewReader(b)), nil
}

// packed says of an error where it comes from.
type packed struct {
	io.Reader
	in   *input
	kind string
}

func (p *packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = damaged(p.in, p.kind, err)
	}
	return n, err
}

func damaged(in *input, kind string, err error) error {
	if known := (*quarry.Error)(nil); errors.As(err, &known) {
		return known // of the file below
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &quarry.Error{Op: op, Kind: quarry.KindCorrupt, Subject: in.name, Msg: "the " + kind + " data is damaged or cut off", Err: err, Hint: "copy or download the file again"}
}

func (r *run) tar(in *input, b io.Reader, depth int) error {
	t := tar.NewReader(b)
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(in, "tar", err)
		}
		base := h.Name[strings.LastIndexByte(h.Name, '/')+1:]
		if h.Typeflag != tar.TypeReg || base == "" || strings.HasPrefix(base, ".") {
			continue
		}
		entry := &input{name: in.name + "!" + h.Name, number: in.number, entries: n, optional: true}
		entry.r = &packed{t, entry, "tar"}
		r.name = entry.name
		if err := r.stream(entry, depth+1); err != nil {
			return err
		}
	}
}

// readError is what reading in gave at a line (0: unknown) that could not be read.
func (r *run) readError(in *input, line int, err error) error {
	subject := in.name
	if line > 0 {
		subject = fmt.Sprintf("%s:%d", in.name, line)
	}
	var known *quarry.Error
	if errors.As(err, &known) {
		if known.Kind == quarry.KindCorrupt && known.Subject == in.name {
			at := *known
			at.Subject = subject
			return &at
		}
		return err
	}
	return &quarry.Error{Op: op, Kind: quarry.KindUnavailable, Subject: subject, Err: err, Hint: "check the disk, then run the same command again"}
}
