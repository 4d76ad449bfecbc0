package drover

import (
	"sync"
	"time"
)

// polls are the polls of one session: their numbers, and those that ended without an answer.
//
// The server may have granted tasks to a poll whose answer never arrived. So each lost poll is named
// in every poll and heartbeat until 30 s after the end of its wait, and what was granted to it is
// given back at once. A poll whose answer was read is never named.
//
// A heartbeat that lists all tasks states up to which poll: a poll under way may bring more.
type polls struct {
	mu       sync.Mutex
	last     uint64
	underWay []uint64 // in the order in which they started
	lost     []lostPoll
}

type lostPoll struct {
	seq   uint64
	until time.Time
}

const (
	namedFor = 30 * time.Second
	// lostPollsMax is the limit of the contract; beyond it the oldest, which are nearest to their
	// end, are left out.
	lostPollsMax = 1_000
)

type poll struct {
	of   *polls
	seq  uint64
	sent time.Time
	wait time.Duration
}

func (p *polls) start(wait time.Duration) poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	p.underWay = append(p.underWay, p.last)
	return poll{of: p, seq: p.last, sent: time.Now(), wait: wait}
}

// over: its answer was read and its tasks are listed, or it was refused; it brings no others.
func (p poll) over() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.remove(p.seq)
}

// isLost: its answer will not come.
func (p poll) isLost() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.remove(p.seq)
	p.of.lost = append(p.of.lost, lostPoll{p.seq, p.sent.Add(p.wait + namedFor)})
	if over := len(p.of.lost) - lostPollsMax; over > 0 {
		p.of.lost = p.of.lost[over:]
	}
}

func (p *polls) remove(seq uint64) {
	for at, one := range p.underWay {
		if one == seq {
			p.underWay = append(p.underWay[:at], p.underWay[at+1:]...)
			return
		}
	}
}

// lostNow are the numbers to name.
func (p *polls) lostNow() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var current []lostPoll
	var named []uint64
	for _, one := range p.lost {
		if one.until.After(now) {
			current = append(current, one)
			named = append(named, one.seq)
		}
	}
	p.lost = current
	return named
}

// endedTo: this poll and all before it have ended.
func (p *polls) endedTo() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.underWay) == 0 {
		return p.last
	}
	return p.underWay[0] - 1
}
