package drover

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// ErrHandlerLost is what [Agent.Run] returns after a handler has ignored for too long that its
// context was cancelled. The agent cannot end the goroutine of the handler, so the program should
// end, with a non-zero exit code, so that its process manager can start it again.
var ErrHandlerLost = errors.New("drover: a handler did not end after its context was cancelled")

// Agent is the runtime of an agent: it polls for tasks, runs their handlers in parallel, renews
// their leases with heartbeats, reports their outcomes, and drains when it is stopped.
//
//	made -> running -> draining -> stopped
//
// The agent survives restarts of the server: it polls again, continues its heartbeats, and repeats
// reports until they are answered. It ends only when the context of Run ends, or when a handler
// ignores the end of its own context.
type Agent struct {
	settings *agentSettings
	rpc      droverpb.AgentServiceClient
	me       *droverpb.Agent
	// What polls state of the process.
	host   string
	madeAt time.Time

	polls      *polls
	heartbeats *heartbeats
	reports    *reports
	polling    *polling
	logs       *taskLogs

	handlerLost chan struct{} // closed when a handler is lost
	onceLost    sync.Once
	idle        chan struct{} // closed when it drains, and all that run are lost
	onceIdle    sync.Once
	handlers    sync.WaitGroup // of tasks that are started, until their reports are queued

	mu      sync.Mutex
	state   agentState
	base    context.Context
	held    map[*held]struct{} // until their reports are answered
	running map[*held]struct{}
	// lost, of those that run: they ignore that they must stop.
	lost     map[*held]struct{}
	closeFor func()
}

type agentState int

const (
	agentMade agentState = iota
	agentRunning
	agentDraining
)

const (
	// callFor is for one Heartbeat, Complete or AppendLogs.
	callFor = 10 * time.Second
	// pollMargin: a poll is answered a second before its deadline at the latest.
	pollMargin = 10 * time.Second
	// reportsWaitingMax may wait for their answer before no further task is taken.
	reportsWaitingMax = 1_000
	// flushFor is what reports get to be answered at the end, even if their leases have ended.
	flushFor = 5 * time.Second
	// lastHeartbeatFor is for the heartbeat that only names lost polls.
	lastHeartbeatFor = 2 * time.Second
	// lastLinesFor is for the lines of handlers that wait when the agent stops.
	lastLinesFor = 2 * time.Second
	// detailsFor is how long a report waits for the details that are sent before it.
	detailsFor = 2 * time.Second
)

// NewAgent makes an agent of this id, a name for people that need not be unique, for the server at
// host:port, or for several with commas between the addresses. The error names the settings that are
// wrong.
func NewAgent(address, id string, options ...AgentOption) (*Agent, error) {
	settings, err := settingsOf(address, id, options)
	if err != nil {
		return nil, err
	}
	conn, done, err := settings.dial()
	if err != nil {
		return nil, err
	}
	session := make([]byte, 16)
	rand.Read(session)
	// Unknown to the system: not stated.
	host, _ := os.Hostname()
	a := &Agent{
		settings: settings,
		rpc:      droverpb.NewAgentServiceClient(conn),
		me: &droverpb.Agent{
			Id: id, Session: session, Version: settings.version, Labels: settings.labels,
		},
		host:        host,
		madeAt:      time.Now(),
		polls:       &polls{},
		heartbeats:  newHeartbeats(settings.log),
		reports:     newReports(settings.log),
		logs:        &taskLogs{log: settings.log},
		handlerLost: make(chan struct{}),
		idle:        make(chan struct{}),
		held:        map[*held]struct{}{},
		running:     map[*held]struct{}{},
		lost:        map[*held]struct{}{},
		closeFor:    done,
	}
	a.polling = &polling{
		log:     settings.log,
		polls:   a.polls,
		wait:    settings.pollWait,
		queues:  settings.queues,
		tasks:   settings.tasks,
		free:    a.free,
		decide:  a.reports.decide,
		send:    a.poll,
		accept:  a.accept,
		wakeups: make(chan struct{}, 1),
	}
	a.heartbeats.send = a.heartbeat
	a.heartbeats.endedTo = a.polls.endedTo
	a.reports.adding = a.freeSlot
	a.reports.carry = a.polling.carry
	a.reports.send = a.complete
	a.reports.answered = a.answered
	a.logs.send = a.appendLogs
	return a, nil
}

// Run performs tasks until the context ends, and then drains: it takes no further task, releases
// tasks that were not started, lets handlers finish within the grace and then stops them, reports,
// and closes. An agent runs once.
//
// Handlers see the values of the context, but not its end.
func (a *Agent) Run(ctx context.Context) error {
	if a.settings.handleStops {
		signalled, restore := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
		context.AfterFunc(signalled, restore)
		ctx = signalled
	}
	base, endBase := context.WithCancel(context.WithoutCancel(ctx))
	defer endBase()
	a.mu.Lock()
	if a.state != agentMade {
		a.mu.Unlock()
		return errors.New("drover: an agent runs once; make another one")
	}
	a.state, a.base = agentRunning, base
	a.mu.Unlock()
	log := a.settings.log
	log.Info("agent started", "id", a.settings.id, "tasks", a.settings.tasks, "slots", a.settings.slots)

	var parts sync.WaitGroup
	polling, endPolling := context.WithCancel(base)
	polled := make(chan struct{})
	parts.Go(func() { a.heartbeats.run(base) })
	parts.Go(func() { a.polling.run(polling); close(polled) })
	select {
	case <-ctx.Done():
	case <-a.handlerLost:
		log.Error("a handler does not end: the agent drains, and its process should end")
	}
	a.drain(endPolling, polled)
	endBase()
	parts.Wait()
	select {
	case <-a.handlerLost:
		return ErrHandlerLost
	default:
		return nil
	}
}

func (a *Agent) drain(endPolling func(), polled <-chan struct{}) {
	a.mu.Lock()
	a.state = agentDraining
	a.checkIdle()
	count := len(a.running)
	a.mu.Unlock()
	log := a.settings.log
	log.Info("agent draining", "running", count)
	a.polling.stop()
	endPolling()
	<-polled
	a.nameLostPolls()
	a.finishHandlers()
	a.reportLost()
	a.lastReports()
	a.nameLostPolls()
	a.logs.stop(lastLinesFor)
	a.reports.stop()
	a.mu.Lock()
	for task := range a.held {
		task.close()
	}
	a.mu.Unlock()
	a.closeFor()
	log.Info("agent stopped")
}

// lastReports: finished work is given up with its leases and not before; heartbeats continue meanwhile.
func (a *Agent) lastReports() {
	flushed := a.reports.flushed()
	least := time.Now().Add(flushFor)
	for {
		wait := max(time.Until(least), a.leasesFor())
		if wait <= 0 {
			break
		}
		if within(wait, flushed) {
			return
		}
	}
	a.settings.log.Error("agent stops with reports unanswered: their leases have ended")
}

// leasesFor is how long the longest lease of a held task still lasts.
func (a *Agent) leasesFor() (longest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for task := range a.held {
		longest = max(longest, task.left())
	}
	return longest
}

func (a *Agent) finishHandlers() {
	if within(a.settings.grace, a.idle) {
		return
	}
	a.mu.Lock()
	running := make([]*held, 0, len(a.running))
	for task := range a.running {
		running = append(running, task)
	}
	a.mu.Unlock()
	a.settings.log.Warn("grace is over, the agent stops its handlers", "running", len(running))
	for _, task := range running {
		task.stop(StopAgent)
	}
	// Each has ended by then, or is lost when its own grace is over.
	<-a.idle
}

// nameLostPolls: with no further poll to name them, they are named by a heartbeat.
func (a *Agent) nameLostPolls() {
	if len(a.polls.lostNow()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(a.base, lastHeartbeatFor)
	defer cancel()
	if _, err := a.heartbeat(ctx, nil, 0); err != nil {
		a.settings.log.Warn("lost polls could not be named", "error", callErrorOf(err))
	}
}

// free slots: those without a task.
func (a *Agent) free() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.held)-len(a.running) > reportsWaitingMax {
		return 0
	}
	return a.settings.slots - len(a.running)
}

// accept gives the tasks their slots; start starts them.
func (a *Agent) accept(tasks []*droverpb.Task, sent time.Time, waited time.Duration) (start func()) {
	// It cannot be longer than the call itself took; a server that reports more is not trusted.
	granted := sent.Add(min(max(waited, 0), time.Since(sent)))
	type taking struct {
		task *held
		// handler is nil for a task that is not started: another agent can take it at once.
		handler Handler
	}
	taken := make([]taking, len(tasks))
	a.mu.Lock()
	defer a.mu.Unlock()
	for at, message := range tasks {
		task := hold(a.base, message, granted, a.settings.stopGrace)
		task.onNote = a.heartbeats.wake
		task.onStuck = func() { a.lose(task) }
		task.lines = a.logs.begin(message)
		a.held[task] = struct{}{}
		handler := a.settings.handlers[message.GetTask()]
		inTime := task.left() > 0 && a.state == agentRunning
		if handler == nil || !inTime || !isKnown(message.GetKind()) {
			task.end()
			taken[at] = taking{task: task}
			continue
		}
		a.running[task] = struct{}{}
		a.handlers.Add(1)
		taken[at] = taking{task, handler}
	}
	return func() {
		for _, one := range taken {
			a.heartbeats.add(one.task)
			if one.handler == nil {
				a.reports.add(report{held: one.task, outcome: releasedOutcome()})
			} else {
				go a.perform(one.task, one.handler)
			}
		}
	}
}

// isKnown: a newer server may have others, for newer agents.
func isKnown(kind droverpb.TaskKind) bool {
	switch kind {
	case droverpb.TaskKind_TASK_KIND_PERFORM, droverpb.TaskKind_TASK_KIND_VERIFY,
		droverpb.TaskKind_TASK_KIND_COMPENSATE:
		return true
	}
	return false
}

func (a *Agent) perform(task *held, handler Handler) {
	given := readTask(task.task, task, a.settings.codec, a.settings.log)
	given.lines = task.lines
	outcome := attempt(task.ctx, handler, given)
	if !task.end() {
		a.settings.log.Warn("a handler that was lost has ended", taskFields(task.task)...)
		return
	}
	a.report(task, outcome)
}

func (a *Agent) report(task *held, outcome *droverpb.Outcome) {
	// After a success no later attempt needs the details.
	if outcome.GetSuccess() == nil && task.notes().details != nil {
		ctx, cancel := context.WithTimeout(a.base, detailsFor)
		a.heartbeats.sendDetails(ctx, task)
		cancel()
	}
	task.lines.end()
	a.reports.add(report{held: task, outcome: outcome})
	a.handlers.Done()
	a.polling.wake()
}

// freeSlot is called when the report of a task is queued, so that its call can carry a poll for the slot.
func (a *Agent) freeSlot(of report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, of.held)
	delete(a.lost, of.held)
	a.checkIdle()
}

func (a *Agent) answered(task *held) {
	a.mu.Lock()
	delete(a.held, task)
	a.mu.Unlock()
	task.close()
	a.heartbeats.remove(task)
	a.polling.wake()
}

func (a *Agent) poll(ctx context.Context, seq uint64, most int, wait time.Duration) (
	*droverpb.PollTaskResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+pollMargin)
	defer cancel()
	return a.rpc.PollTask(ctx, &droverpb.PollTaskRequest{
		Namespace: a.settings.namespace,
		Agent:     a.me,
		PollSeq:   seq,
		Queues:    a.settings.queues,
		Tasks:     a.settings.tasks,
		MaxTasks:  int32(most),
		Wait:      durationpb.New(wait),
		LostPolls: a.polls.lostNow(),
		Process: &droverpb.AgentProcess{
			Host:       a.host,
			Pid:        int32(os.Getpid()),
			RunningFor: durationpb.New(time.Since(a.madeAt)),
			Capacity:   int32(a.settings.slots),
			ClockTime:  timestamppb.Now(),
		},
	})
}

func (a *Agent) heartbeat(ctx context.Context, reports []*droverpb.HeartbeatReport, allTo uint64) (
	*droverpb.HeartbeatResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	return a.rpc.Heartbeat(ctx, &droverpb.HeartbeatRequest{
		Namespace:  a.settings.namespace,
		Agent:      a.me,
		LostPolls:  a.polls.lostNow(),
		Reports:    reports,
		ListsAllTo: allTo,
	})
}

func (a *Agent) complete(results []*droverpb.TaskResult, next *droverpb.Next) (
	*droverpb.CompleteResponse, error) {
	ctx, cancel := context.WithTimeout(a.base, callFor)
	defer cancel()
	return a.rpc.Complete(ctx, &droverpb.CompleteRequest{
		Namespace: a.settings.namespace, Agent: a.me, Results: results, Next: next,
	})
}

func (a *Agent) appendLogs(logs []*droverpb.TaskLog) (*droverpb.AppendLogsResponse, error) {
	ctx, cancel := context.WithTimeout(a.base, callFor)
	defer cancel()
	return a.rpc.AppendLogs(ctx, &droverpb.AppendLogsRequest{
		Namespace: a.settings.namespace, Agent: a.me, Logs: logs,
	})
}

// within: whether it was closed within the time.
func within(wait time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
