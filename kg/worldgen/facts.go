package worldgen

// The calendar of a world. Cities, countries, universities and publishers are older than anybody, so that everything
// that needs one finds it.
const (
	now         = 2020
	firstBirth  = 1720
	lastBirth   = 1989
	maxEras     = 27   // periods of birth
	oldest      = 90   // years anybody is active to
	firstEvents = 1800 // of events, works, terms of office
	twinRounds  = 4
)

// fact is a statement about an entity; its object is another one or a value.
type fact struct {
	rel        int
	object     int   // entity, or -1
	value      value // when object is -1
	start, end int   // years, 0 for none
	at         int
}

// value is a date or a count.
type value struct {
	year, month, day int // month and day 0: a year
	number           int // when year is 0
}

// facts are what the article of entity i says, in its order.
type facts struct {
	w    *World
	r    random
	list []fact
}

// of lists the statements about entity i; the list is good until the next call.
func (f *facts) of(i int) []fact {
	f.r = f.w.stream(i, aboutFacts)
	f.list = f.list[:0]
	k, n := f.w.kindOf(i)
	switch k {
	case country, city:
		f.place(k, n)
	case organisation:
		f.organisation(n)
	case person:
		f.person(n)
	case work:
		f.work()
	case event:
		f.event()
	}
	return f.list
}

// length draws how many statements an article has.
func (f *facts) length(low, high int) int { return low + f.r.intn(high-low+1) + f.w.o.Extra }

func (f *facts) add(x fact) { f.list = append(f.list, x) }

func (f *facts) says(rel, object int) bool {
	for i := range f.list {
		if f.list[i].rel == rel && f.list[i].object == object {
			return true
		}
	}
	return false
}

// tries is how often another object is drawn when one is there already.
const tries = 24

// pick adds a statement about an entity of a kind, well-known ones more often; false when none was found that is new.
func (f *facts) pick(rel int, k kind) bool {
	for range tries {
		if o := f.w.first[k] + f.r.skewed(f.w.count(k)); !f.says(rel, o) {
			f.add(fact{rel: rel, object: o})
			return true
		}
	}
	return false
}

// pickPerson adds a statement about somebody who was born from year lo to hi.
func (f *facts) pickPerson(x fact, lo, hi int) bool {
	from := max(0, (lo-firstBirth+f.w.eraYears-1)/f.w.eraYears)
	to := min(f.w.eras, (hi+1-firstBirth)/f.w.eraYears) // not included
	if lo <= firstBirth {
		from = 0
	}
	if to <= from {
		return false
	}
	for range tries {
		era := from + f.r.intn(to-from)
		n := (f.w.count(person) - era + f.w.eras - 1) / f.w.eras
		x.object = f.w.first[person] + f.r.skewed(n)*f.w.eras + era
		if !f.says(x.rel, x.object) {
			f.add(x)
			return true
		}
	}
	return false
}

// born is the birthday of person n.
func (w *World) born(n int) value {
	r := w.stream(n, aboutBirth)
	return value{year: firstBirth + n%w.eras*w.eraYears + r.intn(w.eraYears), month: 1 + r.intn(12), day: 1 + r.intn(28)}
}

// founded is the year in which a place or organisation was founded.
func (w *World) founded(k kind, n int) int {
	r := w.stream(w.first[k]+n, aboutFounding)
	switch {
	case k == country:
		return 500 + r.intn(400)
	case k == city:
		return 900 + r.intn(700)
	case n%len(classes[organisation]) <= press:
		return 1600 + r.intn(100)
	}
	return 1800 + r.intn(190)
}

// Places of the classes of organisation.
const (
	university = 0
	press      = 1
)

// pickOrganisation adds a statement about an organisation of a class.
func (f *facts) pickOrganisation(x fact, class int) bool {
	size := len(classes[organisation])
	n := (f.w.count(organisation) - class + size - 1) / size
	for range tries {
		x.object = f.w.first[organisation] + f.r.skewed(n)*size + class
		if !f.says(x.rel, x.object) {
			f.add(x)
			return true
		}
	}
	return false
}

func (f *facts) place(k kind, n int) {
	length := f.length(4, 8)
	if k == city {
		f.pick(locatedIn, country)
	}
	f.add(fact{rel: foundedIn, object: -1, value: value{year: f.w.founded(k, n)}})
	people := (10 + f.r.intn(90)) * 1000
	if k == country {
		people *= 100
	} else if f.r.intn(4) == 0 {
		people *= 10
	}
	f.add(fact{rel: population, object: -1, value: value{number: people}})
	if k == city {
		for j := range twinRounds {
			if o, year, ok := f.w.twin(n, j); ok && !f.says(twinnedWith, f.w.first[city]+o) {
				f.add(fact{rel: twinnedWith, object: f.w.first[city] + o, start: year})
			}
		}
	}
	f.terms(length-len(f.list), firstEvents)
}

// twin is the city that city n is paired with in round j. Each round is a reflection of the numbers, its own inverse.
func (w *World) twin(n, j int) (other, year int, ok bool) {
	other = w.mirrored(n, w.count(city), 1+j)
	r := w.stream(min(n, other), aboutTwins+purpose(j)<<20)
	return other, 1950 + r.intn(60), r.intn(3) == 0 && other != n
}

func (w *World) mirrored(n, size, round int) int {
	return (int(w.reflect[round]%uint64(size)) - n + size) % size
}

// spouse is who person n is married to. Couples are of one period of birth.
func (w *World) spouse(n int) (other, year int, ok bool) {
	size := w.count(person) / w.eras
	rank, era := n/w.eras, n%w.eras
	if rank >= size {
		return 0, 0, false
	}
	other = w.mirrored(rank, size, 0)*w.eras + era
	r := w.stream(min(n, other), aboutMarriage)
	return other, max(w.born(n).year, w.born(other).year) + 20 + r.intn(12), r.intn(2) == 0 && other != n
}

// terms adds so many leaders, one after the other. The last one may still be in office.
func (f *facts) terms(count, since int) {
	if count <= 0 {
		return
	}
	since = min(since+f.r.intn(60), now-10)
	count = min(count, now-since)
	slot := (now - since) / count
	for j := range count {
		x := fact{rel: ledBy, start: since + j*slot + f.r.intn(slot/3+1)}
		x.end = min(x.start+1+f.r.intn(20), since+(j+1)*slot)
		lo, hi := x.start-oldest+21, x.start-30 // in office for 20 years at most
		if j == count-1 && x.end >= now-4 {
			x.end = 0
		}
		f.pickPerson(x, lo, hi)
	}
}

func (f *facts) organisation(n int) {
	length := f.length(4, 8)
	year := f.w.founded(organisation, n)
	f.pick(basedIn, city)
	f.add(fact{rel: foundedIn, object: -1, value: value{year: year}})
	if year >= firstEvents {
		for range 1 + f.r.intn(2) {
			f.pickPerson(fact{rel: foundedBy}, year-70, year-20)
		}
	}
	f.terms(length-len(f.list), max(firstEvents, year+1))
}

func (f *facts) person(n int) {
	length := f.length(4, 8)
	day := f.w.born(n)
	f.pick(bornIn, city)
	f.add(fact{rel: bornOn, object: -1, value: day})
	start := day.year + 17 + f.r.intn(3)
	f.pickOrganisation(fact{rel: studiedAt, start: start, end: start + 3 + f.r.intn(3)}, university)
	if o, year, ok := f.w.spouse(n); ok {
		f.add(fact{rel: marriedTo, object: f.w.first[person] + o, start: year})
	}
	if f.r.intn(3) == 0 {
		f.pickPerson(fact{rel: studentOf}, day.year-50, day.year-15)
	}
	for len(f.list) < length && f.employer(day.year) {
	}
}

// employer adds an organisation that somebody worked for; false when none was found.
func (f *facts) employer(born int) bool {
	x := fact{rel: workedFor, start: min(born+23+f.r.intn(40), now-10)}
	x.end = min(x.start+1+f.r.intn(15), now-1)
	size := f.w.count(organisation)
	for range tries {
		o := f.r.skewed(size)
		if x.object = f.w.first[organisation] + o; !f.says(workedFor, x.object) && f.w.founded(organisation, o) < x.start {
			f.add(x)
			return true
		}
	}
	return f.pickOrganisation(x, university)
}

func (f *facts) work() {
	length := f.length(4, 7)
	year := firstEvents + f.r.intn(now-firstEvents)
	f.pickPerson(fact{rel: createdBy}, year-65, year-22)
	f.add(fact{rel: releasedIn, object: -1, value: value{year: year}})
	f.pickOrganisation(fact{rel: publishedBy}, press)
	if f.r.intn(3) == 0 {
		f.pickPerson(fact{rel: createdBy}, year-65, year-22)
	}
	for len(f.list) < length && f.pick(setIn, city) {
	}
}

func (f *facts) event() {
	length := f.length(4, 8)
	year := firstEvents + f.r.intn(now-firstEvents)
	f.pick(heldIn, city)
	f.add(fact{rel: heldOn, object: -1, value: value{year: year, month: 1 + f.r.intn(12), day: 1 + f.r.intn(28)}})
	for len(f.list) < length && f.pickPerson(fact{rel: attendedBy, at: year}, year-80, year-18) {
	}
}
