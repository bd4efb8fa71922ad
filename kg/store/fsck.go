package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Fault is something wrong in a graph file.
type Fault struct {
	Section string `json:"section"`
	Place   string `json:"place"` // such as "item 17", "edge 3", "document d0007"; "" for the whole section
	Msg     string `json:"msg"`
}

func (f Fault) String() string {
	s := "section " + f.Section
	if f.Place != "" {
		s += ", " + f.Place
	}
	return s + ": " + f.Msg
}

// Fsck opens the graph in dir and reads all of it. The error is Open's, or canceled.
func Fsck(ctx context.Context, dir string) ([]Fault, error) {
	g, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	return g.Fsck(ctx)
}

// Fsck reads the whole graph: the digest of every section, every offset and number against its range, rows sorted and
// each edge in both its rows, ids and names in their indices, texts against their SHA-256. The faults are the first one
// of each section; what rests on a faulty section is not looked at. With no faults, no use of the graph can fail.
// It takes up to 16 bytes a name.
func (g *Graph) Fsck(ctx context.Context) ([]Fault, error) {
	c := &checker{g: g, bad: map[string]bool{}}
	for _, check := range []func(){
		c.digests, c.counts,
		c.csr, c.strings, c.references, c.ids, c.names, c.documents, c.evidence, c.qualifiers,
	} {
		if ctx.Err() != nil {
			return nil, &quarry.Error{Op: "kg fsck", Kind: quarry.KindCanceled, Subject: g.path, Msg: "stopped", Err: context.Cause(ctx), Hint: "run the same command again"}
		}
		check()
	}
	return c.faults, nil
}

// checker collects the first fault of each section.
type checker struct {
	g      *Graph
	faults []Fault
	bad    map[string]bool // sections whose structure is not to be relied on
}

func (c *checker) fault(section, place, format string, args ...any) {
	if !c.bad[section] {
		c.bad[section] = true
		c.faults = append(c.faults, Fault{section, place, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) sound(sections ...string) bool {
	return !slices.ContainsFunc(sections, func(s string) bool { return c.bad[s] })
}

func item(i int) string { return fmt.Sprintf("item %d", i) }

// digests leaves the sections to the other checks, which may find the place.
func (c *checker) digests() {
	gaps := append(slices.Clone(c.g.table), section{name: "table", gap: c.g.last})
	for i, s := range gaps {
		if j := slices.IndexFunc(s.gap, func(b byte) bool { return b != 0 }); j >= 0 {
			c.faults = append(c.faults, Fault{s.name, fmt.Sprintf("byte %d of the %d before it", j, len(s.gap)), "not 0"})
		}
		if i == len(gaps)-1 {
			break
		}
		if sum := sha256.Sum256(s.data); !bytes.Equal(sum[:], s.sha256) {
			c.faults = append(c.faults, Fault{s.name, "", fmt.Sprintf("%d bytes do not have their SHA-256", len(s.data))})
		}
	}
}

func (c *checker) counts() {
	have := c.g.manifest.Counts
	want := have
	want.fill(&c.g.arrays)
	if have != want {
		c.faults = append(c.faults, Fault{ManifestFile, "counts", fmt.Sprintf("%+v, the graph has %+v", have, want)})
	}
}

// ascending checks positions: from 0 to their end, as Open has seen, and never back.
func ascending[T uint32 | uint64](c *checker, section string, off []T) {
	for i := 1; i < len(off); i++ {
		if off[i] < off[i-1] {
			c.fault(section, item(i), "%d after %d", off[i], off[i-1])
			return
		}
	}
}

// below checks numbers against their limit.
func (c *checker) below(section string, list []uint32, limit int) {
	for i, v := range list {
		if int64(v) >= int64(limit) {
			c.fault(section, item(i), "%d, expected below %d", v, limit)
			return
		}
	}
}

func (c *checker) strings() {
	g := c.g
	ascending(c, "str.off", g.strOff)
	ascending(c, "type.off", g.typeOff)
	for _, t := range []struct {
		name string
		off  []uint64
	}{{"str.off", g.strOff}, {"type.off", g.typeOff}} {
		if t.off[1] != 0 {
			c.fault(t.name, item(1), "%d: string 0 is not empty", t.off[1])
		}
	}
}

// references checks the columns that hold numbers of strings and types.
func (c *checker) references() {
	g := c.g
	for _, x := range []struct {
		section string
		list    []uint32
	}{
		{"ent.name", g.entName}, {"ent.zh", g.entZH}, {"ent.desc", g.entDesc}, {"ent.alias", g.alias},
		{"rel.label", g.relLabel}, {"rel.zh", g.relZH}, {"rel.desc", g.relDesc}, {"doc.title", g.docTitle}, {"doc.url", g.docURL},
		{"qual.prop", g.qualProp}, {"qual.value", g.qualTo},
	} {
		c.below(x.section, x.list, g.strings())
	}
	c.below("ent.type", g.entType, g.Types())
	ascending(c, "ent.alias.off", g.aliasOff)
	c.below("ent.doc", g.mention, g.documents())
	ascending(c, "ent.doc.off", g.mentionOff)
	if !c.sound("ent.doc.off") {
		return
	}
	for v := range uint32(max(len(g.mentionOff)-1, 0)) {
		docs := row(g.mentionOff, g.mention, v)
		for i := 1; i < len(docs); i++ {
			if docs[i] <= docs[i-1] {
				c.fault("ent.doc", item(int(g.mentionOff[v])+i), "%d after %d in one list", docs[i], docs[i-1])
			}
		}
	}
}

// ids checks that every entity, relation and document has an id of its own and is found by it.
func (c *checker) ids() {
	g := c.g
	for _, x := range []struct {
		name string
		off  []uint64
		text []byte
		by   index
	}{{"ent.id", g.entIDOff, g.entID, g.entByID}, {"rel.id", g.relIDOff, g.relID, g.relByID}, {"doc.id", g.docIDOff, g.docID, g.docByID}} {
		ascending(c, x.name+".off", x.off)
		if !c.sound(x.name + ".off") {
			continue
		}
		n := len(x.off) - 1
		k := make(keys, 0, n)
		for i := range uint32(n) {
			id := piece(x.text, x.off, i)
			if len(id) == 0 {
				c.fault(x.name, item(int(i)), "the id is empty")
			}
			k = k.add(id, i)
		}
		want := k.index()
		c.index(x.name, x.by, want)
		for i := range want.hash { // equal ids have equal hashes and so stand in one run
			for j := i + 1; j < n && want.hash[j] == want.hash[i]; j++ {
				if a := piece(x.text, x.off, want.num[i]); bytes.Equal(a, piece(x.text, x.off, want.num[j])) {
					c.fault(x.name, item(int(want.num[j])), "%s is also the id of item %d", cut(a), want.num[i])
				}
			}
		}
	}
}

func (c *checker) index(name string, have, want index) {
	for _, x := range []struct {
		section    string
		have, want []uint32
	}{{name + ".hash", have.hash, want.hash}, {name + ".num", have.num, want.num}} {
		if slices.Equal(x.have, x.want) {
			continue
		}
		i := 0
		for i < min(len(x.have), len(x.want)) && x.have[i] == x.want[i] {
			i++
		}
		c.fault(x.section, item(i), "%d items do not lead to their texts, from this one on; expected %d items", len(x.have), len(x.want))
	}
}

func (c *checker) names() {
	g := c.g
	if !c.sound("str.off", "ent.name", "ent.zh", "ent.alias", "ent.alias.off", "rel.label", "rel.zh") {
		return
	}
	c.index("ent.name", g.entByName, names(g.Entities(), g.stringAt, g.aliasOff, g.alias, g.entName, g.entZH))
	c.index("rel.name", g.relByName, names(g.relations(), g.stringAt, nil, nil, g.relLabel, g.relZH))
}

func (c *checker) documents() {
	g := c.g
	ascending(c, "doc.first", g.docFirst)
	for p := range g.passages() {
		if g.pasOff[p+1] <= g.pasOff[p] { // an empty sentence takes one byte
			c.fault("pas.off", item(p+1), "%d after %d", g.pasOff[p+1], g.pasOff[p])
			return
		}
	}
	if !c.sound("doc.first") {
		return
	}
	for d := range uint32(g.documents()) {
		lo, hi := g.PassagesOf(d)
		for p := lo; p < hi; p++ {
			want := byte(' ')
			if p+1 == hi {
				want = '\n'
			}
			if at := g.pasOff[p+1] - 1; g.text[at] != want {
				c.fault("text", fmt.Sprintf("byte %d, after sentence %d of document %s", at, p-lo, cut(g.DocumentID(d))), "%q, expected %q", g.text[at], want)
			}
		}
		if sum := sha256.Sum256(g.textOf(d)); !bytes.Equal(sum[:], g.docSHA[32*int(d):32*int(d)+32]) {
			c.fault("text", "document "+cut(g.DocumentID(d)), "the text does not have the SHA-256 of section doc.sha256")
		}
	}
}
