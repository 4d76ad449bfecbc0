package drover

import (
	"maps"
	"slices"
)

// A handler that continues although its context was cancelled is lost when the stop grace is over: its
// goroutine cannot be ended but with its process. So the agent drains, and reports it once no other
// handler runs.

// lose is for a handler that ignores that it must stop. It still occupies its slot: the agent cannot
// know what it does, and without that limit any number of them could run.
func (a *Agent) lose(task *held) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if task.hasEnded() {
		return
	}
	a.settings.log.Error("handler lost: it has to stop and does not", taskFields(task.task)...)
	a.lost[task] = struct{}{}
	a.checkIdle()
	a.onceLost.Do(func() { close(a.handlerLost) })
}

// checkIdle is called, with the lock, when a handler has ended or is lost.
func (a *Agent) checkIdle() {
	if a.state == agentDraining && len(a.running) == len(a.lost) {
		a.onceIdle.Do(func() { close(a.idle) })
	}
}

// reportLost reports the handlers that are lost. Not sooner: the server verifies or retries a reported
// task at once, and until the process ends a lost handler may still act.
func (a *Agent) reportLost() {
	a.mu.Lock()
	lost := slices.Collect(maps.Keys(a.lost))
	a.mu.Unlock()
	for _, task := range lost {
		if task.end() {
			go a.report(task, unknownOutcome("handler-lost",
				"The handler did not end although it had to stop."))
		}
	}
	a.handlers.Wait()
}
