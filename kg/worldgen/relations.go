package worldgen

import "github.com/quarry-rl/quarry/kg/store"

// Relation is one of the 20 kinds of statement, with how it is said. The ids are stable: a writer of questions can look
// them up for any world.
type Relation struct {
	ID, Label, LabelZH string
	Subjects           []string // types of the subject
	Object             string   // type of the object
	Functional         bool     // a subject has at most one object
	Symmetric          bool     // holds both ways, and both articles say so
	Qualifiers         []string // store.QualStart and the like that its statements have; store.QualEnd is missing while it lasts
	Forward            Phrase   // the object, seen from the subject
	Inverse            Phrase   // the subject, seen from the object
	Said               Ways     // as articles say it
}

// Phrase is a noun phrase in which {x} stands for what is known: "the city where {x} was born".
type Phrase struct{ EN, ZH string }

// The relations, by place in Relations.
const (
	bornIn = iota
	bornOn
	studiedAt
	workedFor
	marriedTo
	studentOf
	basedIn
	foundedBy
	foundedIn
	ledBy
	locatedIn
	population
	twinnedWith
	createdBy
	publishedBy
	releasedIn
	setIn
	heldIn
	heldOn
	attendedBy
)

// Relations is the table of all relations, new at each call.
func Relations() []Relation {
	lasting := []string{store.QualStart, store.QualEnd}
	table := []Relation{
		bornIn: {ID: "born_in", Label: "born in", LabelZH: "出生于", Subjects: []string{TypePerson}, Object: TypePlace, Functional: true,
			Forward: Phrase{"the city where {x} was born", "{x}出生的城市"}, Inverse: Phrase{"a person who was born in {x}", "出生于{x}的人"}},
		bornOn: {ID: "born_on", Label: "born on", LabelZH: "出生日期", Subjects: []string{TypePerson}, Object: store.TypeTime, Functional: true,
			Forward: Phrase{"the date on which {x} was born", "{x}的出生日期"}, Inverse: Phrase{"a person who was born on {x}", "在{x}出生的人"}},
		studiedAt: {ID: "studied_at", Label: "studied at", LabelZH: "就读于", Subjects: []string{TypePerson}, Object: TypeOrganisation, Qualifiers: lasting,
			Forward: Phrase{"a university where {x} studied", "{x}就读过的大学"}, Inverse: Phrase{"a person who studied at {x}", "就读于{x}的人"}},
		workedFor: {ID: "worked_for", Label: "worked for", LabelZH: "任职于", Subjects: []string{TypePerson}, Object: TypeOrganisation, Qualifiers: lasting,
			Forward: Phrase{"an organisation that {x} worked for", "{x}任职过的机构"}, Inverse: Phrase{"a person who worked for {x}", "任职于{x}的人"}},
		marriedTo: {ID: "married_to", Label: "married to", LabelZH: "配偶", Subjects: []string{TypePerson}, Object: TypePerson, Functional: true, Symmetric: true,
			Qualifiers: []string{store.QualStart},
			Forward:    Phrase{"the person whom {x} married", "{x}的配偶"}, Inverse: Phrase{"the person who married {x}", "以{x}为配偶的人"}},
		studentOf: {ID: "student_of", Label: "student of", LabelZH: "师从", Subjects: []string{TypePerson}, Object: TypePerson,
			Forward: Phrase{"a teacher of {x}", "{x}师从的人"}, Inverse: Phrase{"a student of {x}", "师从{x}的人"}},
		basedIn: {ID: "based_in", Label: "based in", LabelZH: "总部位于", Subjects: []string{TypeOrganisation}, Object: TypePlace, Functional: true,
			Forward: Phrase{"the city where {x} is based", "{x}总部所在的城市"}, Inverse: Phrase{"an organisation based in {x}", "总部位于{x}的机构"}},
		foundedBy: {ID: "founded_by", Label: "founded by", LabelZH: "创办人", Subjects: []string{TypeOrganisation}, Object: TypePerson,
			Forward: Phrase{"a founder of {x}", "{x}的创办人"}, Inverse: Phrase{"an organisation founded by {x}", "由{x}创办的机构"}},
		foundedIn: {ID: "founded_in", Label: "founded in", LabelZH: "成立于", Subjects: []string{TypeOrganisation, TypePlace}, Object: store.TypeTime, Functional: true,
			Forward: Phrase{"the year in which {x} was founded", "{x}成立的年份"}, Inverse: Phrase{"a place or an organisation founded in {x}", "成立于{x}的地方或机构"}},
		ledBy: {ID: "led_by", Label: "led by", LabelZH: "领导人", Subjects: []string{TypeOrganisation, TypePlace}, Object: TypePerson, Qualifiers: lasting,
			Forward: Phrase{"a leader of {x}", "{x}的领导人"}, Inverse: Phrase{"a place or an organisation led by {x}", "由{x}领导过的地方或机构"}},
		locatedIn: {ID: "located_in", Label: "located in", LabelZH: "所在国家", Subjects: []string{TypePlace}, Object: TypePlace, Functional: true,
			Forward: Phrase{"the country in which {x} is located", "{x}所在的国家"}, Inverse: Phrase{"a city located in {x}", "位于{x}的城市"}},
		population: {ID: "population", Label: "population", LabelZH: "人口", Subjects: []string{TypePlace}, Object: store.TypeNumber, Functional: true,
			Forward: Phrase{"the population of {x}", "{x}的人口"}, Inverse: Phrase{"a place with a population of {x}", "人口为{x}的地方"}},
		twinnedWith: {ID: "twinned_with", Label: "twinned with", LabelZH: "友好城市", Subjects: []string{TypePlace}, Object: TypePlace, Symmetric: true,
			Qualifiers: []string{store.QualStart},
			Forward:    Phrase{"a city twinned with {x}", "{x}的友好城市"}, Inverse: Phrase{"a city that is twinned with {x}", "与{x}结为友好城市的城市"}},
		createdBy: {ID: "created_by", Label: "created by", LabelZH: "作者", Subjects: []string{TypeWork}, Object: TypePerson,
			Forward: Phrase{"a person who created {x}", "{x}的作者"}, Inverse: Phrase{"a work created by {x}", "以{x}为作者的作品"}},
		publishedBy: {ID: "published_by", Label: "published by", LabelZH: "出版方", Subjects: []string{TypeWork}, Object: TypeOrganisation, Functional: true,
			Forward: Phrase{"the publisher of {x}", "{x}的出版方"}, Inverse: Phrase{"a work published by {x}", "由{x}出版的作品"}},
		releasedIn: {ID: "released_in", Label: "released in", LabelZH: "发行于", Subjects: []string{TypeWork}, Object: store.TypeTime, Functional: true,
			Forward: Phrase{"the year in which {x} was released", "{x}发行的年份"}, Inverse: Phrase{"a work released in {x}", "发行于{x}的作品"}},
		setIn: {ID: "set_in", Label: "set in", LabelZH: "故事发生于", Subjects: []string{TypeWork}, Object: TypePlace,
			Forward: Phrase{"a city in which {x} is set", "{x}故事发生的城市"}, Inverse: Phrase{"a work set in {x}", "故事发生于{x}的作品"}},
		heldIn: {ID: "held_in", Label: "held in", LabelZH: "举办地", Subjects: []string{TypeEvent}, Object: TypePlace, Functional: true,
			Forward: Phrase{"the city where {x} was held", "{x}的举办地"}, Inverse: Phrase{"an event held in {x}", "在{x}举办的活动"}},
		heldOn: {ID: "held_on", Label: "held on", LabelZH: "举办日期", Subjects: []string{TypeEvent}, Object: store.TypeTime, Functional: true,
			Forward: Phrase{"the date on which {x} was held", "{x}的举办日期"}, Inverse: Phrase{"an event held on {x}", "于{x}举办的活动"}},
		attendedBy: {ID: "attended_by", Label: "attended by", LabelZH: "出席者", Subjects: []string{TypeEvent}, Object: TypePerson, Qualifiers: []string{store.QualAt},
			Forward: Phrase{"a person who attended {x}", "{x}的出席者"}, Inverse: Phrase{"an event attended by {x}", "{x}出席过的活动"}},
	}
	for i, ways := range said() {
		table[i].Said = ways
	}
	return table
}

// Ways are sentences that say a statement of subject {s} and object {o}, in the years {a} to {b} or in {a} alone. The open
// ones are for a statement that has no end yet, and empty where none is so.
type Ways struct{ EN, ZH, OpenEN, OpenZH []string }

// said is how each relation is said in articles. Every way shares a word with the relation's label, and names both ends.
func said() []Ways {
	one := func(en, zh []string) Ways { return Ways{EN: en, ZH: zh} }
	return []Ways{
		bornIn:    one([]string{"{s} was born in {o}.", "It was in {o} that {s} was born."}, []string{"{s}出生于{o}。", "据记载，{s}出生于{o}。"}),
		bornOn:    one([]string{"{s} was born on {o}.", "According to the records, {s} was born on {o}."}, []string{"{s}的出生日期是{o}。", "档案记载{s}的出生日期为{o}。"}),
		studiedAt: one([]string{"{s} studied at {o} from {a} to {b}.", "From {a} to {b}, {s} studied at {o}."}, []string{"{a}年至{b}年，{s}就读于{o}。", "{s}于{a}年至{b}年就读于{o}。"}),
		workedFor: one([]string{"{s} worked for {o} from {a} to {b}.", "Between {a} and {b}, {s} worked for {o}."}, []string{"{a}年至{b}年，{s}任职于{o}。", "{s}于{a}年至{b}年任职于{o}。"}),
		marriedTo: one([]string{"{s} has been married to {o} since a wedding in {a}.", "In {a}, {s} was married to {o}."}, []string{"{s}的配偶是{o}，两人于{a}年结婚。", "{a}年结婚后，{s}的配偶是{o}。"}),
		studentOf: one([]string{"{s} was a student of {o}.", "Early on, {s} became a student of {o}."}, []string{"{s}师从{o}。", "{s}早年师从{o}。"}),
		basedIn:   one([]string{"{s} is based in {o}.", "{o} is the city that {s} is based in."}, []string{"{s}的总部位于{o}。", "{s}总部位于{o}市内。"}),
		foundedBy: one([]string{"{s} was founded by {o}.", "{o} is among those by whom {s} was founded."}, []string{"{s}的创办人是{o}。", "{o}是{s}的创办人。"}),
		foundedIn: one([]string{"{s} was founded in {o}.", "It was in {o} that {s} was founded."}, []string{"{s}成立于{o}。", "据史料，{s}成立于{o}。"}),
		ledBy: {EN: []string{"{s} was led by {o} from {a} to {b}.", "From {a} to {b}, {s} was led by {o}."},
			ZH:     []string{"{a}年至{b}年，{s}的领导人是{o}。", "{o}于{a}年至{b}年担任{s}的领导人。"},
			OpenEN: []string{"{s} has been led by {o} since {a}.", "Since {a}, {s} has been led by {o}."},
			OpenZH: []string{"自{a}年起，{s}的领导人是{o}。", "{o}自{a}年起担任{s}的领导人。"}},
		locatedIn:   one([]string{"{s} is a city located in {o}.", "{s} is located in {o}."}, []string{"{s}所在国家是{o}。", "{s}是一座城市，所在国家为{o}。"}),
		population:  one([]string{"{s} has a population of {o}.", "The population of {s} is {o}."}, []string{"{s}的人口为{o}。", "{s}人口约{o}。"}),
		twinnedWith: one([]string{"{s} has been twinned with {o} since {a}.", "Since {a}, {s} has been twinned with {o}."}, []string{"{a}年起，{s}与{o}结为友好城市。", "{s}自{a}年起与{o}是友好城市。"}),
		createdBy:   one([]string{"{s} was created by {o}.", "{s} is a work created by {o}."}, []string{"{s}的作者是{o}。", "{o}是{s}的作者。"}),
		publishedBy: one([]string{"{s} was published by {o}.", "{s} was first published by {o}."}, []string{"{s}的出版方是{o}。", "{s}最初的出版方为{o}。"}),
		releasedIn:  one([]string{"{s} was released in {o}.", "It was in {o} that {s} was released."}, []string{"{s}发行于{o}。", "{s}首次发行于{o}。"}),
		setIn:       one([]string{"{s} is set in {o}.", "Part of {s} is set in {o}."}, []string{"{s}的故事发生于{o}。", "{s}有一部分故事发生于{o}。"}),
		heldIn:      one([]string{"{s} was held in {o}.", "{o} was the city that {s} was held in."}, []string{"{s}的举办地是{o}。", "{o}是{s}的举办地。"}),
		heldOn:      one([]string{"{s} was held on {o}.", "{s} was held on {o} as planned."}, []string{"{s}的举办日期是{o}。", "{s}的举办日期定为{o}。"}),
		attendedBy:  one([]string{"In {a}, {s} was attended by {o}.", "{s} of {a} was attended by {o}."}, []string{"{a}年，{s}的出席者有{o}。", "{o}是{a}年{s}的出席者。"}),
	}
}

// idle are sentences that carry no statement.
func idle() Ways {
	return Ways{
		EN: []string{"A letter that names {s} next to {o} has not been found again.", "Visitors who ask about {s} are sometimes told about {o} as well.",
			"Not much else was written about {s} at that time.", "The local papers have brought several notes on {s}."},
		ZH: []string{"一封同时提到{s}与{o}的信件至今没有找到。", "打听{s}的访客有时也会听到{o}的传闻。", "当时关于{s}的文字并不多。", "地方报纸曾多次提及{s}。"},
	}
}
