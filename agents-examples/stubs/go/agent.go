// A whole Drover agent with nothing but generated code; proto/drover/v1/agent_service.proto has the
// rules that it follows. Its handler is script.go: put your own in its place.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	pb "example.com/agent/gen"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"
)

const pause, receive = 200 * time.Millisecond, 8 << 20 // a task may exceed gRPC's usual 4 MiB
const timeouts = `{"methodConfig": [{"name": [{}], "timeout": "3s"}, {"timeout": "%vs",
	"name": [{"service": "drover.v1.AgentService", "method": "PollTask"}]}]}`

var namespace, token = os.Getenv("DROVER_NAMESPACE"), "Bearer " + os.Getenv("DROVER_TOKEN")
var always = metadata.AppendToOutgoingContext(context.Background(), "authorization", token)
var pollWait, _ = time.ParseDuration(os.Getenv("DROVER_POLL_WAIT_MS") + "ms")
var grace, _ = time.ParseDuration(os.Getenv("DROVER_GRACE_MS") + "ms")
var me = &pb.Agent{Id: os.Getenv("DROVER_AGENT"), Session: make([]byte, 16)}
var server pb.AgentServiceClient

// Performs the task, and renews its lease until the report is answered.
func hold(working context.Context, task *pb.Task, granted time.Time, lost []uint64) {
	ctx, stop := context.WithCancelCause(working)
	ends := func(after *durationpb.Duration, why error) *time.Timer {
		return time.AfterFunc(time.Until(granted.Add(after.AsDuration())), func() { stop(why) })
	}
	lease := ends(task.LeaseFor, fmt.Errorf("lease-ended"))
	defer ends(task.AttemptFor, fmt.Errorf("attempt-over")).Stop()
	sendHeartbeat := func(note *pb.HeartbeatReport) bool {
		note.TaskToken = task.TaskToken
		sent, reports := time.Now(), []*pb.HeartbeatReport{note}
		response, err := server.Heartbeat(always, &pb.HeartbeatRequest{
			Namespace: namespace, Agent: me, Reports: reports, LostPolls: lost})
		answer := append(response.GetAnswers(), nil)[0] // nil, if there was none, has no fields
		if carryOn := answer.GetCarryOn(); carryOn != nil {
			lease.Reset(time.Until(sent.Add(carryOn.LeaseFor.AsDuration())))
		} else if answer.GetCancel() != nil {
			stop(fmt.Errorf("cancelled"))
		} else if answer.GetLeaseLost() != nil {
			stop(fmt.Errorf("lease-lost"))
		}
		return err == nil
	}
	held, release := context.WithCancel(always)
	defer release()
	go func() {
		for every := task.HeartbeatInterval.AsDuration(); held.Err() == nil; time.Sleep(every) {
			sendHeartbeat(&pb.HeartbeatReport{})
		}
	}()
	report(task, perform(ctx, task, sendHeartbeat), false)
}

// Repeats the report until it is answered: an error of the call proves nothing about the report.
func report(task *pb.Task, outcome *pb.Outcome, refused bool) {
	results := []*pb.TaskResult{{TaskToken: task.TaskToken, Outcome: outcome}}
	request := &pb.CompleteRequest{Namespace: namespace, Agent: me, Results: results}
	for ; ; time.Sleep(pause) {
		response, err := server.Complete(always, request)
		if err != nil {
			continue
		}
		status := response.Answers[0].Status
		switch code := status.GetCode(); {
		case code == 3 && !refused: // it is still held
			report(task, instead(outcome, status.Message), true)
			return
		case code == 0, code == 3, code == 5, code == 9: // all else may pass later
			return
		}
	}
}

func main() {
	rand.Read(me.Session)
	connection, err := grpc.NewClient(os.Getenv("DROVER_ADDRESS"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(receive)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 3 * time.Second,
			Backoff: backoff.Config{BaseDelay: pause, MaxDelay: pause}}),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(timeouts, pollWait.Seconds()+10)))
	if server = pb.NewAgentServiceClient(connection); err != nil {
		panic(err)
	}
	drain, _ := signal.NotifyContext(always, syscall.SIGTERM)
	working, end := context.WithCancelCause(always)
	go func() { <-drain.Done(); time.Sleep(grace); end(fmt.Errorf("agent-stopped")) }()
	lost, until := []uint64{}, []time.Time{} // polls without an answer are named until then
	emit("ready", nil)
	for seq, sent := uint64(1), time.Now(); drain.Err() == nil; seq, sent = seq+1, time.Now() {
		answer, err := server.PollTask(drain, &pb.PollTaskRequest{Namespace: namespace, Agent: me,
			PollSeq: seq, Queues: []*pb.QueueWeight{{Name: os.Getenv("DROVER_QUEUE")}},
			Tasks: []string{"work", "check", "undo"}, Wait: durationpb.New(pollWait), LostPolls: lost})
		if err != nil {
			lost, until = append(lost, seq), append(until, sent.Add(pollWait+30*time.Second))
			time.Sleep(pause)
		}
		for len(lost) > 0 && sent.After(until[0]) {
			lost, until = lost[1:], until[1:]
		}
		for _, task := range answer.GetTasks() {
			if drain.Err() != nil || task.Kind < 1 || task.Kind > 3 { // only a newer agent knows it
				report(task, outcomeOf("released", nil), false)
			} else {
				hold(working, task, sent.Add(answer.Waited.AsDuration()), lost)
			}
		}
	}
	server.Heartbeat(always, &pb.HeartbeatRequest{Namespace: namespace, Agent: me, LostPolls: lost})
}
