package drover

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// heartbeats sends one call for all tasks that the agent holds, at the shortest interval that one of
// them has.
//
// A heartbeat renews leases and receives cancels. It carries progress and details only when a handler
// has reported new ones, so an automatic heartbeat never moves progress. A heartbeat is due whether or
// not the one before was answered: a server that hangs costs one heartbeat and not the leases.
type heartbeats struct {
	log  *slog.Logger
	send func(ctx context.Context, reports []*droverpb.HeartbeatReport, listsAllTo uint64) (
		*droverpb.HeartbeatResponse, error)
	// endedTo: tasks of polls up to this number are added by now.
	endedTo func() uint64

	wakeups chan struct{} // holds one

	mu       sync.Mutex
	tasks    map[*held]*heartbeatState
	added    int
	inFlight int
	lastSent time.Time
	retryAt  time.Time // zero: nothing failed
	checkAt  time.Time // when all tasks are checked next; zero: when there is one
	backoff  backoff
}

// heartbeatState is when a task was granted, or was last named in a heartbeat.
type heartbeatState struct {
	number int
	last   time.Time
	// noting: its notes are in a heartbeat under way, at whose end it is closed; newer ones must not
	// overtake them.
	noting chan struct{}
}

const (
	// noteSpacing: progress and details are sent at most this much later, and at most this often.
	noteSpacing = time.Second
	reportsMax  = 1_000
	// detailsBytesMax: the message limit is 4 MiB; what does not fit goes with the next heartbeat.
	detailsBytesMax       = 2 * 1024 * 1024
	heartbeatsInFlightMax = 4
)

func newHeartbeats(log *slog.Logger) *heartbeats {
	return &heartbeats{
		log:     log,
		wakeups: make(chan struct{}, 1),
		tasks:   map[*held]*heartbeatState{},
		backoff: backoff{first: 200 * time.Millisecond, most: 2 * time.Second},
	}
}

func (h *heartbeats) add(task *held) {
	now := time.Now()
	h.mu.Lock()
	h.added++
	h.tasks[task] = &heartbeatState{number: h.added, last: now}
	// All tasks are checked when one may be due, and not for each that is added or removed: there
	// may be thousands.
	isSooner := h.checkAt.IsZero() || now.Add(task.heartbeatInterval).Before(h.checkAt)
	h.mu.Unlock()
	if isSooner {
		h.wake()
	}
}

func (h *heartbeats) remove(task *held) {
	h.mu.Lock()
	delete(h.tasks, task)
	h.mu.Unlock()
}

// wake: something may be due sooner.
func (h *heartbeats) wake() { signalTo(h.wakeups) }

// run sends heartbeats until the context ends.
func (h *heartbeats) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if at, some := h.due(); some {
			// What was due before may have gone meanwhile.
			if !at.After(time.Now()) {
				h.sendAll(ctx)
				continue
			}
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-h.wakeups:
		case <-due:
		}
	}
}

func (h *heartbeats) due() (at time.Time, some bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.checkAt = at }()
	if h.inFlight >= heartbeatsInFlightMax {
		return at, false
	}
	sooner := func(due time.Time) {
		if !some || due.Before(at) {
			at, some = due, true
		}
	}
	if !h.retryAt.IsZero() {
		sooner(h.retryAt)
	}
	for task, state := range h.tasks {
		if !task.listed() {
			continue
		}
		sooner(state.last.Add(task.heartbeatInterval))
		if state.noting == nil && !task.notes().empty() {
			sooner(h.lastSent.Add(noteSpacing))
		}
	}
	return at, some
}

func (h *heartbeats) sendAll(ctx context.Context) {
	sent := time.Now()
	// Asked for before the tasks are listed: those of polls up to it are among them.
	listsAllTo := h.endedTo()
	h.mu.Lock()
	h.retryAt = time.Time{}
	h.lastSent = sent
	var listed []*held
	for task := range h.tasks {
		if task.listed() {
			listed = append(listed, task)
		}
	}
	slices.SortFunc(listed, func(x, y *held) int {
		return cmp.Compare(h.tasks[x].number, h.tasks[y].number)
	})
	h.mu.Unlock()
	if len(listed) > reportsMax {
		listsAllTo = 0
	}
	for chunk := range slices.Chunk(listed, reportsMax) {
		carried := h.prepare(chunk, sent)
		go h.sendBatch(ctx, carried, sent, listsAllTo)
	}
}

// carried is a task in a heartbeat, with the notes of its handler that the heartbeat carries.
type carried struct {
	task  *held
	state *heartbeatState
	notes notes
}

func (h *heartbeats) prepare(tasks []*held, sent time.Time) []carried {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inFlight++
	bytesLeft := detailsBytesMax
	batch := make([]carried, 0, len(tasks))
	for _, task := range tasks {
		state := h.tasks[task]
		if state == nil {
			continue // answered meanwhile
		}
		state.last = sent
		item := carried{task: task, state: state}
		size := 0
		if state.noting == nil {
			item.notes = task.notes()
			size = payloadSize(item.notes.details)
		}
		// The first details are always sent, however large: they would never fit otherwise.
		if size > bytesLeft && bytesLeft < detailsBytesMax {
			item.notes = notes{}
			size = 0
		}
		bytesLeft -= size
		if !item.notes.empty() {
			state.noting = make(chan struct{})
		}
		batch = append(batch, item)
	}
	return batch
}

// sendBatch: these tasks are all that polls up to listsAllTo have brought; 0: they are only some.
func (h *heartbeats) sendBatch(ctx context.Context, batch []carried, sent time.Time, listsAllTo uint64) {
	reports := make([]*droverpb.HeartbeatReport, len(batch))
	for at, item := range batch {
		reports[at] = &droverpb.HeartbeatReport{
			TaskToken: item.task.task.GetTaskToken(),
			Progress:  item.notes.progress,
			Details:   item.notes.details,
		}
	}
	answer, err := h.send(ctx, reports, listsAllTo)
	var retry *CallError
	if err != nil {
		retry = callErrorOf(err)
		h.log.Warn("heartbeat failed", "error", retry)
	} else {
		for at, one := range answer.GetAnswers() {
			if at < len(batch) {
				if refusal := h.takeAnswer(batch[at], one, sent); refusal != nil {
					retry = refusal
				}
			}
		}
	}
	h.mu.Lock()
	h.inFlight--
	if err == nil {
		h.backoff.reset()
	}
	if retry != nil {
		h.retryAt = time.Now().Add(h.backoff.next(retry))
	}
	for _, item := range batch {
		if !item.notes.empty() {
			close(item.state.noting)
			item.state.noting = nil
		}
	}
	h.mu.Unlock()
	h.wake()
}

// takeAnswer returns the refusal of a report that is to be repeated without what was refused.
func (h *heartbeats) takeAnswer(item carried, answer *droverpb.HeartbeatAnswer, sent time.Time) *CallError {
	fields := taskFields(item.task.task)
	switch kind := answer.GetAnswer().(type) {
	case *droverpb.HeartbeatAnswer_CarryOn_:
		item.task.carryOn(sent, kind.CarryOn.GetLeaseFor().AsDuration())
		item.task.noted(item.notes)
	case *droverpb.HeartbeatAnswer_Cancel_:
		h.log.Info("the server cancelled the task", fields...)
		item.task.toCancel(sent, kind.Cancel.GetWithin().AsDuration())
		item.task.noted(item.notes)
	case *droverpb.HeartbeatAnswer_LeaseLost_:
		h.log.Warn("lease lost", fields...)
		item.task.lose()
	case *droverpb.HeartbeatAnswer_Error:
		refusal := callErrorOfProto(kind.Error)
		h.log.Error("heartbeat refused", append(fields, "error", refusal)...)
		// The lease was not renewed.
		carriedAny := !item.notes.empty()
		item.task.noted(item.notes)
		if carriedAny {
			return refusal
		}
	}
	// An answer of a newer server: carry on, and the lease is as it was.
	return nil
}

// sendDetails sends the last details of a handler, unless they were sent.
func (h *heartbeats) sendDetails(ctx context.Context, task *held) {
	for {
		h.mu.Lock()
		var noting chan struct{}
		if state := h.tasks[task]; state != nil {
			noting = state.noting
		}
		h.mu.Unlock()
		if noting == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-noting:
		}
	}
	if !task.listed() || task.notes().details == nil {
		return
	}
	sent := time.Now()
	h.sendBatch(ctx, h.prepare([]*held{task}, sent), sent, 0)
}
