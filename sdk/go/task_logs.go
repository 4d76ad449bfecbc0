package drover

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// taskLogs sends the lines that handlers log to the server, which stores them with the attempt.
//
// It is best effort: a task never waits for its lines, and never fails because of them. The lines
// of all tasks are sent together, a second after the first of them or at 16 KiB, one call at a
// time, and once more before the agent stops. A call that fails is repeated with the same lines:
// the server stores a line once, by its number. What finds no room is counted, and a line says how
// many were not stored. Lines of a task without store_logs never leave the process.
type taskLogs struct {
	log  *slog.Logger
	send func([]*droverpb.TaskLog) (*droverpb.AppendLogsResponse, error)

	mu      sync.Mutex
	waiting []*taskLog // those with lines
	bytes   int        // of all lines that wait
	timer   *time.Timer
	sending chan struct{} // closed when nothing is sent any more; nil: nothing is
	tries   int
	stopped bool
}

// taskLog has the lines of one task that wait.
type taskLog struct {
	of    *taskLogs
	token string
	lines []*droverpb.LogText
	// first is the number of the first of these lines.
	first uint32
	// dropped is how many lines were not stored since the last line.
	dropped int
	// over: the handler has ended, or the server takes no more; no further line is stored.
	over bool
}

const (
	logsFlushAfter = time.Second
	logsFlushBytes = 16 * 1024
	// logsWaitingBytesMax is for all lines that wait in this process.
	logsWaitingBytesMax = 256 * 1024
	// logItemsMax of one call, and of the lines of one task in it: limits of the contract.
	logItemsMax = 1_000
	// logTriesMax calls with the same lines before these are given up.
	logTriesMax = 5
	// lineBytes is what a line takes beside its text.
	lineBytes = 64
)

// begin returns nil for a task whose lines stay in the process.
func (l *taskLogs) begin(task *droverpb.Task) *taskLog {
	if !task.GetStoreLogs() {
		return nil
	}
	return &taskLog{of: l, token: task.GetTaskToken(), first: 1}
}

// tee returns a logger whose lines go to this one and to the server.
func (t *taskLog) tee(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(lineHandler{
		ofProcess: log.Handler(), add: t.add, fields: map[string]string{},
	})
}

func (t *taskLog) add(line *droverpb.LogText) {
	l := t.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.over || l.stopped {
		return
	}
	if l.bytes+lineSize(line) > logsWaitingBytesMax {
		t.dropped++
		return
	}
	t.noteDropped()
	t.push(line)
	if l.bytes >= logsFlushBytes && l.tries == 0 {
		l.flush()
	} else {
		l.flushLater()
	}
}

// end: the handler has ended; what it logs from now on is not stored.
func (t *taskLog) end() {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.over {
		return
	}
	t.noteDropped()
	t.over = true
	if len(t.lines) > 0 {
		t.of.flushLater()
	}
}

func (t *taskLog) noteDropped() {
	if t.dropped == 0 {
		return
	}
	message := fmt.Sprintf("%d lines were not stored", t.dropped)
	if t.dropped == 1 {
		message = "1 line was not stored"
	}
	t.dropped = 0
	t.push(lineOf(slog.LevelWarn, message, nil))
}

func (t *taskLog) push(line *droverpb.LogText) {
	if len(t.lines) == 0 {
		t.of.waiting = append(t.of.waiting, t)
	}
	t.lines = append(t.lines, line)
	t.of.bytes += lineSize(line)
}

// take removes lines that were sent, or are not to be sent.
func (t *taskLog) take(count int) {
	for _, line := range t.lines[:count] {
		t.of.bytes -= lineSize(line)
	}
	t.first += uint32(count)
	t.lines = t.lines[count:]
}

// stop sends what is waiting, for at most this time; after that nothing is sent.
func (l *taskLogs) stop(wait time.Duration) {
	l.mu.Lock()
	sent := l.flush()
	l.mu.Unlock()
	within(wait, sent)
	l.mu.Lock()
	l.stopped = true
	if l.timer != nil {
		l.timer.Stop()
	}
	left := 0
	for _, task := range l.waiting {
		left += len(task.lines)
	}
	l.mu.Unlock()
	if left > 0 {
		l.log.Warn("agent stops with log lines that were not stored", "lines", left)
	}
}

func (l *taskLogs) flushLater() {
	if l.timer != nil || l.stopped {
		return
	}
	l.timer = time.AfterFunc(logsFlushAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer = nil
		l.flush()
	})
}

// flush, with the lock: one call at a time. What it returns is closed when the lines that wait now
// were sent, or a call has failed.
func (l *taskLogs) flush() <-chan struct{} {
	if l.sending == nil {
		l.sending = make(chan struct{})
		go l.sendAll()
	}
	return l.sending
}

// sentLines are lines of one task in a call.
type sentLines struct {
	of    *taskLog
	count int
}

func (l *taskLogs) sendAll() {
	for {
		sent, logs := l.next()
		if len(sent) == 0 {
			return
		}
		answer, err := l.send(logs)
		if err != nil {
			if !l.onFailedCall(sent, callErrorOf(err)) {
				return
			}
			continue
		}
		l.settle(sent, answer.GetAnswers())
	}
}

// next is empty when there is nothing to send: the sending is then over.
func (l *taskLogs) next() (sent []sentLines, logs []*droverpb.TaskLog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.waiting) == 0 {
		l.endSending()
		return nil, nil
	}
	for _, task := range l.waiting[:min(len(l.waiting), logItemsMax)] {
		count := min(len(task.lines), logItemsMax)
		sent = append(sent, sentLines{task, count})
		logs = append(logs, &droverpb.TaskLog{
			TaskToken: task.token, FirstLine: task.first, Lines: task.lines[:count:count],
		})
	}
	return sent, logs
}

func (l *taskLogs) endSending() {
	close(l.sending)
	l.sending = nil
}

// onFailedCall: false ends the sending, until the same lines are sent again.
func (l *taskLogs) onFailedCall(sent []sentLines, failed *CallError) bool {
	l.mu.Lock()
	l.tries++
	if l.tries < logTriesMax {
		l.flushLater()
		l.endSending()
		l.mu.Unlock()
		return false
	}
	l.tries = 0
	lines := 0
	for _, one := range sent {
		one.of.take(one.count)
		one.of.dropped += one.count
		lines += one.count
	}
	l.forgetSent()
	l.mu.Unlock()
	l.log.Warn("log lines were not stored",
		"lines", lines, "tasks", len(sent), "error", failed)
	return true
}

func (l *taskLogs) settle(sent []sentLines, answers []*droverpb.AppendLogsAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries = 0
	for at, one := range sent {
		one.of.take(one.count)
		isTaken := at < len(answers) && !answers[at].GetFull() && answers[at].GetStatus().GetCode() == 0
		if !isTaken {
			// The lines of a task that is refused, or whose log is full, stay with the process.
			one.of.over = true
			one.of.take(len(one.of.lines))
		}
	}
	l.forgetSent()
}

func (l *taskLogs) forgetSent() {
	l.waiting = slices.DeleteFunc(l.waiting, func(task *taskLog) bool { return len(task.lines) == 0 })
}

func lineSize(line *droverpb.LogText) int {
	size := lineBytes + len(line.GetMessage())
	for key, value := range line.GetFields() {
		size += len(key) + len(value)
	}
	return size
}
