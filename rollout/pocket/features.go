package pocket

import (
	"fmt"

	"github.com/quarry-rl/quarry/kg/english"
)

// role is what a candidate uses a name for.
type role int

const (
	roleStart  role = iota // first search: from the question's start
	roleSearch             // a later search
	roleAnswer
	nRole
)

// block is a group of features that share one table of values: its ids are base + mixed-radix index.
type block struct {
	base int
	dims []int
}

func (b block) id(ix ...int) uint16 {
	v := 0
	for i, d := range b.dims {
		v = v*d + ix[i]
	}
	return uint16(b.base + v)
}

// blocks is the feature set "pocket/2". Names in brackets are indices: what each stands for is said in the comments.
type blocks struct {
	act       block // action x searches done against steps of the plan
	which     block // which step's words the query adds, against the next step
	repeat    block // the same query again
	inQ       block // role x named in the question: no, start, condition
	seen      block // role x seen in the last return, earlier, never
	rank      block // role x best rank of a passage that holds it
	count     block // role x passages of the last return that hold it
	withPrev  block // role x its passage holds the last query's name
	titlePrev block // role x its passage's title is the last query's name
	cueDist   block // role x distance to a cue word
	cueSide   block // role x direction x before, after, no cue
	cueCount  block // role x distinct cue words in the passage
	title     block // role x direction x is a title
	first     block // role x direction x first in its sentence
	shape     block // role x wanted kind x shape
	before    block // role x wanted kind x word before
	cond      block // role x a condition's name stands in the passage
	used      block // role x already searched
	prevDist  block // role x distance to the last query's name
	joint     block // role x (with last name, near a cue, shape fits)
	head      block // role x wanted kind x head noun
	phHead    block // phrase by its pattern x head noun
	form      block // role x form
	cueIn     block // role x a cue word inside the name
	best      block // role x in the best passage
	nearCue   block // role x rank by distance to a cue among fitting names
	nearPrev  block // role x rank by distance to the last name among fitting names
	from      block // kind the next step asks about x shape
	guess     block // a closed-book guess
	chain     block // role x wanted kind x place in a run of names joined by commas
	names     []string
}

// newBlocks lays the features out. Those of a phrase are named by its pattern: weights hold by name, so neither the
// order of the lexicon's table nor a new line in it gives a phrase the weights of another.
func newBlocks(lex *english.Lexicon) *blocks {
	b := &blocks{}
	add := func(name string, dims ...int) block {
		n := 1
		for _, d := range dims {
			n *= d
		}
		bl := block{len(b.names), dims}
		for i := range n {
			b.names = append(b.names, fmt.Sprintf("%s[%d]", name, i))
		}
		return bl
	}
	r, k, s, h := int(nRole), int(english.NKind), int(english.NShape), english.NHead
	b.act = add("act", 3, 5)
	b.which = add("which", 5)
	b.repeat = add("repeat", 1)
	b.inQ = add("in_question", r, 3)
	b.seen = add("seen", r, 3)
	b.rank = add("rank", r, 6)
	b.count = add("count", r, 4)
	b.withPrev = add("with_last_name", r, 2)
	b.titlePrev = add("title_is_last_name", r, 2)
	b.cueDist = add("cue_distance", r, 6)
	b.cueSide = add("cue_side", r, 2, 3)
	b.cueCount = add("cue_count", r, 4)
	b.title = add("is_title", r, 2, 2)
	b.first = add("is_first", r, 2, 2)
	b.shape = add("kind_shape", r, k, s)
	b.before = add("kind_word_before", r, k, english.NBefore)
	b.cond = add("condition_near", r, 3)
	b.used = add("searched", r, 2)
	b.prevDist = add("last_name_distance", r, 6)
	b.joint = add("joint", r, 8)
	b.head = add("kind_head", r, k, h)
	b.phHead = block{len(b.names), []int{len(lex.Phrases) + 1, h}}
	for i := range len(lex.Phrases) + 1 {
		pattern := "unknown wording"
		if i < len(lex.Phrases) {
			pattern = lex.Phrases[i].Pattern
		}
		for j := range h {
			b.names = append(b.names, fmt.Sprintf("phrase_head[%s][%d]", pattern, j))
		}
	}
	b.form = add("form", r, int(english.NForm))
	b.cueIn = add("cue_inside", r, 2)
	b.best = add("in_best_passage", r, 2)
	b.nearCue = add("near_cue_rank", r, 4)
	b.nearPrev = add("near_last_name_rank", r, 4)
	b.from = add("next_from_shape", k, s)
	b.guess = add("guess", 1)
	b.chain = add("kind_chain", r, k, english.NChain)
	return b
}

// FeatureSetName names the features this version of the policy scores with; weights of another set are refused.
const FeatureSetName = "pocket/2"

// Features returns the policy's feature set.
func (r *Reader) Features() FeatureSet { return FeatureSet{Name: FeatureSetName, Names: r.f.names} }

// bucket groups a distance in words.
func bucket(d int) int {
	switch {
	case d <= 1:
		return 0
	case d <= 3:
		return 1
	case d <= 6:
		return 2
	case d <= 12:
		return 3
	case d < far:
		return 4
	}
	return 5
}

const far = 99

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
