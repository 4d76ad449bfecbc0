package drover

import (
	"sync"
	"time"
)

// gatherer sends items in calls that those of one moment share: a lonely one goes out at once, in a
// busy program those of 2 ms go together.
//
//	queued -> under way -> done
//	   ^----------'  (it has to be sent again)
type gatherer[T any] struct {
	// prepare takes a batch and returns the call that sends it. It is called with the gatherer locked,
	// so that whoever asks sees either the item in the queue, or what was prepared for it.
	prepare func(batch []T) (call func() sent[T])
	// adding, if it is given, is called with each item, with the gatherer locked too: before it, nobody
	// sees what it changes, and after it, the item is in the queue.
	adding func(T)
	// itemsMax of one call.
	itemsMax int
	// size is about how many bytes an item takes in a message.
	size func(T) int

	mu        sync.Mutex
	queue     []T
	inFlight  int
	lastSent  time.Time
	notBefore time.Time
	alone     bool
	stopped   bool
	timer     *time.Timer
	waiters   []chan struct{}
	backoff   backoff
}

// sent is what came of a call.
type sent[T any] struct {
	// again are the items to send again, first.
	again []T
	// rest before that.
	rest bool
	// failed may say for how long.
	failed *CallError
	// alone: one of them may have spoiled the call, and each finds out by itself.
	alone bool
}

const (
	gatherFor      = 2 * time.Millisecond
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
	if len(g.queue) >= g.itemsMax && g.timer != nil && !g.notBefore.After(time.Now()) {
		g.timer.Stop()
		g.timer = nil
	}
	g.pump()
}

func (g *gatherer[T]) pump() {
	for !g.stopped && len(g.queue) > 0 && g.inFlight < inFlightMax && g.timer == nil {
		now := time.Now()
		due := g.notBefore
		if next := g.lastSent.Add(gatherFor); len(g.queue) < g.itemsMax && next.After(due) {
			due = next
		}
		if wait := due.Sub(now); wait > 0 {
			g.timer = time.AfterFunc(wait, g.onTimer)
			return
		}
		g.lastSent = now
		g.inFlight++
		call := g.prepare(g.take())
		go func() { g.settle(call()) }()
	}
	if len(g.queue) == 0 && g.inFlight == 0 {
		for _, waiter := range g.waiters {
			close(waiter)
		}
		g.waiters = nil
	}
}

func (g *gatherer[T]) onTimer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = nil
	g.pump()
}

func (g *gatherer[T]) take() []T {
	most := min(len(g.queue), g.itemsMax)
	if g.alone {
		most = 1
	}
	bytes, count := 0, 0
	for _, item := range g.queue[:most] {
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
	case of.rest && !g.notBefore.After(now):
		// Calls that fail together are one failure.
		g.notBefore = now.Add(g.backoff.next(of.failed))
	case !of.rest && !of.alone:
		g.alone = false
		g.backoff.reset()
	}
	g.pump()
}

// decide calls with whether a call is about to go out. Nothing is queued, and no call is prepared,
// until it returns: what it reads belongs to that answer.
func (g *gatherer[T]) decide(with func(gathering bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	with(len(g.queue) > 0 && !g.notBefore.After(time.Now()))
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
