package tiers

import "context"

// Vote is what one judge says in one ballot.
type Vote string

// The votes. An Invalid one, of a judge that failed or said neither, counts on no side.
const (
	Yes     Vote = "yes"
	No      Vote = "no"
	Invalid Vote = "invalid"
)

// Ballot is what a judge is asked: whether Answer answers the item's question (ModeOracle, ModeClosed, ModeSingle,
// ModeFull), or whether its conditions and its reasoning are plausible (ModePlausible, no Answer).
type Ballot struct {
	Item    *Item
	Attempt Attempt
	Answer  string
	N       int // number of the vote, from 0: its seed, and which judge of a panel
}

// Judge gives one vote. A judge that cannot says Invalid.
type Judge interface {
	Vote(ctx context.Context, b Ballot) (Vote, Usage)
}

const (
	votes      = 3 // MindDR report: three judges, majority
	moreVotes  = 2 // asked once more after a tie or fewer than two valid votes
	validVotes = 2
)

func count(vs []Vote) (yes, no int) {
	for _, v := range vs {
		switch v {
		case Yes:
			yes++
		case No:
			no++
		}
	}
	return yes, no
}

// Majority decides a ballot: ok is false for a tie or fewer than two valid votes, which is neither yes nor no.
func Majority(vs []Vote) (yes, ok bool) {
	y, n := count(vs)
	return y > n, y != n && y+n >= validVotes
}

// Judged is a Solver whose answers are scored by judges: three votes, two more where they do not decide, and then an
// error of kind ErrJudge. It scores what Solver leaves without a Result, and ModePlausible itself.
type Judged struct {
	Solver Solver
	Judge  Judge
}

// Attempt lets the solver answer and the judges vote.
func (j Judged) Attempt(ctx context.Context, it *Item, a Attempt) Outcome {
	o := Outcome{}
	if a.Mode != ModePlausible {
		o = j.Solver.Attempt(ctx, it, a)
		if o.Result != "" {
			return o
		}
	}
	vote := func(upTo int) (yes, ok bool) {
		for n := len(o.Votes); n < upTo; n++ {
			v, u := j.Judge.Vote(ctx, Ballot{it, a, o.Answer, n})
			if v != Yes && v != No {
				v = Invalid
			}
			o.Votes = append(o.Votes, v)
			o.Judges.add(u)
		}
		return Majority(o.Votes)
	}
	yes, ok := vote(votes)
	if !ok {
		yes, ok = vote(votes + moreVotes)
	}
	switch {
	case !ok:
		o.Result, o.Kind, o.Detail = Error, ErrJudge, "no majority of two valid votes"
	case yes:
		o.Result = Right
	default:
		o.Result = Wrong
	}
	return o
}
