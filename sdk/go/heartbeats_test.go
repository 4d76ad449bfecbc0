package drover

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// An agent may hold thousands of tasks: none that comes or goes makes it look at all
// others, unless it is due before them.
func TestATaskThatComesOrGoesSendsNoHeartbeat(t *testing.T) {
	heartbeats := newHeartbeats(slog.New(slog.DiscardHandler))
	aTask := func(heartbeatInterval time.Duration) *held {
		long := durationpb.New(time.Hour)
		task := &droverpb.Task{HeartbeatInterval: durationpb.New(heartbeatInterval), LeaseFor: long, AttemptFor: long}
		return hold(context.Background(), task, time.Now(), time.Second)
	}
	woken := func() bool {
		select {
		case <-heartbeats.wakeups:
			return true
		default:
			return false
		}
	}
	first := aTask(time.Minute)
	heartbeats.add(first)
	if !woken() {
		t.Fatal("the first task was not looked at")
	}
	heartbeats.due()
	heartbeats.add(aTask(time.Minute))
	heartbeats.remove(first)
	if woken() {
		t.Fatal("a task that is due later was looked at")
	}
	heartbeats.add(aTask(time.Second))
	if !woken() {
		t.Fatal("a task that is due sooner was not looked at")
	}
}
