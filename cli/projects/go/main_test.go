// Tests of the handlers, without a server: go test ./...
package main

import (
	"testing"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/drovertest"
)

func tryCharge(t *testing.T, input any) drovertest.Result {
	t.Helper()
	task := drovertest.Task{Input: input, IdempotencyKey: "key-7"}
	return drovertest.Run(t, drover.Typed(chargeCard), task)
}

func TestACardIsChargedUnderTheKeyOfTheTask(t *testing.T) {
	var charged Charge
	tryCharge(t, Order{Card: "visa"}).Output(&charged)
	if charged.Charge != "key-7" {
		t.Fatalf("got %+v", charged)
	}
}

func TestWithoutACardItFailsForGood(t *testing.T) {
	if result := tryCharge(t, Order{Card: "none"}); result.Code != "no-card" {
		t.Fatalf("got %+v", result)
	}
}

func TestAnOrderThatIsNoneIsRefused(t *testing.T) {
	if result := tryCharge(t, "visa"); result.Code != "bad-input" {
		t.Fatalf("got %+v", result)
	}
}
