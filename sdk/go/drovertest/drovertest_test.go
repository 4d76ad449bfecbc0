package drovertest_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/drovertest"
	"github.com/drover-dev/drover/sdk/go/examples/aesgcm"
)

func count(ctx context.Context, task *drover.Task) (any, error) {
	var from, to int
	if _, err := task.LastDetails(&from); err != nil {
		return nil, err
	}
	if err := task.Input(&to); err != nil {
		return nil, err
	}
	for ; from < to; from++ {
		task.Progress(drover.Counter(uint64(from)))
	}
	return from, task.Details(from)
}

func TestAHandlerRunsWithoutAServer(t *testing.T) {
	result := drovertest.Run(t, count, drovertest.Task{Input: 5, LastDetails: 3})
	var output, details int
	result.Output(&output)
	if output != 5 || !result.Details(&details) || details != 5 {
		t.Fatalf("output %d, details %d", output, details)
	}
	if len(result.Progress) != 2 || result.Progress[0] != uint64(3) {
		t.Fatalf("progress %v", result.Progress)
	}
}

func TestAnInputThatIsNotAsExpectedFailsForGood(t *testing.T) {
	result := drovertest.Run(t, count, drovertest.Task{Input: "five"})
	if result.Code != "bad-input" {
		t.Fatalf("got %+v", result)
	}
}

func TestAVerifyHasToAnswer(t *testing.T) {
	verify := func(answer any) drovertest.Result {
		return drovertest.Run(t, func(context.Context, *drover.Task) (any, error) {
			return answer, nil
		}, drovertest.Task{Kind: drover.TaskVerify})
	}
	if result := verify(nil); result.Code != "no-answer" {
		t.Fatalf("got %+v", result)
	}
	if result := verify(drover.DidNotHappen()); !result.NoEffect {
		t.Fatalf("got %+v", result)
	}
	if result := verify(drover.CannotTell("no answer")); result.Code != "cannot-tell" {
		t.Fatalf("got %+v", result)
	}
	var output string
	verify(drover.Happened("it")).Output(&output)
	if output != "it" {
		t.Fatalf("got %q", output)
	}
}

func TestAHandlerThatIsStoppedEndsByTheReason(t *testing.T) {
	wait := func(ctx context.Context, task *drover.Task) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	attempt := drovertest.Start(t, wait, drovertest.Task{})
	attempt.Stop(drover.StopCancelled)
	if result := attempt.Wait(); result.Kind != drovertest.Cancelled {
		t.Fatalf("got %+v", result)
	}
	attempt = drovertest.Start(t, wait, drovertest.Task{})
	attempt.Stop(drover.StopLeaseEnded)
	if result := attempt.Wait(); result.Code != "lease-ended" {
		t.Fatalf("got %+v", result)
	}
}

// spy stores what was encoded last.
type spy struct {
	drover.Codec
	sent *drover.Payload
}

func (s *spy) Encode(payload *drover.Payload) (*drover.Payload, error) {
	sent, err := s.Codec.Encode(payload)
	s.sent = sent
	return sent, err
}

func TestPayloadsGoThroughTheCodec(t *testing.T) {
	codec, err := aesgcm.New(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	spy := &spy{Codec: codec}
	result := drovertest.Run(t, count, drovertest.Task{Input: 5, Codec: spy})
	sent := spy.sent
	if sent.ContentType != aesgcm.ContentType || bytes.Contains(sent.Data, []byte("5\n")) {
		t.Fatalf("sent %v", sent)
	}
	var output int
	result.Output(&output)
	if output != 5 {
		t.Fatalf("got %d", output)
	}
	same, _ := aesgcm.New(bytes.Repeat([]byte{7}, 32))
	opened, _ := codec.Decode(sent)
	if again, _ := same.Encode(opened); !reflect.DeepEqual(again, sent) {
		t.Fatal("to the server the same payload is another one")
	}
	other, _ := aesgcm.New(bytes.Repeat([]byte{8}, 32))
	if _, err := other.Decode(sent); err == nil {
		t.Fatal("another key opens it")
	}
}
