package dev.drover;

import dev.drover.v1.Task;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * One task that the agent holds, from the answer that brought it to the answer to its report.
 *
 * <pre>running -> ended (its report is on the way) -> closed</pre>
 *
 * <p>It is listed in heartbeats until it is closed, or until the server reports that the lease is
 * lost.
 *
 * <p>A lease counts from when the call that granted or renewed it was sent: the server cannot have
 * started to count before, so the agent never counts on a lease that the server has already ended.
 * The attempt counts from the same time, and nothing extends it. The times are of the monotonic
 * clock, which does not advance while some machines sleep; a lease that ended meanwhile is then
 * noticed late, and the idempotency key and the fence are there for that.
 */
final class HeldTask implements Notebook {
  /** What the agent does for the tasks that it holds. */
  interface Owner {
    /** A note waits for the next heartbeat. */
    void noted();

    /** The handler has not ended within the stop grace. */
    void stuck(HeldTask task);
  }

  /** What the tasks of an agent have in common. `clock` gives nanoseconds. */
  record Shared(
      LongSupplier clock, ScheduledExecutorService timers, Duration stopGrace, Owner owner) {}

  final Task message;
  final StopSignal stop;
  final Duration heartbeatInterval;

  /** The lines of its handler for the server; null: they stay in the process. */
  final TaskLogs.Log lines;

  private final Shared shared;
  private final long attemptEnd;
  private long leaseEnd;
  private boolean shortened;
  private boolean lost;
  private boolean ended;
  private boolean closed;
  private Notes waiting = Notes.NONE;
  private Future<?> leaseTimer;
  private Future<?> stopTimer;

  /** Starts the lease at `granted`. */
  HeldTask(Task message, long granted, StopSignal stop, TaskLogs.Log lines, Shared shared) {
    this.message = message;
    this.stop = stop;
    this.lines = lines;
    this.shared = shared;
    Duration asked = Times.fromProto(message.getHeartbeatInterval());
    Duration least = Duration.ofMillis(1);
    heartbeatInterval = asked.compareTo(least) < 0 ? least : asked;
    leaseEnd = granted + Times.nanos(Times.fromProto(message.getLeaseFor()));
    attemptEnd = granted + Times.nanos(Times.fromProto(message.getAttemptFor()));
  }

  /** Starts the timer of the lease. */
  synchronized void begin() {
    leaseTimer = after(untilEnd(), this::onEnd);
  }

  private Future<?> after(long nanos, Runnable work) {
    return shared.timers.schedule(work, Math.max(nanos, 0), TimeUnit.NANOSECONDS);
  }

  private long untilEnd() {
    long now = shared.clock.getAsLong();
    return Math.min(leaseEnd - now, attemptEnd - now);
  }

  /** A renewal only moves the end, and the timer finds that out when it fires. */
  synchronized void onEnd() {
    if (ended) {
      return;
    }
    long left = untilEnd();
    if (left > 0) {
      leaseTimer = after(left, this::onEnd);
    } else {
      stop(attemptEnd - leaseEnd < 0 ? StopReason.ATTEMPT_OVER : StopReason.LEASE_ENDED);
    }
  }

  /** Of lease and attempt, whichever is less; nothing once the server has taken the task back. */
  @Override
  public synchronized Duration left() {
    return lost ? Duration.ZERO : Duration.ofNanos(Math.max(0, untilEnd()));
  }

  /** Whether heartbeats name it. */
  synchronized boolean isListed() {
    return !lost && !closed;
  }

  @Override
  public void note(Notes added) {
    synchronized (this) {
      waiting = new Notes(
          added.progress() == null ? waiting.progress() : added.progress(),
          added.details() == null ? waiting.details() : added.details());
    }
    shared.owner.noted();
  }

  synchronized Notes notes() {
    return waiting;
  }

  /** These were answered, stored or refused for good. What was noted since stays. */
  @SuppressWarnings("ReferenceEquality") // Another value, even an equal one, was noted since.
  synchronized void noted(Notes answered) {
    waiting = new Notes(
        waiting.progress() == answered.progress() ? null : waiting.progress(),
        waiting.details() == answered.details() ? null : waiting.details());
  }

  /** A heartbeat that was sent then renewed the lease. */
  synchronized void carryOn(long sent, Duration leaseFor) {
    long end = sent + Times.nanos(leaseFor);
    if (!shortened && end - leaseEnd > 0) {
      leaseEnd = end;
    }
  }

  /** From now on nothing makes the lease longer. */
  synchronized void toCancel(long sent, Duration within) {
    shortened = true;
    long end = sent + Times.nanos(within);
    if (end - leaseEnd < 0) {
      leaseEnd = end;
    }
    stop(StopReason.CANCELLED);
  }

  synchronized void lose() {
    lost = true;
    stop(StopReason.LEASE_LOST);
  }

  /** The first reason stays. */
  synchronized void stop(StopReason reason) {
    if (!ended && stop.stop(reason)) {
      stopTimer = after(shared.stopGrace.toNanos(), () -> shared.owner.stuck(this));
    }
  }

  /**
   * The handler has ended, or is reported lost; the lease no longer matters to it. False: it had
   * ended before.
   */
  synchronized boolean end() {
    if (ended) {
      return false;
    }
    ended = true;
    if (leaseTimer != null) {
      leaseTimer.cancel(false);
    }
    if (stopTimer != null) {
      stopTimer.cancel(false);
    }
    return true;
  }

  synchronized boolean hasEnded() {
    return ended;
  }

  /** Its report was answered. */
  synchronized void close() {
    end();
    closed = true;
  }

  /** For lines of the log. */
  String name() {
    return "run=" + message.getRunId() + " step=" + message.getStepId()
        + " attempt=" + message.getAttempt();
  }
}
