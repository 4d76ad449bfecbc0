package drover_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// counted is a wire that counts its calls.
type counted struct {
	wire
	mu    sync.Mutex
	calls int
}

func (c *counted) GetRun(ctx context.Context, request *droverpb.GetRunRequest) (
	*droverpb.GetRunResponse, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	return c.wire.GetRun(ctx, request)
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// gate is a proxy before a server: while it is closed no byte passes, and no side notices.
type gate struct {
	open sync.RWMutex
}

func (g *gate) serve(t *testing.T, target string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				_ = from.Close()
				continue
			}
			go g.pass(from, to)
			go g.pass(to, from)
		}
	}()
	return listener.Addr().String()
}

func (g *gate) pass(from, to net.Conn) {
	defer func() { _ = to.Close() }()
	chunk := make([]byte, 64*1024)
	for {
		size, err := from.Read(chunk)
		g.open.RLock()
		if size > 0 {
			_, _ = to.Write(chunk[:size])
		}
		g.open.RUnlock()
		if err != nil {
			return
		}
	}
}

// within: the call ends without an error, far sooner than a try, of 10 s, is given up.
func within(t *testing.T, client *drover.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	if _, err := client.GetRun(ctx, drover.RunID("r"), drover.Include{}); err != nil {
		t.Fatal(err)
	}
}

// until asks again, for at most 20 s.
func until(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !isSo(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestCallsGoToTheServersInTurn(t *testing.T) {
	one, other := &counted{}, &counted{}
	first, _ := serveCounted(t, one, "127.0.0.1:0")
	second, _ := serveCounted(t, other, "127.0.0.1:0")
	client := wireClient(t, first, drover.WithAddresses(second))
	for range 10 {
		within(t, client)
	}
	equal(t, "calls of one server", one.count(), 5)
	equal(t, "calls of the other", other.count(), 5)
}

func serveCounted(t *testing.T, server *counted, address string) (string, func()) {
	t.Helper()
	address, running := serve(t, address, server)
	return address, running.Stop
}

func TestADeadServerIsPassedOverUntilItIsBack(t *testing.T) {
	one, other := &counted{}, &counted{}
	first, stopFirst := serveCounted(t, one, "127.0.0.1:0")
	second, stopSecond := serveCounted(t, other, "127.0.0.1:0")
	client := wireClient(t, first+","+second)
	within(t, client)
	within(t, client)
	stopFirst()
	for range 4 {
		within(t, client)
	}
	before := one.count()
	serveCounted(t, one, first)
	until(t, "the server that is back is called", func() bool {
		within(t, client)
		return one.count() > before
	})
	stopSecond()
	within(t, client)
}

func TestAnAddressAtWhichNothingListensIsNoHindrance(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	equal(t, "error", err, nil)
	dead := listener.Addr().String()
	_ = listener.Close()
	address, _ := serveCounted(t, &counted{}, "127.0.0.1:0")
	client := wireClient(t, dead, drover.WithAddresses(address))
	for range 4 {
		within(t, client)
	}
}

func TestACallAtAServerThatFreezesIsRepeatedAtAnother(t *testing.T) {
	one, other := &counted{}, &counted{}
	hidden, _ := serveCounted(t, one, "127.0.0.1:0")
	frozen := &gate{}
	first := frozen.serve(t, hidden)
	second, _ := serveCounted(t, other, "127.0.0.1:0")
	client := wireClient(t, fmt.Sprintf("%s, %s", first, second))
	within(t, client)
	within(t, client)
	frozen.open.Lock()
	for range 4 {
		within(t, client)
	}
	frozen.open.Unlock()
	before := one.count()
	until(t, "the server that moves again is called", func() bool {
		within(t, client)
		return one.count() > before
	})
}

func TestAWatchGoesOnAtAnotherServer(t *testing.T) {
	one, other := &counted{}, &counted{}
	first, _ := serveCounted(t, one, "127.0.0.1:0")
	second, _ := serveCounted(t, other, "127.0.0.1:0")
	var versions []uint64
	client := wireClient(t, first+","+second)
	for snapshot, err := range client.WatchRun(t.Context(), drover.RunID("r")) {
		equal(t, "error", err, nil)
		versions = append(versions, snapshot.Run.Version)
	}
	equal(t, "versions", versions, []uint64{1, 2, 3})
}

func TestAddressesThatAreNoneAreRefused(t *testing.T) {
	for _, address := range []string{"", "a:7420,", "a", "http://a:7420", "dns:///a:7420"} {
		_, err := drover.NewClient(address)
		if err == nil || !strings.Contains(err.Error(), "is not host:port") {
			t.Errorf("%q: %v", address, err)
		}
	}
	_, err := drover.NewClient("127.0.0.1:1,drover.example:7420", drover.WithToken("abc"))
	if err == nil || !strings.Contains(err.Error(), "drover.example:7420 in plain text") {
		t.Errorf("a token in plain text: %v", err)
	}
}
