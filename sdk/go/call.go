package drover

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// backoff is how long to wait before something is tried again: doubling, with jitter, and never less
// than what the server asked for. The zero value starts at 100 ms and ends at 5 s.
type backoff struct {
	first, most time.Duration
	limit       time.Duration
}

// next is longer each time, up to the limit.
func (b *backoff) next(failed *CallError) time.Duration {
	if b.first == 0 {
		b.first, b.most = 100*time.Millisecond, 5*time.Second
	}
	if b.limit == 0 {
		b.limit = b.first
	}
	// At least half, so that many callers spread and none repeats too often.
	wait := time.Duration(float64(b.limit) * (0.5 + rand.Float64()/2))
	b.limit = min(b.limit*2, b.most)
	if failed != nil {
		wait = max(wait, failed.RetryAfter)
	}
	return wait
}

// reset is for after a success.
func (b *backoff) reset() { b.limit = 0 }

// sleep ends early with the context.
func sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// repeat makes a call, for which repeating must be safe, until its answer is a definite one, or
// failures in a row have lasted for longer than patience. The first failure is logged, so that a
// program which waits for a server that is down does not look idle. What ends with the context has
// the context's cause as its error.
func repeat[T any](ctx context.Context, patience, tryFor time.Duration, log *slog.Logger,
	call func(context.Context) (T, error)) (T, error) {
	var backoff backoff
	var failingSince time.Time
	isLogged := false
	for {
		within, cancel := context.WithTimeout(ctx, tryFor)
		answer, err := call(within)
		cancel()
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return answer, fmt.Errorf("drover: the call was given up: %w", context.Cause(ctx))
		}
		failed := callErrorOf(err)
		wait := backoff.next(failed)
		if failingSince.IsZero() {
			failingSince = time.Now()
		}
		if failed.outcome() == definite || time.Since(failingSince)+wait > patience {
			return answer, failed
		}
		if !isLogged {
			isLogged = true
			log.WarnContext(ctx, "call failed, will repeat it", "for", patience, "error", failed)
		}
		sleep(ctx, wait)
	}
}
