package dev.drover;

import dev.drover.v1.CompleteResponse;
import dev.drover.v1.Next;
import dev.drover.v1.PollTaskResponse;
import dev.drover.v1.QueueWeight;
import dev.drover.v1.Task;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Gets tasks, by two polls in turn: a long poll of its own, and the poll that a call of reports
 * carries. An idle agent has the long poll alone.
 *
 * <pre>parked -> answered | lost -> parked again, after a wait if the poll failed</pre>
 *
 * <p>A slot is promised to one poll at a time, so the server never grants more tasks than there are
 * slots. The slots that reports make free are for the poll that is sent with them, so that a busy
 * agent needs one call for each step; the others, and one of several in any case, are for the long
 * poll. So while the answer to one poll is on its way, the other one waits.
 */
final class Polling {
  /** Of one answer: as many as a call of reports can bring; 1,000 is the contract's limit. */
  private static final int TASKS_MAX = 250;

  /** A server that is about to stop answers a poll at once and without tasks. */
  private static final Duration HASTY = Duration.ofMillis(500);

  /** What polling asks of its agent. */
  interface Host {
    /** Slots without a task. */
    int freeSlots();

    /**
     * Calls with the number of reports that the next calls send, each call with a poll; the number
     * does not change until that returns.
     */
    void decide(IntConsumer with);

    Rpc<PollTaskResponse> poll(long seq, int most, Duration wait);

    /** Gives tasks their slots, and returns what starts them. `sent` is of the clock. */
    Runnable accept(List<Task> tasks, long sent, Duration waited);
  }

  private final Logger log;
  private final Polls polls;
  private final Host host;
  private final Duration wait;
  private final List<QueueWeight> queues;
  private final List<String> tasks;
  private final Backoff backoff = new Backoff();
  private final Semaphore wakeups = new Semaphore(0);
  private final ReentrantLock lock = new ReentrantLock();
  private int promised;

  /** The long poll is under way, or waits after one that failed. */
  private boolean parked;

  private boolean stopped;
  private Rpc<PollTaskResponse> call;

  Polling(
      Logger log, Polls polls, Host host, Duration wait, List<QueueWeight> queues,
      List<String> tasks) {
    this.log = log;
    this.polls = polls;
    this.host = host;
    this.wait = wait;
    this.queues = queues;
    this.tasks = tasks;
  }

  /** There may be something to poll for. */
  void wake() {
    if (wakeups.availablePermits() == 0) {
      wakeups.release();
    }
  }

  /** Polls until it is stopped; it returns when the parked poll has ended. */
  void run() {
    while (!isStopped()) {
      int most = promise();
      if (most == 0) {
        wakeups.acquireUninterruptibly();
        wakeups.drainPermits();
        continue;
      }
      sleep(park(most));
    }
  }

  private void sleep(Duration pause) {
    long until = System.nanoTime() + pause.toNanos();
    while (!isStopped()) {
      long left = until - System.nanoTime();
      if (left <= 0) {
        return;
      }
      try {
        wakeups.tryAcquire(left, TimeUnit.NANOSECONDS);
      } catch (InterruptedException error) {
        // The thread is the agent's, and ends when it is stopped.
        continue;
      }
    }
  }

  private boolean isStopped() {
    lock.lock();
    try {
      return stopped;
    } finally {
      lock.unlock();
    }
  }

  /**
   * For the long poll. Question and promise are one step: a report that is queued between the two
   * would free its slot for this poll, and leave none for the poll that its call carries.
   */
  private int promise() {
    int[] most = {0};
    host.decide(reports -> {
      lock.lock();
      try {
        if (!stopped) {
          most[0] = promiseUpTo(besideReports(host.freeSlots() - promised, reports));
          parked = most[0] > 0;
        }
      } finally {
        lock.unlock();
      }
    });
    return most[0];
  }

  /** For the poll that a call of this many reports carries. */
  private int promiseCarried(int reports) {
    lock.lock();
    try {
      if (stopped) {
        return 0;
      }
      int free = host.freeSlots() - promised;
      if (!parked) {
        // The long poll is about to wait again.
        free -= besideReports(free, reports);
      }
      return promiseUpTo(free);
    } finally {
      lock.unlock();
    }
  }

  private int promiseUpTo(int free) {
    int most = Math.min(Math.max(free, 0), TASKS_MAX);
    promised += most;
    return most;
  }

  /**
   * Those of the free slots that the long poll gets while this many reports wait to be sent.
   */
  static int besideReports(int free, int reports) {
    return Math.max(free - reports, free > 1 ? 1 : 0);
  }

  /**
   * Turns promised slots into those of tasks, in one step: else a task that ends at once would find
   * its slot still promised, or a poll would find it free.
   */
  private void receive(
      Polls.Poll poll, int granted, boolean isLong, List<Task> received, Duration waited) {
    Runnable start;
    lock.lock();
    try {
      if (isLong) {
        parked = false;
      }
      start = host.accept(received, poll.sent, waited);
      promised -= granted;
    } finally {
      lock.unlock();
    }
    start.run();
    poll.over();
  }

  private void failed(Polls.Poll poll, int granted, boolean isRefused) {
    lock.lock();
    try {
      promised -= granted;
    } finally {
      lock.unlock();
    }
    if (isRefused) {
      poll.over();
    } else {
      poll.isLost();
    }
  }

  /** Returns how long to wait before the next poll. */
  private Duration park(int most) {
    // Spread, so that agents which started together do not poll together for ever.
    double share = 0.8 + 0.2 * ThreadLocalRandom.current().nextDouble();
    Duration spread = Duration.ofMillis(Math.max(1, Math.round(wait.toMillis() * share)));
    Polls.Poll poll = polls.start(spread);
    PollTaskResponse answer;
    try {
      answer = begin(poll, most, spread).answer();
    } catch (CallException error) {
      boolean isRefused = error.wasNotAdmitted() || error.is(Reason.OVERLOADED);
      failed(poll, most, isRefused);
      if (isStopped()) {
        return Duration.ZERO;
      }
      boolean isDefinite = error.outcome() == CallException.Outcome.DEFINITE;
      log.atLevel(isDefinite ? Level.ERROR : Level.WARN)
          .log("poll failed, will poll again: {}", error.getMessage());
      return backoff.next(error);
    }
    Duration waited = Times.fromProto(answer.getWaited());
    receive(poll, most, true, answer.getTasksList(), waited);
    Duration hasty = HASTY.compareTo(spread) < 0 ? HASTY : spread;
    if (answer.getTasksCount() == 0 && poll.age().compareTo(hasty) < 0) {
      return backoff.next(null);
    }
    backoff.reset();
    return Duration.ZERO;
  }

  /** One that starts while the agent stops is given up. */
  private Rpc<PollTaskResponse> begin(Polls.Poll poll, int most, Duration spread) {
    Rpc<PollTaskResponse> started = host.poll(poll.seq, most, spread);
    lock.lock();
    try {
      call = started;
      if (stopped) {
        started.giveUp();
      }
    } finally {
      lock.unlock();
    }
    return started;
  }

  /** A poll that a Complete carries. */
  final class Carried {
    final Next next;
    private final Polls.Poll poll;

    private Carried(Polls.Poll poll, int most) {
      this.poll = poll;
      next = Next.newBuilder().setPollSeq(poll.seq)
          .addAllQueues(queues).addAllTasks(tasks).setMaxTasks(most).build();
    }

    void answered(CompleteResponse answer) {
      Duration waited = Times.fromProto(answer.getWaited());
      receive(poll, next.getMaxTasks(), false, answer.getTasksList(), waited);
      wake();
    }

    void failed(CallException error) {
      // OVERLOADED may come from where the reports wait: the poll may have been served by then.
      Polling.this.failed(poll, next.getMaxTasks(), error.wasNotAdmitted());
      wake();
    }
  }

  /** Makes the poll for a call of this many reports; null if no slot is free for it. */
  Carried carry(int reports) {
    int most = promiseCarried(reports);
    wake();
    return most == 0 ? null : new Carried(polls.start(Duration.ZERO), most);
  }

  /** No call carries a poll from now on, and the parked one is given up. */
  void stop() {
    lock.lock();
    try {
      stopped = true;
      if (call != null) {
        call.giveUp();
      }
    } finally {
      lock.unlock();
    }
    wake();
  }
}
