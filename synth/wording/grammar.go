package wording

// nodeIs is what a noun phrase is.
type nodeIs int

const (
	isName   nodeIs = iota // a constant
	isRef                  // "that city", "the second city": a variable spoken of before
	isSome                 // "a certain city", "a city whose name begins with B": a new variable
	isYears                // a new variable by its mark alone
	isNumber               // the same
	isThe                  // what an atom says of its argument: a new variable
)

// node is a noun phrase.
type node struct {
	is      nodeIs
	name    string
	noun    string // of a variable
	ord     int    // of a reference: 0 for the last with that noun, else its place among them
	class   bool   // the noun is a class that is stated
	marks   []Mark // of isSome, isYears, isNumber
	rel     int
	inverse bool
	arg     *node
}

// predicate is an atom or a mark said of a subject.
type predicate struct {
	mark    *Mark
	rel     int
	inverse bool
	arg     *node
}

// op is what a sentence does.
type op int

const (
	opIntro  op = iota // speaks of something new: subject
	opAssert           // says preds of the subject, a reference
	opOpen             // speaks of the answer as something of a noun: preds
	opAsk              // asks for the subject
	opWhich            // asks what has preds
	opClose            // asks for what opOpen spoke of
)

type sentence struct {
	op      op
	subject *node
	noun    string // of opOpen, opWhich, opClose; may be ""
	preds   []predicate
}

// template is the wording of a sentence. Its slots: {np}, {ref}, {ask}, {noun}, {a} for the noun with its article, {preds}.
type template struct {
	op   op
	text string
	kind []Kind // it suits; empty for all
}

var who, what = []Kind{Person}, []Kind{Any, Place, Organisation, Work, Event, Date}

var templates = map[Lang][]template{
	English: {
		{op: opIntro, text: "Consider {np}."},
		{op: opIntro, text: "Think of {np}."},
		{op: opIntro, text: "Take {np}."},
		{op: opAssert, text: "{ref} {preds}."},
		{op: opOpen, text: "I am looking for {a} who {preds}.", kind: who},
		{op: opOpen, text: "I have in mind {a} who {preds}.", kind: who},
		{op: opOpen, text: "There is {a} who {preds}.", kind: who},
		{op: opOpen, text: "I am looking for {a} that {preds}.", kind: append([]Kind{Number}, what...)},
		{op: opOpen, text: "I have in mind {a} that {preds}.", kind: append([]Kind{Number}, what...)},
		{op: opOpen, text: "There is {a} that {preds}.", kind: append([]Kind{Number}, what...)},
		{op: opAsk, text: "Who is {np}?", kind: who},
		{op: opAsk, text: "Can you tell me who {np} is?", kind: who},
		{op: opAsk, text: "I would like to know who {np} is.", kind: who},
		{op: opAsk, text: "What is {np}?", kind: what},
		{op: opAsk, text: "Can you tell me what {np} is?", kind: what},
		{op: opAsk, text: "I would like to know what {np} is.", kind: what},
		{op: opAsk, text: "How large is {np}?", kind: []Kind{Number}},
		{op: opAsk, text: "Can you tell me how large {np} is?", kind: []Kind{Number}},
		{op: opAsk, text: "{ask}?"},
		{op: opWhich, text: "Who {preds}?", kind: who},
		{op: opWhich, text: "Can you tell me who {preds}?", kind: who},
		{op: opWhich, text: "Which {noun} {preds}?"},
		{op: opWhich, text: "Can you tell me which {noun} {preds}?"},
		{op: opWhich, text: "I would like to know which {noun} {preds}."},
		{op: opClose, text: "Who is it?", kind: who},
		{op: opClose, text: "What is this person's name?", kind: who},
		{op: opClose, text: "What is it called?", kind: []Kind{Any, Place, Organisation, Work, Event}},
		{op: opClose, text: "What is it?", kind: []Kind{Any, Place, Organisation, Work, Event}},
		{op: opClose, text: "Which {noun} is it?", kind: []Kind{Place, Organisation, Work, Event}},
		{op: opClose, text: "When is it?", kind: []Kind{Date}},
		{op: opClose, text: "How many is it?", kind: []Kind{Number}},
	},
	Chinese: {
		{op: opIntro, text: "来看{np}。"},
		{op: opIntro, text: "请看{np}。"},
		{op: opIntro, text: "考虑{np}。"},
		{op: opAssert, text: "{ref}{preds}。"},
		{op: opOpen, text: "我在找一个{noun}，{preds}。"},
		{op: opOpen, text: "有一个{noun}，{preds}。"},
		{op: opOpen, text: "想请教一个{noun}，{preds}。"},
		{op: opAsk, text: "{np}是谁？", kind: who},
		{op: opAsk, text: "请问{np}是谁？", kind: who},
		{op: opAsk, text: "我想知道{np}是谁。", kind: who},
		{op: opAsk, text: "{np}是哪里？", kind: []Kind{Place}},
		{op: opAsk, text: "{np}是什么时候？", kind: []Kind{Date}},
		{op: opAsk, text: "请问{np}是什么时候？", kind: []Kind{Date}},
		{op: opAsk, text: "{np}是多少？", kind: []Kind{Number}},
		{op: opAsk, text: "请问{np}是多少？", kind: []Kind{Number}},
		{op: opAsk, text: "{np}是什么？", kind: []Kind{Any, Organisation, Work, Event}},
		{op: opAsk, text: "请问{np}叫什么名字？", kind: []Kind{Any, Place, Organisation, Work, Event}},
		{op: opAsk, text: "我想知道{np}叫什么名字。", kind: []Kind{Any, Place, Organisation, Work, Event}},
		{op: opWhich, text: "谁{preds}？", kind: who},
		{op: opWhich, text: "请问谁{preds}？", kind: who},
		{op: opWhich, text: "哪个{noun}{preds}？"},
		{op: opWhich, text: "请问哪个{noun}{preds}？"},
		{op: opWhich, text: "我想知道哪个{noun}{preds}。"},
		{op: opClose, text: "请问这是谁？", kind: who},
		{op: opClose, text: "这个人叫什么名字？", kind: who},
		{op: opClose, text: "请问这是哪里？", kind: []Kind{Place}},
		{op: opClose, text: "请问这是什么时候？", kind: []Kind{Date}},
		{op: opClose, text: "请问这是多少？", kind: []Kind{Number}},
		{op: opClose, text: "请问它叫什么名字？", kind: []Kind{Any, Organisation, Work, Event}},
		{op: opClose, text: "请问这是哪个{noun}？", kind: []Kind{Place, Organisation, Work, Event}},
	},
}

var ordinals = map[Lang][]string{
	English: {"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"},
	Chinese: {"", "第一个", "第二个", "第三个", "第四个", "第五个", "第六个", "第七个", "第八个", "第九个", "第十个"},
}

// seps part predicates; the last one stands before the last of several.
func seps(l Lang) (between, last string) {
	if l == Chinese {
		return "，", "，并且"
	}
	return ", ", " and "
}

func (t template) suits(k Kind) bool {
	for _, x := range t.kind {
		if x == k {
			return true
		}
	}
	return len(t.kind) == 0
}

// discourse follows what has been spoken of, for the writer and the reader alike: the inner part of a phrase comes
// before the phrase.
type discourse struct {
	nouns []string // of each variable in order
	vars  []int
}

func (d *discourse) add(v int, noun string) {
	d.nouns, d.vars = append(d.nouns, noun), append(d.vars, v)
}

// find is the variable of a reference.
func (d *discourse) find(noun string, ord int) (int, bool) {
	last, n := -1, 0
	for i, x := range d.nouns {
		if x == noun {
			if n++; n == ord {
				return d.vars[i], true
			}
			last = d.vars[i]
		}
	}
	return last, ord == 0 && last >= 0
}

// refer is how a variable is referred to; false when it has not been spoken of or is too far down.
func (d *discourse) refer(v int, l Lang) (*node, bool) {
	for i, x := range d.vars {
		if x != v {
			continue
		}
		n := &node{is: isRef, noun: d.nouns[i]}
		if w, _ := d.find(n.noun, 0); w == v {
			return n, true
		}
		for _, y := range d.nouns[:i+1] {
			if y == n.noun {
				n.ord++
			}
		}
		return n, n.ord < len(ordinals[l])
	}
	return nil, false
}
