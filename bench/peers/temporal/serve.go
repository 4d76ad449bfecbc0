// Speaks with its parent as ../serve.ts does.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const tell = 20 * time.Millisecond

// How often each step of each run was done.
type tally struct {
	mu    sync.Mutex
	times map[[2]int]int
	done  atomic.Int64
}

func (t *tally) count(run, step int) {
	t.mu.Lock()
	t.times[[2]int{run, step}]++
	t.mu.Unlock()
	t.done.Add(1)
}

// "", or the first of so many runs that is wrong.
func (t *tally) fault(runs int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for run := range runs {
		for step := range steps {
			if n := t.times[[2]int{run, step}]; n != 1 {
				return fmt.Sprintf("step %d of run %d was done %d times", step, run, n)
			}
		}
	}
	if len(t.times) != runs*steps {
		return fmt.Sprintf("%d steps were done of %d", len(t.times), runs*steps)
	}
	return ""
}

// Begins runs, so many calls at a time, up to what its parent allows.
type loading struct {
	allowed, begun atomic.Int64
	stopped        atomic.Bool
	calls          sync.WaitGroup
}

func (l *loading) start(calls int, begin func(run int) error) {
	for range calls {
		l.calls.Go(func() {
			for !l.stopped.Load() {
				run := l.begun.Load()
				if run >= l.allowed.Load() || !l.begun.CompareAndSwap(run, run+1) {
					time.Sleep(time.Millisecond)
				} else if err := begin(int(run)); err != nil {
					panic(err)
				}
			}
		})
	}
}

func serve(counts *tally, load *loading, judged func(runs int) string) {
	fmt.Println("ready")
	go func() {
		for range time.Tick(tell) {
			fmt.Println("done", counts.done.Load())
		}
	}()
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		var order string
		var count int
		fmt.Sscan(orders.Text(), &order, &count)
		switch order {
		case "allow":
			load.allowed.Store(int64(count))
		case "stop":
			load.stopped.Store(true)
			load.calls.Wait()
			fmt.Println("begun", load.begun.Load())
		case "check":
			fmt.Println(judged(count))
		}
	}
}
