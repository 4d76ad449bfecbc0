package drover

import (
	"runtime"
	"sync"
	"time"
)

// gatherer sends items in calls that they share.
//
//	queued -> under way -> done
//	   ^----------'  (it has to be sent again)
//
// While no call is under way, an item is sent at once, with those that goroutines which run already add.
// What is added while one is under way is sent together as soon as it is answered: so calls grow with
// the time that they take, and no timer delays an item. A full call waits for no other, and neither does
// the next one when a call is slow; four are under way at most.
type gatherer[T any] struct {
	// prepare takes a batch and returns the call that sends it. It is called with the gatherer locked,
	// so that decide sees either the item in the queue, or what was prepared for it.
	prepare func(batch []T) (call func() sent[T])
	// adding, if it is given, is called with each item, with the gatherer locked too: decide sees
	// both the item in the queue and what adding changed, or neither.
	adding func(T)
	// itemsMax of one call.
	itemsMax int
	// size is about how many bytes an item takes in a message.
	size func(T) int

	mu        sync.Mutex
	queue     []T
	inFlight  int
	taking    int // of those, calls that have not taken their items yet
	lastSent  time.Time
	notBefore time.Time
	alone     bool
	stopped   bool
	timer     *time.Timer // set for pumpAt
	pumpAt    time.Time
	waiters   []chan struct{}
	backoff   backoff
}

// sent is the result of a call.
type sent[T any] struct {
	// again are the items to send again, first.
	again []T
	// wait before that.
	wait bool
	// failed may have the time to wait.
	failed *CallError
	// alone: the call may have been refused for one of them; each is sent alone, to find out which.
	alone bool
}

const (
	// slowAfter: the next call waits no longer than this for one under way.
	slowAfter      = 250 * time.Millisecond
	inFlightMax    = 4
	gatherBytesMax = 3 * 1024 * 1024 // of the 4 MiB of a message
)

func (g *gatherer[T]) add(item T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.adding != nil {
		g.adding(item)
	}
	g.queue = append(g.queue, item)
	g.pump()
}

func (g *gatherer[T]) pump() {
	for !g.stopped && g.inFlight < inFlightMax {
		left := len(g.queue) - g.taking*g.most()
		if left <= 0 {
			break
		}
		now := time.Now()
		due := g.notBefore
		slow := g.lastSent.Add(slowAfter)
		if g.inFlight > 0 && left < g.most() && slow.After(due) {
			due = slow
		}
		if due.After(now) {
			g.pumpLater(due, now)
			return
		}
		g.lastSent = now
		g.inFlight++
		g.taking++
		go g.send()
	}
	if len(g.queue) == 0 && g.inFlight == 0 {
		for _, waiter := range g.waiters {
			close(waiter)
		}
		g.waiters = nil
	}
}

func (g *gatherer[T]) send() {
	runtime.Gosched()
	g.mu.Lock()
	g.taking--
	batch := g.take()
	if len(batch) == 0 || g.stopped {
		g.inFlight--
		g.pump()
		g.mu.Unlock()
		return
	}
	call := g.prepare(batch)
	// By bytes it may have taken fewer than it could.
	g.pump()
	g.mu.Unlock()
	g.settle(call())
}

func (g *gatherer[T]) pumpLater(at, now time.Time) {
	if g.timer != nil {
		if g.pumpAt.Equal(at) {
			return
		}
		g.timer.Stop()
	}
	g.pumpAt = at
	g.timer = time.AfterFunc(at.Sub(now), g.onTimer)
}

func (g *gatherer[T]) onTimer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = nil
	g.pump()
}

// most items of the next call.
func (g *gatherer[T]) most() int {
	if g.alone {
		return 1
	}
	return g.itemsMax
}

func (g *gatherer[T]) take() []T {
	bytes, count := 0, 0
	for _, item := range g.queue[:min(len(g.queue), g.most())] {
		bytes += g.size(item)
		if count > 0 && bytes > gatherBytesMax {
			break
		}
		count++
	}
	batch := g.queue[:count:count]
	g.queue = g.queue[count:]
	return batch
}

func (g *gatherer[T]) settle(of sent[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	if len(of.again) > 0 {
		g.queue = append(append([]T{}, of.again...), g.queue...)
	}
	now := time.Now()
	if of.alone {
		g.alone = true
	}
	switch {
	case of.wait && !g.notBefore.After(now):
		// Calls that fail together are one failure.
		g.notBefore = now.Add(g.backoff.next(of.failed))
	case !of.wait && !of.alone:
		g.alone = false
		g.backoff.reset()
	}
	g.pump()
}

// decide calls with the number of items that the next calls send: 0 during the wait after a failed
// call. Nothing is queued, and no call is prepared, until it returns: what it reads belongs to that
// number.
func (g *gatherer[T]) decide(with func(pending int)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.notBefore.After(time.Now()) {
		with(0)
	} else {
		with(len(g.queue))
	}
}

// flushed is closed as soon as nothing is left to send.
func (g *gatherer[T]) flushed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	done := make(chan struct{})
	g.waiters = append(g.waiters, done)
	g.pump()
	return done
}

// stop drops what is left.
func (g *gatherer[T]) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	if g.timer != nil {
		g.timer.Stop()
	}
}
