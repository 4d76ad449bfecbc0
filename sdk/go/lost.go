package drover

import (
	"maps"
	"slices"
)

// A handler that goes on although its context was cancelled is lost when the stop grace is over: its
// goroutine cannot be ended but with its process. So the agent drains, and reports it once no other
// handler runs.

// lose is of a handler that ignores that it was told to stop. It keeps its slot: what it does
// nobody knows, and there would be no end to how many pile up.
func (a *Agent) lose(task *held) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if task.hasEnded() {
		return
	}
	a.settings.log.Error("handler lost: it was told to stop and does not", taskFields(task.task)...)
	a.lost[task] = struct{}{}
	a.lookIdle()
	a.onceDeaf.Do(func() { close(a.deafened) })
}

// lookIdle is called, with the lock, when a handler has ended or is lost.
func (a *Agent) lookIdle() {
	if a.state == agentDraining && len(a.running) == len(a.lost) {
		a.onceIdle.Do(func() { close(a.idle) })
	}
}

// reportLost reports the handlers that are lost. Not sooner: what an agent says is looked up, or
// tried again, at once, and until its process ends such a handler may still act.
func (a *Agent) reportLost() {
	a.mu.Lock()
	lost := slices.Collect(maps.Keys(a.lost))
	a.mu.Unlock()
	for _, task := range lost {
		if task.end() {
			go a.report(task, unknownOutcome("handler-lost",
				"The handler was told to stop and went on until its process ends."))
		}
	}
	a.handlers.Wait()
}
