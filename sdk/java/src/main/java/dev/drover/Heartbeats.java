package dev.drover;

import dev.drover.v1.HeartbeatAnswer;
import dev.drover.v1.HeartbeatReport;
import dev.drover.v1.HeartbeatResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;

/**
 * Sends one call for all tasks that the agent holds, at the shortest interval that one of them has.
 *
 * <p>A heartbeat renews leases and receives cancels. It carries progress and details only when a
 * handler has reported new ones, so an automatic heartbeat never moves progress. A heartbeat is due
 * whether or not the one before was answered: a server that hangs costs one heartbeat and not the
 * leases.
 */
final class Heartbeats {
  /** Progress and details are sent at most this much later, and at most this often. */
  private static final long NOTE_SPACING = Duration.ofSeconds(1).toNanos();

  private static final int REPORTS_MAX = 1_000;

  /** The message limit is 4 MiB; what does not fit goes with the next heartbeat. */
  private static final int DETAILS_BYTES_MAX = 2 * 1024 * 1024;

  private static final int IN_FLIGHT_MAX = 4;

  /** What heartbeats ask of their agent. */
  interface Host {
    /** Throws CallException. */
    HeartbeatResponse heartbeat(List<HeartbeatReport> reports, long listsAllTo);

    /** Tasks of polls up to this number are added by now. */
    long endedTo();
  }

  /** When a task was granted, or was last named in a heartbeat. */
  private static final class State {
    long last;

    /**
     * Its notes are in a heartbeat under way, at whose end it opens; newer ones must not overtake
     * them. Null: there is none.
     */
    CountDownLatch noting;

    State(long last) {
      this.last = last;
    }
  }

  /** A task in a heartbeat, with the notes of its handler that the heartbeat carries. */
  private record Carried(HeldTask task, State state, Notes notes) {}

  private final Logger log;
  private final Host host;
  private final Executor calls;
  private final Semaphore wakeups = new Semaphore(0);
  private final Backoff backoff = new Backoff(Duration.ofMillis(200), Duration.ofSeconds(2));
  private final Map<HeldTask, State> tasks = new LinkedHashMap<>();
  private int inFlight;
  private long lastSent = System.nanoTime() - NOTE_SPACING;
  private boolean stopped;

  /** Null: nothing failed. */
  private Long retryAt;

  /** When all tasks are checked next; null: when there is one. */
  private Long checkAt;

  Heartbeats(Logger log, Host host, Executor calls) {
    this.log = log;
    this.host = host;
    this.calls = calls;
  }

  void add(HeldTask task) {
    long now = System.nanoTime();
    boolean isSooner;
    synchronized (this) {
      tasks.put(task, new State(now));
      // All tasks are checked when one may be due, and not for each that is added or removed: there
      // may be thousands.
      long due = now + Times.nanos(task.heartbeatInterval);
      isSooner = checkAt == null || due - checkAt < 0;
    }
    if (isSooner) {
      wake();
    }
  }

  synchronized void remove(HeldTask task) {
    tasks.remove(task);
  }

  /** Something may be due sooner. */
  void wake() {
    if (wakeups.availablePermits() == 0) {
      wakeups.release();
    }
  }

  void stop() {
    synchronized (this) {
      stopped = true;
    }
    wake();
  }

  private synchronized boolean isStopped() {
    return stopped;
  }

  /** Sends heartbeats until it is stopped. */
  void run() {
    while (!isStopped()) {
      OptionalLong due = due();
      long left = due.isPresent() ? due.getAsLong() - System.nanoTime() : Long.MAX_VALUE;
      // What was due before may have gone meanwhile.
      if (left <= 0) {
        sendAll();
        continue;
      }
      try {
        if (wakeups.tryAcquire(left, TimeUnit.NANOSECONDS)) {
          wakeups.drainPermits();
        }
      } catch (InterruptedException error) {
        // The thread is the agent's, and ends when it is stopped.
        continue;
      }
    }
  }

  private synchronized OptionalLong due() {
    Long at = null;
    if (inFlight < IN_FLIGHT_MAX) {
      at = retryAt;
      for (Map.Entry<HeldTask, State> entry : tasks.entrySet()) {
        HeldTask task = entry.getKey();
        if (!task.isListed()) {
          continue;
        }
        State state = entry.getValue();
        at = sooner(at, state.last + Times.nanos(task.heartbeatInterval));
        if (state.noting == null && !task.notes().isEmpty()) {
          at = sooner(at, lastSent + NOTE_SPACING);
        }
      }
    }
    checkAt = at;
    return at == null ? OptionalLong.empty() : OptionalLong.of(at);
  }

  private static Long sooner(Long at, long due) {
    return at == null || due - at < 0 ? Long.valueOf(due) : at;
  }

  private void sendAll() {
    long sent = System.nanoTime();
    // Asked for before the tasks are listed: those of polls up to it are among them.
    long listsAllTo = host.endedTo();
    List<HeldTask> listed = new ArrayList<>();
    synchronized (this) {
      retryAt = null;
      lastSent = sent;
      for (HeldTask task : tasks.keySet()) {
        if (task.isListed()) {
          listed.add(task);
        }
      }
    }
    long all = listed.size() > REPORTS_MAX ? 0 : listsAllTo;
    for (int from = 0; from < listed.size(); from += REPORTS_MAX) {
      int to = Math.min(from + REPORTS_MAX, listed.size());
      List<Carried> batch = prepare(listed.subList(from, to), sent);
      calls.execute(() -> sendBatch(batch, sent, all));
    }
  }

  private synchronized List<Carried> prepare(List<HeldTask> chunk, long sent) {
    inFlight++;
    int bytesLeft = DETAILS_BYTES_MAX;
    List<Carried> batch = new ArrayList<>(chunk.size());
    for (HeldTask task : chunk) {
      State state = tasks.get(task);
      if (state == null) {
        continue; // answered meanwhile
      }
      state.last = sent;
      Notes notes = state.noting == null ? task.notes() : Notes.NONE;
      int size = PayloadFormat.size(notes.details());
      // The first details are always sent, however large: they would never fit otherwise.
      if (size > bytesLeft && bytesLeft < DETAILS_BYTES_MAX) {
        notes = Notes.NONE;
        size = 0;
      }
      bytesLeft -= size;
      if (!notes.isEmpty()) {
        state.noting = new CountDownLatch(1);
      }
      batch.add(new Carried(task, state, notes));
    }
    return batch;
  }

  /** These tasks are all that polls up to listsAllTo have brought; 0: they are only some. */
  private void sendBatch(List<Carried> batch, long sent, long listsAllTo) {
    CallException retry = null;
    boolean isAnswered = false;
    try {
      HeartbeatResponse answer = host.heartbeat(reportsOf(batch), listsAllTo);
      isAnswered = true;
      int answers = Math.min(batch.size(), answer.getAnswersCount());
      for (int at = 0; at < answers; at++) {
        CallException refusal = takeAnswer(batch.get(at), answer.getAnswers(at), sent);
        retry = refusal == null ? retry : refusal;
      }
    } catch (CallException error) {
      retry = error;
      if (!isStopped()) {
        log.warn("heartbeat failed: {}", error.getMessage());
      }
    } finally {
      settle(batch, isAnswered, retry);
    }
    wake();
  }

  private static List<HeartbeatReport> reportsOf(List<Carried> batch) {
    List<HeartbeatReport> reports = new ArrayList<>(batch.size());
    for (Carried item : batch) {
      HeartbeatReport.Builder report =
          HeartbeatReport.newBuilder().setTaskToken(item.task.message.getTaskToken());
      if (item.notes.progress() != null) {
        report.setProgress(item.notes.progress());
      }
      if (item.notes.details() != null) {
        report.setDetails(item.notes.details());
      }
      reports.add(report.build());
    }
    return reports;
  }

  private synchronized void settle(
      List<Carried> batch, boolean isAnswered, CallException retry) {
    inFlight--;
    if (isAnswered) {
      backoff.reset();
    }
    if (retry != null) {
      retryAt = System.nanoTime() + backoff.next(retry).toNanos();
    }
    for (Carried item : batch) {
      if (!item.notes.isEmpty()) {
        item.state.noting.countDown();
        item.state.noting = null;
      }
    }
  }

  /** Returns the refusal of a report that is to be repeated without what was refused; or null. */
  private CallException takeAnswer(Carried item, HeartbeatAnswer answer, long sent) {
    HeldTask task = item.task;
    switch (answer.getAnswerCase()) {
      case CARRY_ON -> {
        task.carryOn(sent, Times.fromProto(answer.getCarryOn().getLeaseFor()));
        task.noted(item.notes);
      }
      case CANCEL -> {
        log.info("the server cancelled the task, {}", task.name());
        task.toCancel(sent, Times.fromProto(answer.getCancel().getWithin()));
        task.noted(item.notes);
      }
      case LEASE_LOST -> {
        log.warn("lease lost, {}", task.name());
        task.lose();
      }
      case ERROR -> {
        CallException refusal = CallException.of(answer.getError());
        log.error("heartbeat refused, {}: {}", task.name(), refusal.getMessage());
        // The lease was not renewed.
        task.noted(item.notes);
        return item.notes.isEmpty() ? null : refusal;
      }
      default -> {
        // An answer of a newer server: carry on, and the lease is as it was.
      }
    }
    return null;
  }

  /** Sends the last details of a handler, unless they were sent; for at most this time. */
  void sendDetails(HeldTask task, Duration limit) {
    long until = System.nanoTime() + limit.toNanos();
    for (CountDownLatch noting = notingOf(task); noting != null; noting = notingOf(task)) {
      try {
        if (!noting.await(until - System.nanoTime(), TimeUnit.NANOSECONDS)) {
          return;
        }
      } catch (InterruptedException error) {
        // The handler has ended, and its report waits for no interrupt.
        continue;
      }
    }
    if (task.isListed() && task.notes().details() != null) {
      long sent = System.nanoTime();
      CountDownLatch done = new CountDownLatch(1);
      List<Carried> batch = prepare(List.of(task), sent);
      calls.execute(() -> {
        sendBatch(batch, sent, 0);
        done.countDown();
      });
      try {
        done.await(until - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized CountDownLatch notingOf(HeldTask task) {
    State state = tasks.get(task);
    return state == null ? null : state.noting;
  }
}
