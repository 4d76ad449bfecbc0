package drover

import (
	"log/slog"

	"google.golang.org/grpc/codes"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// report is the outcome of a task. It is sent with Complete, and is repeated with the very same
// outcome, so that the server recognizes it, until it is answered. The call carries a poll for the
// freed slots.
//
// Only a Drover server can judge a result. A call that was refused for any other
// reason (a token that has expired, a proxy without a route) leaves all its reports as they are: they
// are sent again, each alone, until the lease of their task has ended.
type report struct {
	held    *held
	outcome *droverpb.Outcome
	// substitute: it already replaces one that the server refused.
	substitute bool
}

type reports struct {
	gatherer[report]
	log *slog.Logger
	// carry makes the poll for a call of this many reports, or returns nil.
	carry func(reports int) *carriedPoll
	send  func(results []*droverpb.TaskResult, next *droverpb.Next) (*droverpb.CompleteResponse, error)
	// answered for good: the agent no longer holds the task.
	answered func(*held)
}

func newReports(log *slog.Logger) *reports {
	r := &reports{log: log}
	// 1,000 is the limit of the contract; what an answer loses is repeated.
	r.gatherer.itemsMax = 250
	r.gatherer.prepare = r.prepare
	r.gatherer.size = func(one report) int {
		return len(one.held.task.GetTaskToken()) + outcomeSize(one.outcome)
	}
	return r
}

func (r *reports) prepare(batch []report) func() sent[report] {
	poll := r.carry(len(batch))
	return func() sent[report] { return r.call(batch, poll) }
}

func (r *reports) call(batch []report, poll *carriedPoll) sent[report] {
	results := make([]*droverpb.TaskResult, len(batch))
	for at, one := range batch {
		results[at] = &droverpb.TaskResult{TaskToken: one.held.task.GetTaskToken(), Outcome: one.outcome}
	}
	var next *droverpb.Next
	if poll != nil {
		next = poll.next
	}
	answer, err := r.send(results, next)
	if err != nil {
		failed := callErrorOf(err)
		if poll != nil {
			poll.failed(failed)
		}
		return r.onFailedCall(batch, failed)
	}
	if poll != nil {
		poll.answered(answer)
	}
	var again sent[report]
	for at, one := range batch {
		if at >= len(answer.GetAnswers()) {
			again.again, again.wait = append(again.again, one), true
			continue
		}
		r.takeAnswer(one, answer.GetAnswers()[at], &again)
	}
	return again
}

func (r *reports) onFailedCall(batch []report, failed *CallError) sent[report] {
	if failed.outcome() != definite {
		r.log.Warn("report not answered, will be repeated", "results", len(batch), "error", failed)
		return sent[report]{again: batch, wait: true, failed: failed}
	}
	if !failed.isAboutResults() {
		r.log.Error("reports refused as a call, will be repeated", "results", len(batch), "error", failed)
		return sent[report]{again: r.leased(batch, failed), wait: true, alone: true, failed: failed}
	}
	r.log.Error("report refused", "results", len(batch), "error", failed)
	if len(batch) > 1 {
		return sent[report]{again: batch, alone: true}
	}
	var again sent[report]
	r.substitute(batch[0], failed, &again)
	return again
}

// leased are the reports whose tasks are still the agent's; the others are given up.
func (r *reports) leased(batch []report, failed *CallError) []report {
	var leased []report
	for _, one := range batch {
		if one.held.left() > 0 {
			leased = append(leased, one)
			continue
		}
		fields := append(taskFields(one.held.task), "error", failed)
		r.log.Error("report given up: the lease has ended, and no call is taken", fields...)
		r.answered(one.held)
	}
	return leased
}

func (r *reports) takeAnswer(one report, answer *droverpb.CompleteAnswer, again *sent[report]) {
	if answer.GetStatus().GetCode() == int32(codes.OK) {
		r.answered(one.held)
		return
	}
	refusal := callErrorOfProto(answer.GetStatus())
	fields := append(taskFields(one.held.task), "error", refusal)
	switch {
	case refusal.outcome() != definite:
		again.again, again.wait, again.failed = append(again.again, one), true, refusal
	case refusal.Code == codes.InvalidArgument && refusal.Reason != ReasonMalformedToken:
		r.log.Error("report refused", fields...)
		r.substitute(one, refusal, again)
	default:
		r.log.Warn("report came to nothing", fields...)
		r.answered(one.held)
	}
}

// substitute: the agent still holds the task, and has to report something that the server accepts.
func (r *reports) substitute(one report, refusal *CallError, again *sent[report]) {
	if one.substitute {
		r.answered(one.held)
		return
	}
	instead := report{held: one.held, outcome: outcomeOfRefusal(one.outcome, refusal), substitute: true}
	again.again = append(again.again, instead)
}
