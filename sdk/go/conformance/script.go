package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
)

// act is an object with one member, named after what it does.
type act map[string]json.RawMessage

func (a act) name() string {
	for name := range a {
		if name != "on_stop" {
			return name
		}
	}
	return ""
}

// pollEvery is how often the existence of a file is checked.
const pollEvery = 20 * time.Millisecond

var errBadScript = drover.Permanent("bad-script", "The input is no script of the conformance suite.")

// perform does the acts of the try that is due.
func perform(ctx context.Context, task *drover.Task) (any, error) {
	printEvent(task, "started", map[string]any{
		"key": task.IdempotencyKey, "effect_key": task.EffectKey,
		"callback_token": task.CallbackToken, "item": task.Item,
	})
	acts, err := actsOf(task)
	if err != nil {
		printEvent(task, "ended", map[string]any{"act": ""})
		return nil, errBadScript
	}
	for _, one := range acts {
		ended, result, err := do(ctx, task, one)
		if ended != "" {
			printEvent(task, "ended", map[string]any{"act": ended})
			return result, err
		}
	}
	printEvent(task, "ended", map[string]any{"act": ""})
	return nil, nil
}

func actsOf(task *drover.Task) ([]act, error) {
	var input map[string]json.RawMessage
	if err := task.Input(&input); err != nil {
		return nil, err
	}
	if input == nil {
		return nil, errBadScript
	}
	var tries [][]act
	if text, some := input[string(task.Kind)]; some {
		if err := json.Unmarshal(text, &tries); err != nil {
			return nil, err
		}
	}
	if len(tries) == 0 {
		return nil, nil
	}
	number := task.Attempt
	if task.Kind == drover.TaskPerform {
		number = task.Fence
	}
	return tries[min(max(number, 1), len(tries))-1], nil
}

// do returns the name of an act that ended the handler.
func do(ctx context.Context, task *drover.Task, one act) (ended string, result any, err error) {
	name := one.name()
	switch name {
	case "progress":
		task.Progress(markOf(one[name]))
	case "details":
		return "", nil, task.Details(one[name])
	case "log":
		task.Log().Info(textOf(one[name]))
	case "deaf":
		printEvent(task, "waiting", map[string]any{"path": textOf(one[name])})
		for !exists(textOf(one[name])) {
			time.Sleep(pollEvery)
		}
	case "await":
		return await(ctx, task, one)
	default:
		result, err = endingOf(task, one)
		return name, result, err
	}
	return "", nil, nil
}

func await(ctx context.Context, task *drover.Task, one act) (ended string, result any, err error) {
	path := textOf(one["await"])
	printEvent(task, "waiting", map[string]any{"path": path})
	for !exists(path) {
		select {
		case <-time.After(pollEvery):
			continue
		case <-ctx.Done():
		}
		var stopped *drover.Stopped
		errors.As(context.Cause(ctx), &stopped)
		printEvent(task, "stopped", map[string]any{"why": stopped.Kind})
		if text, some := one["on_stop"]; some {
			var instead act
			if err := json.Unmarshal(text, &instead); err != nil {
				return "on_stop", nil, errBadScript
			}
			result, err = endingOf(task, instead)
			return instead.name(), result, err
		}
		return "stopped", nil, ctx.Err()
	}
	return "", nil, nil
}

// ending has the members of the acts that end a handler.
type ending struct {
	Code         string `json:"code"`
	Message      string `json:"message"`
	Permanent    bool   `json:"permanent"`
	RetryAfterMs int    `json:"retry_after_ms"`
	NoEffect     bool   `json:"no_effect"`
	AfterMs      int    `json:"after_ms"`
}

func endingOf(task *drover.Task, one act) (any, error) {
	name := one.name()
	body := one[name]
	var with ending
	// A body that is no object has no members.
	_ = json.Unmarshal(body, &with)
	switch name {
	case "success":
		return body, nil
	case "echo":
		return echo(task, textOf(body))
	case "large":
		var bytes int
		err := json.Unmarshal(body, &bytes)
		return strings.Repeat("x", bytes), err
	case "fail":
		return nil, failure(with)
	case "unknown":
		return nil, drover.Unknown(with.Code, with.Message)
	case "again":
		return drover.Again(time.Duration(with.AfterMs) * time.Millisecond), nil
	case "deferred":
		return drover.Deferred(), nil
	case "cancelled":
		return nil, drover.Cancelled(claims(with)...)
	case "happened":
		return drover.Happened(body), nil
	case "did_not_happen":
		return drover.DidNotHappen(), nil
	case "cannot_tell":
		return drover.CannotTell(with.Message), nil
	case "throw":
		return nil, errors.New(textOf(body))
	}
	return nil, errBadScript
}

func failure(with ending) error {
	if with.Permanent {
		return drover.Permanent(with.Code, with.Message, claims(with)...)
	}
	after := drover.RetryAfter(time.Duration(with.RetryAfterMs) * time.Millisecond)
	return drover.Transient(with.Code, with.Message, append(claims(with), after)...)
}

func claims(with ending) []drover.ErrorOption {
	if with.NoEffect {
		return []drover.ErrorOption{drover.NoEffect()}
	}
	return nil
}

func echo(task *drover.Task, what string) (any, error) {
	value := json.RawMessage("null")
	var err error
	switch what {
	case "input":
		err = task.Input(&value)
	case "details":
		_, err = task.LastDetails(&value)
	case "output":
		_, err = task.Output(&value)
	}
	return value, err
}

func markOf(text json.RawMessage) drover.Mark {
	var mark struct {
		Fraction *float64
		Counter  *uint64
		Cursor   string
	}
	if err := json.Unmarshal(text, &mark); err != nil {
		return drover.Mark{}
	}
	switch {
	case mark.Fraction != nil:
		return drover.Fraction(*mark.Fraction)
	case mark.Counter != nil:
		return drover.Counter(*mark.Counter)
	default:
		return drover.Cursor(mark.Cursor)
	}
}

func textOf(value json.RawMessage) string {
	var text string
	_ = json.Unmarshal(value, &text)
	return text
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func printEvent(task *drover.Task, event string, more map[string]any) {
	line := map[string]any{
		"event": event, "run": task.RunID, "step": task.StepID, "kind": task.Kind,
		"attempt": task.Attempt, "fence": task.Fence,
	}
	for name, value := range more {
		line[name] = value
	}
	printLine(line)
}

var printing sync.Mutex

func printLine(line map[string]any) {
	printing.Lock()
	defer printing.Unlock()
	// Every event has a JSON form.
	_ = json.NewEncoder(os.Stdout).Encode(line)
}
