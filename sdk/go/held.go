package drover

import (
	"context"
	"sync"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// notes are progress and details of a handler that the server has not yet stored.
type notes struct {
	progress *droverpb.Progress
	details  *droverpb.Payload
}

func (n notes) empty() bool { return n.progress == nil && n.details == nil }

// held is one task that the agent holds, from the answer that brought it to the answer to its
// report.
//
//	running -> ended (its report is on the way) -> closed
//
// It is listed in heartbeats until it is closed, or until the server reports that the lease is lost.
//
// A lease counts from when the call that granted or renewed it was sent: the server cannot have started
// to count before, so the agent never counts on a lease that the server has already ended. The attempt
// counts from the same time, and nothing extends it. The times are of the monotonic clock, which does
// not advance while some machines sleep; a lease that ended meanwhile is then noticed late, and the
// idempotency key and the fence are there for that.
type held struct {
	task              *droverpb.Task
	ctx               context.Context
	heartbeatInterval time.Duration
	// onNote: a note waits for the next heartbeat.
	onNote func()
	// onStuck: its handler has not ended within the stop grace.
	onStuck   func()
	stopGrace time.Duration
	// lines of its handler for the server; nil: they stay in the process.
	lines *taskLog

	mu         sync.Mutex
	cancel     context.CancelCauseFunc
	leaseEnd   time.Time
	attemptEnd time.Time
	shortened  bool
	lost       bool
	ended      bool
	closed     bool
	waiting    notes
	leaseTimer *time.Timer
	stopTimer  *time.Timer
}

// hold starts the lease at `granted`.
func hold(ctx context.Context, task *droverpb.Task, granted time.Time, stopGrace time.Duration) *held {
	within, cancel := context.WithCancelCause(ctx)
	h := &held{
		task:              task,
		ctx:               within,
		cancel:            cancel,
		heartbeatInterval: max(task.GetHeartbeatInterval().AsDuration(), time.Millisecond),
		stopGrace:         stopGrace,
		leaseEnd:          granted.Add(task.GetLeaseFor().AsDuration()),
		attemptEnd:        granted.Add(task.GetAttemptFor().AsDuration()),
		onNote:            func() {},
		onStuck:           func() {},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaseTimer = time.AfterFunc(time.Until(h.endsAt()), h.onEnd)
	return h
}

func (h *held) endsAt() time.Time {
	if h.leaseEnd.Before(h.attemptEnd) {
		return h.leaseEnd
	}
	return h.attemptEnd
}

// onEnd: a renewal only moves the end, and the timer finds that out when it fires.
func (h *held) onEnd() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := time.Until(h.endsAt()); left > 0 {
		h.leaseTimer.Reset(left)
		return
	}
	if h.attemptEnd.Before(h.leaseEnd) {
		h.stopLocked(StopAttemptOver)
	} else {
		h.stopLocked(StopLeaseEnded)
	}
}

// left of lease and attempt, whichever is less; nothing once the server has reported that it is lost.
func (h *held) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost {
		return 0
	}
	return max(0, time.Until(h.endsAt()))
}

// listed: whether heartbeats name it.
func (h *held) listed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.lost && !h.closed
}

func (h *held) note(added notes) {
	h.mu.Lock()
	if added.progress != nil {
		h.waiting.progress = added.progress
	}
	if added.details != nil {
		h.waiting.details = added.details
	}
	h.mu.Unlock()
	h.onNote()
}

func (h *held) notes() notes {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// noted: these were answered, stored or refused for good. What was noted since stays.
func (h *held) noted(answered notes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting.progress == answered.progress {
		h.waiting.progress = nil
	}
	if h.waiting.details == answered.details {
		h.waiting.details = nil
	}
}

// carryOn: a heartbeat that was sent then renewed the lease.
func (h *held) carryOn(sent time.Time, leaseFor time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end := sent.Add(leaseFor); !h.shortened && end.After(h.leaseEnd) {
		h.leaseEnd = end
	}
}

// toCancel: from now on nothing makes the lease longer.
func (h *held) toCancel(sent time.Time, within time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shortened = true
	if end := sent.Add(within); end.Before(h.leaseEnd) {
		h.leaseEnd = end
	}
	h.stopLocked(StopCancelled)
}

func (h *held) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
	h.stopLocked(StopLeaseLost)
}

func (h *held) stop(kind StopKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopLocked(kind)
}

// stopLocked: the first reason stays.
func (h *held) stopLocked(kind StopKind) {
	if h.ended || h.ctx.Err() != nil {
		return
	}
	h.cancel(&Stopped{Kind: kind})
	h.stopTimer = time.AfterFunc(h.stopGrace, h.onStuck)
}

// end: the handler has ended, or is reported lost; the lease no longer matters to it. False: it had
// ended before.
func (h *held) end() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.ended = true
	h.leaseTimer.Stop()
	if h.stopTimer != nil {
		h.stopTimer.Stop()
	}
	return true
}

func (h *held) hasEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// close: its report was answered.
func (h *held) close() {
	h.end()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.cancel(context.Canceled)
}
