// What the handler does: the acts in the input of its task, see test/conformance/PROTOCOL.md.
// Nothing of an agent is here: a handler of your own takes the task and returns its outcome.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	pb "example.com/agent/gen"
	"google.golang.org/protobuf/encoding/protojson"
)

type fields map[string]any
type script map[string]json.RawMessage

// noted sends progress or details, and returns whether it was answered.
type noted func(*pb.HeartbeatReport) bool

var kinds = []string{"", "perform", "verify", "compensate"}

func emit(event string, more ...fields) {
	line := fields{"event": event}
	for _, one := range more {
		maps.Copy(line, one)
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

// outcomeOf makes the outcome of this kind; the fields are those of its message.
func outcomeOf(kind string, of fields) *pb.Outcome {
	outcome := &pb.Outcome{}
	if of == nil {
		of = fields{}
	}
	text, _ := json.Marshal(fields{kind: of})
	if err := protojson.Unmarshal(text, outcome); err != nil {
		panic(err)
	}
	return outcome
}

// instead of an outcome that was refused: its effect remains, and only its output cannot be sent.
func instead(refused *pb.Outcome, message string) *pb.Outcome {
	if refused.GetSuccess() == nil {
		return outcomeOf("unknown", fields{"code": "report-refused", "message": message})
	}
	_, problem, _ := strings.Cut(message, " ")
	return outcomeOf("success", fields{"outputProblem": problem})
}

func success(text string) *pb.Outcome {
	return outcomeOf("success", fields{"output": fields{"json": text}})
}

func failed(class string, of fields) *pb.Outcome {
	of["failure_class"] = "FAILURE_CLASS_" + class
	return outcomeOf("failed", of)
}

func perform(ctx context.Context, task *pb.Task, note noted) *pb.Outcome {
	about := fields{"run": task.RunId, "step": task.StepId, "kind": kinds[task.Kind],
		"attempt": task.Attempt, "fence": task.Fence}
	emit("started", about, fields{"key": task.IdempotencyKey, "effect_key": task.EffectKey,
		"callback_token": task.CallbackToken, "item": task.Item})
	act, outcome := ended(ctx, task, note, about)
	emit("ended", about, fields{"act": act})
	return outcome
}

func ended(ctx context.Context, task *pb.Task, note noted, about fields) (string, *pb.Outcome) {
	var given script
	var tries [][]script
	if err := json.Unmarshal([]byte(task.Input.GetJson()), &given); err != nil || given == nil {
		return act("", nil, task)
	}
	json.Unmarshal(given[kinds[task.Kind]], &tries)
	number := task.Attempt
	if task.Kind == pb.TaskKind_TASK_KIND_PERFORM {
		number = task.Fence
	}
	if len(tries) == 0 {
		tries = append(tries, nil)
	}
	for _, one := range tries[min(int(number), len(tries))-1] {
		if _, waits := one["await"]; waits {
			if name, outcome := await(ctx, one, task, about); outcome != nil {
				return name, outcome
			}
			continue
		}
		for name, value := range one {
			news := &pb.HeartbeatReport{}
			switch name {
			case "progress":
				news.Progress = &pb.Progress{}
				protojson.Unmarshal(value, news.Progress)
			case "details":
				news.Details = &pb.Payload{Body: &pb.Payload_Json{Json: string(value)}}
			default:
				return act(name, value, task)
			}
			for !note(news) && ctx.Err() == nil {
				time.Sleep(pause)
			}
		}
	}
	return "", outcomeOf("success", nil)
}

// await waits for the file; the outcome is nil when it is there.
func await(ctx context.Context, one script, task *pb.Task, about fields) (string, *pb.Outcome) {
	var path string
	json.Unmarshal(one["await"], &path)
	emit("waiting", about, fields{"path": path})
	for ctx.Err() == nil {
		if _, err := os.Stat(path); err == nil {
			return "", nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	why := context.Cause(ctx).Error()
	emit("stopped", about, fields{"why": why})
	var other script
	json.Unmarshal(one["on_stop"], &other)
	for name, value := range other {
		return act(name, value, task)
	}
	if why == "cancelled" {
		return "stopped", outcomeOf("cancelled", nil)
	}
	return "stopped", outcomeOf("unknown", fields{"code": why})
}

// act is the outcome of an act that ends the handler, with its name.
func act(name string, value json.RawMessage, task *pb.Task) (string, *pb.Outcome) {
	given, code, failure := fields{}, "did-not-happen", "TRANSIENT"
	json.Unmarshal(value, &given)
	switch name {
	case "success", "happened":
		return name, success(string(value))
	case "echo":
		of := map[string]*pb.Payload{
			`"input"`: task.Input, `"details"`: task.LastDetails, `"output"`: task.Output,
		}[string(value)]
		if of == nil {
			return name, success("null")
		}
		return name, success(of.GetJson())
	case "large":
		var bytes int
		json.Unmarshal(value, &bytes)
		return name, success(`"` + strings.Repeat("x", bytes) + `"`)
	case "fail":
		if given["permanent"] == true {
			failure = "PERMANENT"
		}
		delete(given, "permanent")
		if after, waits := given["retry_after_ms"].(float64); waits {
			given["retry_after"] = fmt.Sprintf("%.3fs", after/1000)
			delete(given, "retry_after_ms")
		}
		return name, failed(failure, given)
	case "did_not_happen":
		return name, failed(failure, fields{"code": code, "no_effect": true})
	case "cannot_tell":
		return name, outcomeOf("unknown", fields{"code": "cannot-tell", "message": given["message"]})
	case "again":
		after, _ := given["after_ms"].(float64)
		return name, outcomeOf("again", fields{"after": fmt.Sprintf("%.3fs", after/1000)})
	case "unknown", "deferred", "cancelled":
		return name, outcomeOf(name, given)
	}
	return name, failed("PERMANENT", fields{"code": "bad-script"})
}
