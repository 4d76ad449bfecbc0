package dev.drover;

import dev.drover.v1.AppendLogsAnswer;
import dev.drover.v1.AppendLogsResponse;
import dev.drover.v1.LogText;
import dev.drover.v1.Task;
import dev.drover.v1.TaskLog;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Sends the lines that handlers log to the server, which stores them with the attempt.
 *
 * <p>It is best effort: a task never waits for its lines, and never fails because of them. The
 * lines of all tasks are sent together, a second after the first of them or at 16 KiB, one call at
 * a time, and once more before the agent stops. A call that fails is repeated with the same lines:
 * the server stores a line once, by its number. What finds no room is counted, and a line says how
 * many were not stored. Lines of a task without store_logs never leave the process.
 */
final class TaskLogs {
  private static final Duration FLUSH_AFTER = Duration.ofSeconds(1);
  private static final int FLUSH_BYTES = 16 * 1024;

  /** For all lines that wait in this process. */
  private static final int WAITING_BYTES_MAX = 256 * 1024;

  /** Of one call, and of the lines of one task in it: limits of the contract. */
  private static final int ITEMS_MAX = 1_000;

  /** Calls with the same lines before these are given up. */
  private static final int TRIES_MAX = 5;

  /** What a line takes beside its text. */
  private static final int LINE_BYTES = 64;

  /** Throws CallException. */
  interface Host {
    AppendLogsResponse appendLogs(List<TaskLog> logs);
  }

  private final Logger log;
  private final Host host;
  private final Executor calls;
  private final ScheduledExecutorService timers;
  private final List<Log> waiting = new ArrayList<>();
  private int bytes;
  private Future<?> timer;

  /** Completes when nothing is sent any more; null: nothing is. */
  private CompletableFuture<Void> sending;

  private int tries;
  private boolean stopped;

  TaskLogs(Logger log, Host host, Executor calls, ScheduledExecutorService timers) {
    this.log = log;
    this.host = host;
    this.calls = calls;
    this.timers = timers;
  }

  /** The lines of one task that wait. Its fields are guarded by the lock of the logs. */
  final class Log {
    private final String token;
    private final List<LogText> lines = new ArrayList<>();

    /** The number of the first of these lines. */
    private int first = 1;

    /** How many lines were not stored since the last line. */
    private int dropped;

    /** The handler has ended, or the server takes no more; no further line is stored. */
    private boolean over;

    private Log(String token) {
      this.token = token;
    }

    void add(LogText line) {
      synchronized (TaskLogs.this) {
        if (over || stopped) {
          return;
        }
        if (bytes + sizeOf(line) > WAITING_BYTES_MAX) {
          dropped++;
          return;
        }
        noteDropped();
        push(line);
        if (bytes >= FLUSH_BYTES && tries == 0) {
          flush();
        } else {
          flushLater();
        }
      }
    }

    /** The handler has ended; what it logs from now on is not stored. */
    void end() {
      synchronized (TaskLogs.this) {
        if (over) {
          return;
        }
        noteDropped();
        over = true;
        if (!lines.isEmpty()) {
          flushLater();
        }
      }
    }

    private void noteDropped() {
      if (dropped == 0) {
        return;
      }
      String text =
          dropped == 1 ? "1 line was not stored" : dropped + " lines were not stored";
      dropped = 0;
      push(TaskLogger.lineOf(Level.WARN, text, Map.of()));
    }

    private void push(LogText line) {
      if (lines.isEmpty()) {
        waiting.add(this);
      }
      lines.add(line);
      bytes += sizeOf(line);
    }

    /** Removes lines that were sent, or are not to be sent. */
    private void take(int count) {
      List<LogText> taken = lines.subList(0, count);
      taken.forEach(line -> bytes -= sizeOf(line));
      first += count;
      taken.clear();
    }
  }

  /** Null for a task whose lines stay in the process. */
  Log begin(Task task) {
    return task.getStoreLogs() ? new Log(task.getTaskToken()) : null;
  }

  /** Sends what is waiting, for at most this time; after that nothing is sent. */
  void stop(Duration limit) {
    CompletableFuture<Void> sent;
    synchronized (this) {
      sent = flush();
    }
    try {
      sent.get(limit.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException error) {
      log.debug("lines of handlers are still being sent as the agent stops");
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
    int left;
    synchronized (this) {
      stopped = true;
      if (timer != null) {
        timer.cancel(false);
      }
      left = waiting.stream().mapToInt(task -> task.lines.size()).sum();
    }
    if (left > 0) {
      log.warn("agent stops with {} log lines that were not stored", left);
    }
  }

  private void flushLater() {
    if (timer == null && !stopped) {
      timer = timers.schedule(this::onTimer, FLUSH_AFTER.toNanos(), TimeUnit.NANOSECONDS);
    }
  }

  private synchronized void onTimer() {
    timer = null;
    flush();
  }

  /**
   * With the lock: one call at a time. What it returns completes when the lines that wait now were
   * sent, or a call has failed.
   */
  private CompletableFuture<Void> flush() {
    if (sending == null) {
      sending = new CompletableFuture<>();
      calls.execute(this::sendAll);
    }
    return sending;
  }

  /** Lines of one task in a call. */
  private record Sent(Log task, int count) {}

  private void sendAll() {
    while (true) {
      List<Sent> sent = new ArrayList<>();
      List<TaskLog> logs = next(sent);
      if (sent.isEmpty()) {
        return;
      }
      try {
        settle(sent, host.appendLogs(logs).getAnswersList());
      } catch (CallException error) {
        if (!onFailedCall(sent, error)) {
          return;
        }
      }
    }
  }

  /** Empty when there is nothing to send: the sending is then over. */
  private synchronized List<TaskLog> next(List<Sent> sent) {
    if (stopped || waiting.isEmpty()) {
      endSending();
      return List.of();
    }
    List<TaskLog> logs = new ArrayList<>();
    for (Log task : waiting.subList(0, Math.min(waiting.size(), ITEMS_MAX))) {
      int count = Math.min(task.lines.size(), ITEMS_MAX);
      sent.add(new Sent(task, count));
      logs.add(TaskLog.newBuilder()
          .setTaskToken(task.token).setFirstLine(task.first)
          .addAllLines(task.lines.subList(0, count)).build());
    }
    return logs;
  }

  private void endSending() {
    sending.complete(null);
    sending = null;
  }

  /** False ends the sending, until the same lines are sent again. */
  private boolean onFailedCall(List<Sent> sent, CallException error) {
    int lines = 0;
    synchronized (this) {
      tries++;
      if (tries < TRIES_MAX) {
        flushLater();
        endSending();
        return false;
      }
      tries = 0;
      for (Sent one : sent) {
        one.task.take(one.count);
        one.task.dropped += one.count;
        lines += one.count;
      }
      forgetSent();
    }
    log.warn("{} log lines of {} tasks were not stored: {}",
        lines, sent.size(), error.getMessage());
    return true;
  }

  private synchronized void settle(List<Sent> sent, List<AppendLogsAnswer> answers) {
    tries = 0;
    for (int at = 0; at < sent.size(); at++) {
      Log task = sent.get(at).task;
      task.take(sent.get(at).count);
      boolean isTaken = at < answers.size()
          && !answers.get(at).getFull()
          && answers.get(at).getStatus().getCode() == Status.Code.OK.value();
      if (!isTaken) {
        // The lines of a task that is refused, or whose log is full, stay with the process.
        task.over = true;
        task.take(task.lines.size());
      }
    }
    forgetSent();
  }

  private void forgetSent() {
    waiting.removeIf(task -> task.lines.isEmpty());
  }

  private static int sizeOf(LogText line) {
    int size = LINE_BYTES + line.getMessageBytes().size();
    for (Map.Entry<String, String> field : line.getFieldsMap().entrySet()) {
      size += field.getKey().length() + field.getValue().length();
    }
    return size;
  }
}
