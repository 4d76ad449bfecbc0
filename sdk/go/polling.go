package drover

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// polling gets tasks, by two polls in turn: a long poll of its own, and the poll that a call of reports
// carries. An idle agent has the long poll alone.
//
//	parked -> answered | lost -> parked again, after a wait if the poll failed
//
// A slot is promised to one poll at a time, so the server never grants more tasks than there are slots.
// The slots that reports make free are for the poll that is sent with them, so that a busy agent needs
// one call for each step; the others, and one of several in any case, are for the long poll. So while
// the answer to one poll is on its way, the other one waits.
type polling struct {
	log    *slog.Logger
	polls  *polls
	wait   time.Duration
	queues []*droverpb.QueueWeight
	tasks  []string
	// free slots: those without a task.
	free func() int
	// decide calls with the number of reports that the next calls send, each call with a poll; the
	// number does not change until that returns.
	decide func(with func(reports int))
	send   func(ctx context.Context, seq uint64, most int, wait time.Duration) (
		*droverpb.PollTaskResponse, error)
	// accept gives tasks their slots, and start starts them.
	accept func(tasks []*droverpb.Task, sent time.Time, waited time.Duration) (start func())

	wakeups chan struct{} // holds one
	backoff backoff

	mu       sync.Mutex
	promised int
	// parked: the long poll is under way, or waits after one that failed.
	parked  bool
	stopped bool
}

const (
	// tasksMax of one answer: as many as a call of reports can bring; 1,000 is the limit of the contract.
	tasksMax = 250
	// hasty: a server that is about to stop answers a poll at once and without tasks.
	hasty = 500 * time.Millisecond
)

// wake: there may be something to poll for.
func (p *polling) wake() { signalTo(p.wakeups) }

func signalTo(wakeups chan struct{}) {
	select {
	case wakeups <- struct{}{}:
	default:
	}
}

// run polls until the context ends; it returns when the parked poll has ended.
func (p *polling) run(ctx context.Context) {
	for ctx.Err() == nil {
		most := p.promise()
		if most == 0 {
			select {
			case <-ctx.Done():
			case <-p.wakeups:
			}
			continue
		}
		if wait := p.park(ctx, most); wait > 0 {
			sleep(ctx, wait)
		}
	}
}

// promise is for the long poll. Question and promise are one step: a report that is queued between the
// two would free its slot for this poll, and leave none for the poll that its call carries.
func (p *polling) promise() (most int) {
	p.decide(func(reports int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.stopped {
			most = p.promiseUpTo(besideReports(p.free()-p.promised, reports))
			p.parked = most > 0
		}
	})
	return most
}

// promiseCarried is for the poll that a call of this many reports carries.
func (p *polling) promiseCarried(reports int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return 0
	}
	free := p.free() - p.promised
	if !p.parked {
		// The long poll is about to wait again.
		free -= besideReports(free, reports)
	}
	return p.promiseUpTo(free)
}

func (p *polling) promiseUpTo(free int) int {
	most := min(max(free, 0), tasksMax)
	p.promised += most
	return most
}

// besideReports are those of the free slots that the long poll gets while this many reports wait to
// be sent.
func besideReports(free, reports int) int {
	least := 0
	if free > 1 {
		least = 1
	}
	return max(free-reports, least)
}

// receive turns promised slots into those of tasks, in one step: else a task that ends at once would
// find its slot still promised, or a poll would find it free.
func (p *polling) receive(poll poll, promised int, tasks []*droverpb.Task, waited time.Duration) {
	p.mu.Lock()
	start := p.accept(tasks, poll.sent, waited)
	p.promised -= promised
	p.mu.Unlock()
	start()
	poll.over()
}

func (p *polling) failed(poll poll, promised int, isRefused bool) {
	p.mu.Lock()
	p.promised -= promised
	p.mu.Unlock()
	if isRefused {
		poll.over()
	} else {
		poll.isLost()
	}
}

// park returns how long to wait before the next poll.
func (p *polling) park(ctx context.Context, most int) time.Duration {
	// Spread, so that agents which started together do not poll together for ever.
	wait := time.Duration(float64(p.wait) * (0.8 + 0.2*rand.Float64())).Round(time.Millisecond)
	poll := p.polls.start(wait)
	answer, err := p.send(ctx, poll.seq, most, wait)
	if err == nil {
		p.mu.Lock()
		p.parked = false
		p.mu.Unlock()
		p.receive(poll, most, answer.GetTasks(), answer.GetWaited().AsDuration())
		if len(answer.GetTasks()) == 0 && time.Since(poll.sent) < min(hasty, wait) {
			return p.backoff.next(nil)
		}
		p.backoff.reset()
		return 0
	}
	failed := callErrorOf(err)
	p.failed(poll, most, failed.wasNotAdmitted() || failed.Reason == ReasonOverloaded)
	if ctx.Err() != nil {
		return 0
	}
	level := slog.LevelWarn
	if failed.outcome() == definite {
		level = slog.LevelError
	}
	p.log.Log(ctx, level, "poll failed, will poll again", "error", failed)
	return p.backoff.next(failed)
}

// carriedPoll is a poll that a Complete carries.
type carriedPoll struct {
	of   *polling
	poll poll
	next *droverpb.Next
}

// carry makes the poll for a call of this many reports; nil if no slot is free for it.
func (p *polling) carry(reports int) *carriedPoll {
	most := p.promiseCarried(reports)
	p.wake()
	if most == 0 {
		return nil
	}
	poll := p.polls.start(0)
	next := &droverpb.Next{
		PollSeq: poll.seq, Queues: p.queues, Tasks: p.tasks, MaxTasks: int32(most),
	}
	return &carriedPoll{of: p, poll: poll, next: next}
}

func (c *carriedPoll) answered(answer *droverpb.CompleteResponse) {
	promised := int(c.next.GetMaxTasks())
	c.of.receive(c.poll, promised, answer.GetTasks(), answer.GetWaited().AsDuration())
	c.of.wake()
}

func (c *carriedPoll) failed(err *CallError) {
	// OVERLOADED may come from where the reports wait: the poll may have been served by then.
	c.of.failed(c.poll, int(c.next.GetMaxTasks()), err.wasNotAdmitted())
	c.of.wake()
}

// stop: no call carries a poll from now on. The parked one ends with the context of run.
func (p *polling) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}
