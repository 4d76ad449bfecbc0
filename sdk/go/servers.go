package drover

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// servers are those of several addresses: which one gets the next call, and which ones cannot be
// reached.
//
//	up -> down (a call could not reach it, or it answered no check) -> up (it answered a check)
//
// Calls go to the servers in turn, so that the polls of many agents spread over them. A server that is
// down gets no call unless all are; meanwhile it is checked, with growing waits. A server where an
// outcome remained unknown is passed over for a moment: the repeat goes to another one.
//
// A server that freezes, or a network that swallows packets, gives no sign, and a poll may wait for
// long. So while calls wait for a silent server, it is sent checks. If it does not answer one, its
// calls end with UNAVAILABLE, as if the connection had broken. That is not done to the last server that
// is up: a busy one is better than none.
type servers struct {
	dial func(address string) (*grpc.ClientConn, error)

	mu     sync.Mutex
	all    []*server
	turn   int
	closed bool
}

type server struct {
	address string
	link    *link
	calls   map[*serverCall]struct{}
	isUp    bool
	// passedOver until then.
	passedOver time.Time
	answered   time.Time
	// interval from the last sign to the next check.
	interval time.Duration
	// due is when the next check is sent, unless the server answers before.
	due      time.Time
	checking bool
	timer    *time.Timer
}

// link is a connection. Calls that were sent go on after it was replaced; it closes with the last one.
type link struct {
	conn     *grpc.ClientConn
	calls    int
	replaced bool
}

const (
	// silentFor is how long a server is silent before a check is sent; then the time grows.
	silentFor, silentForMax = 500 * time.Millisecond, 2 * time.Second
	// checkFor is the time for the answer to a check.
	checkFor = time.Second
	// connectFor is that of a check over a new connection, of a server that is down.
	connectFor = 5 * time.Second
	// heldUp: a check that ended so much later than its deadline says that this process was held up.
	heldUp = 250 * time.Millisecond
	// passedOverFor: a server where an outcome remained unknown.
	passedOverFor = time.Second
)

// errAbandoned is the cause of a call that ends because its server does not answer.
var errAbandoned = errors.New("the server does not answer")

func newServers(addresses []string, dial func(string) (*grpc.ClientConn, error)) (*servers, error) {
	// Spread, so that agents which started together do not begin at the same server.
	made := &servers{dial: dial, turn: rand.IntN(len(addresses))}
	for _, address := range addresses {
		conn, err := dial(address)
		if err != nil {
			made.close()
			return nil, err
		}
		made.all = append(made.all, &server{
			address: address, link: &link{conn: conn}, isUp: true, calls: map[*serverCall]struct{}{},
		})
	}
	return made, nil
}

func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, one := range s.all {
		one.stopTimer()
		_ = one.link.conn.Close()
	}
}

// serverCall is a call under way at one server.
type serverCall struct {
	of      *servers
	at      *server
	link    *link
	ctx     context.Context
	abandon context.CancelCauseFunc
	once    sync.Once
}

// Invoke is that of grpc.ClientConnInterface.
func (s *servers) Invoke(ctx context.Context, method string, request, reply any,
	options ...grpc.CallOption) error {
	call := s.begin(ctx)
	return call.end(call.link.conn.Invoke(call.ctx, method, request, reply, options...))
}

// NewStream is that of grpc.ClientConnInterface.
func (s *servers) NewStream(ctx context.Context, of *grpc.StreamDesc, method string,
	options ...grpc.CallOption) (grpc.ClientStream, error) {
	call := s.begin(ctx)
	stream, err := call.link.conn.NewStream(call.ctx, of, method, options...)
	if err != nil {
		return nil, call.end(err)
	}
	// Who leaves a stream ends its context.
	context.AfterFunc(ctx, func() { _ = call.end(status.FromContextError(ctx.Err()).Err()) })
	return &serverStream{stream, call}, nil
}

type serverStream struct {
	grpc.ClientStream
	call *serverCall
}

func (s *serverStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil {
		s.call.received()
		return nil
	}
	if err == io.EOF {
		_ = s.call.end(nil)
		return err
	}
	return s.call.end(err)
}

func (s *servers) begin(ctx context.Context) *serverCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.next()
	call := &serverCall{of: s, at: at, link: at.link}
	call.ctx, call.abandon = context.WithCancelCause(ctx)
	call.link.calls++
	due := time.Now().Add(silentFor)
	// Many calls in a row do not delay the check of those before them.
	if len(at.calls) == 0 || due.Before(at.due) {
		at.due = due
	}
	at.interval = silentFor
	at.calls[call] = struct{}{}
	s.planCheck(at)
	return call
}

func (s *servers) next() *server {
	inTurn := append(slices.Clone(s.all[s.turn:]), s.all[:s.turn]...)
	isUp := func(one *server) bool { return one.isUp }
	isGood := func(one *server) bool { return one.isUp && time.Now().After(one.passedOver) }
	next := inTurn[0]
	if at := slices.IndexFunc(inTurn, isGood); at >= 0 {
		next = inTurn[at]
	} else if at := slices.IndexFunc(inTurn, isUp); at >= 0 {
		next = inTurn[at]
	}
	s.turn = (slices.Index(s.all, next) + 1) % len(s.all)
	return next
}

// received: the server has sent a part of the answer.
func (c *serverCall) received() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.noteAnswer(c.at)
}

// end returns the error of the call as its caller gets it.
func (c *serverCall) end(err error) error {
	isAbandoned := err != nil && context.Cause(c.ctx) == errAbandoned
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.link.end()
		// One that was abandoned says nothing about the server as it is now.
		if _, isCounted := c.at.calls[c]; isCounted {
			delete(c.at.calls, c)
			c.of.noteEnd(c.at, err)
		}
		c.abandon(nil)
	})
	if isAbandoned {
		const text = "the server at %s does not answer; repeat the call at another one"
		return status.Errorf(codes.Unavailable, text, c.at.address)
	}
	return err
}

func (l *link) end() {
	l.calls--
	if l.replaced && l.calls == 0 {
		_ = l.conn.Close()
	}
}

func (s *servers) noteEnd(at *server, err error) {
	if err == nil {
		s.noteAnswer(at)
		return
	}
	failed := callErrorOf(err)
	// A Drover server, or a proxy before it, has made the error.
	isAnswer := failed.Reason != "" || failed.outcome() != unclear
	if isAnswer {
		s.noteAnswer(at)
	}
	if failed.outcome() != unclear || failed.Code == codes.Canceled {
		return
	}
	at.passedOver = time.Now().Add(passedOverFor)
	if failed.Code == codes.Unavailable && !isAnswer {
		s.takeDown(at)
	}
}

func (s *servers) noteAnswer(at *server) {
	wasUp := at.isUp
	at.answered, at.isUp = time.Now(), true
	at.due = at.answered.Add(at.interval)
	if !wasUp {
		s.planCheck(at)
	}
}

func (s *server) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (s *servers) planCheck(at *server) {
	if !at.isUp {
		return
	}
	at.stopTimer()
	if s.closed || at.checking || len(at.calls) == 0 {
		return
	}
	at.timer = time.AfterFunc(time.Until(at.due), func() { s.checkSilent(at) })
}

func (s *servers) checkSilent(at *server) {
	started := time.Now()
	s.mu.Lock()
	if started.Before(at.due) {
		// The server has answered since then.
		s.planCheck(at)
		s.mu.Unlock()
		return
	}
	if s.closed || at.checking || !at.isUp || len(at.calls) == 0 {
		s.mu.Unlock()
		return
	}
	at.checking = true
	conn := at.link.conn
	s.mu.Unlock()
	result := check(conn, checkFor)
	s.mu.Lock()
	defer s.mu.Unlock()
	at.checking = false
	switch {
	case result == checkAnswered || at.answered.After(started):
		at.interval = min(at.interval*2, silentForMax)
		s.noteAnswer(at)
	case at.isUp && result != checkUnclear && s.hasOther(at):
		s.takeDown(at)
		if result == checkSilent {
			at.abandonCalls()
		}
	default:
		at.due = time.Now().Add(at.interval)
	}
	s.planCheck(at)
}

func (s *servers) hasOther(than *server) bool {
	return slices.ContainsFunc(s.all, func(one *server) bool { return one != than && one.isUp })
}

func (s *server) abandonCalls() {
	for call := range s.calls {
		delete(s.calls, call)
		call.abandon(errAbandoned)
	}
}

func (s *servers) takeDown(at *server) {
	if !at.isUp {
		return
	}
	at.isUp = false
	at.stopTimer()
	s.checkAgain(at, &backoff{})
}

// checkAgain checks a server that is down after a wait. Each check makes a connection of its own, so
// that these waits are the only ones.
func (s *servers) checkAgain(at *server, backoff *backoff) {
	if s.closed || at.isUp {
		return
	}
	s.renew(at)
	at.timer = time.AfterFunc(backoff.next(nil), func() {
		s.mu.Lock()
		isOver, conn := s.closed || at.isUp, at.link.conn
		s.mu.Unlock()
		if isOver {
			return
		}
		result := check(conn, connectFor)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.closed || at.isUp:
		case result == checkAnswered:
			s.noteAnswer(at)
		default:
			if result == checkSilent && s.hasOther(at) {
				at.abandonCalls()
			}
			s.checkAgain(at, backoff)
		}
	})
}

func (s *servers) renew(at *server) {
	// It was made with the same settings before.
	conn, err := s.dial(at.address)
	if err != nil {
		return
	}
	old := at.link
	at.link = &link{conn: conn}
	old.replaced = true
	if old.calls == 0 {
		_ = old.conn.Close()
	}
}

type checkResult int

const (
	checkAnswered checkResult = iota
	// checkRefused: no connection, or it broke; calls under way end by themselves, or go on at a server
	// that drains.
	checkRefused
	checkSilent
	// checkUnclear: the answer may have come while this process was held up.
	checkUnclear
)

// check is a health check of gRPC: whatever comes back, a refusal too, shows that something answers.
func check(conn *grpc.ClientConn, within time.Duration) checkResult {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	started := time.Now()
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled:
		return checkRefused
	case codes.DeadlineExceeded:
		if time.Since(started) > within+heldUp {
			return checkUnclear
		}
		return checkSilent
	}
	return checkAnswered
}
