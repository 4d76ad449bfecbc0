package drover

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.drover.dev/drover/droverpb"
)

// beats are the heartbeats: one call for all tasks in the agent's hands, sent by itself as often as
// the task asks that wants it most often.
//
// A beat keeps leases and brings cancels. It carries progress and details only when a handler has
// given new ones, so an automatic beat never moves progress. A beat is due whether or not the one
// before was answered, so a server that hangs costs one beat and not the leases.
type beats struct {
	log  *slog.Logger
	send func(ctx context.Context, reports []*droverpb.HeartbeatReport, listsAllTo uint64) (
		*droverpb.HeartbeatResponse, error)
	// endedTo: tasks of polls up to this number are added by now.
	endedTo func() uint64

	wakeups chan struct{} // holds one

	mu       sync.Mutex
	tasks    map[*held]*beaten
	added    int
	inFlight int
	lastSent time.Time
	retryAt  time.Time // zero: nothing failed
	lookAt   time.Time // when all tasks are looked at next; zero: when there is one
	backoff  backoff
}

// beaten is when a task was last named in a beat, or granted.
type beaten struct {
	number int
	last   time.Time
	// noting: its notes are in a beat under way, at whose end it is closed; newer ones must not
	// overtake them.
	noting chan struct{}
}

const (
	// noteSpacing: what a handler says goes out at most so much later, and at most so often.
	noteSpacing = time.Second
	reportsMax  = 1_000
	// detailsBytesMax: the message limit is 4 MiB; what does not fit rides with the next beat.
	detailsBytesMax  = 2 * 1024 * 1024
	beatsInFlightMax = 4
)

func newBeats(log *slog.Logger) *beats {
	return &beats{
		log:     log,
		wakeups: make(chan struct{}, 1),
		tasks:   map[*held]*beaten{},
		backoff: backoff{first: 200 * time.Millisecond, most: 2 * time.Second},
	}
}

func (b *beats) add(task *held) {
	now := time.Now()
	b.mu.Lock()
	b.added++
	b.tasks[task] = &beaten{number: b.added, last: now}
	// All tasks are looked at when one may be due, and not for each that comes or goes, of which
	// there may be thousands.
	isSooner := b.lookAt.IsZero() || now.Add(task.heartbeatInterval).Before(b.lookAt)
	b.mu.Unlock()
	if isSooner {
		b.wake()
	}
}

func (b *beats) remove(task *held) {
	b.mu.Lock()
	delete(b.tasks, task)
	b.mu.Unlock()
}

// wake: something may be due sooner.
func (b *beats) wake() { signalTo(b.wakeups) }

// run beats until the context ends.
func (b *beats) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if at, some := b.due(); some {
			// What was due before may have gone meanwhile.
			if !at.After(time.Now()) {
				b.beat(ctx)
				continue
			}
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-b.wakeups:
		case <-due:
		}
	}
}

func (b *beats) due() (at time.Time, some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.lookAt = at }()
	if b.inFlight >= beatsInFlightMax {
		return at, false
	}
	sooner := func(due time.Time) {
		if !some || due.Before(at) {
			at, some = due, true
		}
	}
	if !b.retryAt.IsZero() {
		sooner(b.retryAt)
	}
	for task, state := range b.tasks {
		if !task.listed() {
			continue
		}
		sooner(state.last.Add(task.heartbeatInterval))
		if state.noting == nil && !task.notes().empty() {
			sooner(b.lastSent.Add(noteSpacing))
		}
	}
	return at, some
}

func (b *beats) beat(ctx context.Context) {
	sent := time.Now()
	// Asked for before the tasks are listed: those of polls up to it are among them.
	listsAllTo := b.endedTo()
	b.mu.Lock()
	b.retryAt = time.Time{}
	b.lastSent = sent
	var listed []*held
	for task := range b.tasks {
		if task.listed() {
			listed = append(listed, task)
		}
	}
	slices.SortFunc(listed, func(x, y *held) int {
		return cmp.Compare(b.tasks[x].number, b.tasks[y].number)
	})
	b.mu.Unlock()
	if len(listed) > reportsMax {
		listsAllTo = 0
	}
	for chunk := range slices.Chunk(listed, reportsMax) {
		carried := b.begin(chunk, sent)
		go b.sendBeat(ctx, carried, sent, listsAllTo)
	}
}

// carried is a task with those of its notes that are in a beat.
type carried struct {
	task  *held
	state *beaten
	notes notes
}

func (b *beats) begin(tasks []*held, sent time.Time) []carried {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight++
	bytesLeft := detailsBytesMax
	batch := make([]carried, 0, len(tasks))
	for _, task := range tasks {
		state := b.tasks[task]
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
		// A single large one has to go out at some time.
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

// sendBeat: listsAllTo 0 states nothing, else these are all that polls up to it have brought.
func (b *beats) sendBeat(ctx context.Context, batch []carried, sent time.Time, listsAllTo uint64) {
	reports := make([]*droverpb.HeartbeatReport, len(batch))
	for at, item := range batch {
		reports[at] = &droverpb.HeartbeatReport{
			TaskToken: item.task.task.GetTaskToken(),
			Progress:  item.notes.progress,
			Details:   item.notes.details,
		}
	}
	answer, err := b.send(ctx, reports, listsAllTo)
	var retry *CallError
	if err != nil {
		retry = callErrorOf(err)
		b.log.Warn("heartbeat failed", "error", retry)
	} else {
		for at, one := range answer.GetAnswers() {
			if at < len(batch) {
				if refusal := b.hear(batch[at], one, sent); refusal != nil {
					retry = refusal
				}
			}
		}
	}
	b.mu.Lock()
	b.inFlight--
	if err == nil {
		b.backoff.reset()
	}
	if retry != nil {
		b.retryAt = time.Now().Add(b.backoff.next(retry))
	}
	for _, item := range batch {
		if !item.notes.empty() {
			close(item.state.noting)
			item.state.noting = nil
		}
	}
	b.mu.Unlock()
	b.wake()
}

// hear returns the refusal of a report that is to be repeated without what was refused.
func (b *beats) hear(item carried, answer *droverpb.HeartbeatAnswer, sent time.Time) *CallError {
	fields := taskFields(item.task.task)
	switch said := answer.GetAnswer().(type) {
	case *droverpb.HeartbeatAnswer_CarryOn_:
		item.task.carryOn(sent, said.CarryOn.GetLeaseFor().AsDuration())
		item.task.noted(item.notes)
	case *droverpb.HeartbeatAnswer_Cancel_:
		b.log.Info("told to cancel", fields...)
		item.task.toCancel(sent, said.Cancel.GetWithin().AsDuration())
		item.task.noted(item.notes)
	case *droverpb.HeartbeatAnswer_LeaseLost_:
		b.log.Warn("lease lost", fields...)
		item.task.lose()
	case *droverpb.HeartbeatAnswer_Error:
		refusal := callErrorOfProto(said.Error)
		b.log.Error("heartbeat refused", append(fields, "error", refusal)...)
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

// tellDetails: the details that a handler left last go out, if they have not.
func (b *beats) tellDetails(ctx context.Context, task *held) {
	for {
		b.mu.Lock()
		var noting chan struct{}
		if state := b.tasks[task]; state != nil {
			noting = state.noting
		}
		b.mu.Unlock()
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
	b.sendBeat(ctx, b.begin([]*held{task}, sent), sent, 0)
}
