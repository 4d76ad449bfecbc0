package dev.drover;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/**
 * Sends items in calls that they share.
 *
 * <pre>
 * queued -> under way -> done
 *    ^----------'  (it has to be sent again)
 * </pre>
 *
 * <p>While no call is under way, an item is sent at once, with those that other threads add
 * meanwhile. What is added while one is under way is sent together as soon as it is answered: so
 * calls grow with the time that they take, and no timer delays an item. A full call waits for no
 * other, and neither does the next one when a call is slow; four are under way at most.
 */
final class Gatherer<T> {
  /** The next call waits no longer than this for one under way. */
  private static final long SLOW_AFTER = Duration.ofMillis(250).toNanos();

  private static final int IN_FLIGHT_MAX = 4;

  /** Of the 4 MiB of a message. */
  private static final int BYTES_MAX = 3 * 1024 * 1024;

  /** What a gatherer of items of one sort does with them. */
  interface Sort<T> {
    /** The most items of one call. */
    int itemsMax();

    /** About how many bytes an item takes in a message. */
    int size(T item);

    /**
     * Takes a batch and returns the call that sends it. It is called with the gatherer locked, so
     * that `decide` sees either the item in the queue, or what was prepared for it.
     */
    Supplier<Sent<T>> prepare(List<T> batch);

    /**
     * Called with each item that is added, with the gatherer locked too: `decide` sees both the
     * item in the queue and what this changed, or neither.
     */
    default void adding(T item) {}
  }

  /**
   * The result of a call.
   *
   * @param again the items to send again, first
   * @param isLater there is a wait before that
   * @param failed may have the time to wait; or null
   * @param alone the call may have been refused for one of them; each is sent alone, to find out
   */
  record Sent<T>(List<T> again, boolean isLater, CallException failed, boolean alone) {
    static <T> Sent<T> done() {
      return new Sent<>(List.of(), false, null, false);
    }

    static <T> Sent<T> later(List<T> again, CallException failed) {
      return new Sent<>(again, true, failed, false);
    }
  }

  private final Sort<T> sort;
  private final Executor calls;
  private final ScheduledExecutorService timers;
  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<T> queue = new ArrayDeque<>();
  private final List<CompletableFuture<Void>> waiters = new ArrayList<>();
  private final Backoff backoff = new Backoff();
  private int inFlight;

  /** Of those in flight, calls that have not taken their items yet. */
  private int taking;

  private long lastSent;
  private long notBefore;
  private boolean alone;
  private boolean stopped;
  private Future<?> timer;
  private long pumpAt;

  Gatherer(Sort<T> sort, Executor calls, ScheduledExecutorService timers) {
    this.sort = sort;
    this.calls = calls;
    this.timers = timers;
    notBefore = System.nanoTime();
    lastSent = notBefore - SLOW_AFTER;
  }

  void add(T item) {
    lock.lock();
    try {
      sort.adding(item);
      queue.addLast(item);
      pump();
    } finally {
      lock.unlock();
    }
  }

  private void pump() {
    while (!stopped && inFlight < IN_FLIGHT_MAX) {
      int left = queue.size() - taking * most();
      if (left <= 0) {
        break;
      }
      long now = System.nanoTime();
      long due = notBefore;
      long slow = lastSent + SLOW_AFTER;
      if (inFlight > 0 && left < most() && slow - due > 0) {
        due = slow;
      }
      if (due - now > 0) {
        pumpLater(due, now);
        return;
      }
      lastSent = now;
      inFlight++;
      taking++;
      calls.execute(this::send);
    }
    if (queue.isEmpty() && inFlight == 0) {
      waiters.forEach(waiter -> waiter.complete(null));
      waiters.clear();
    }
  }

  private void send() {
    Supplier<Sent<T>> call;
    lock.lock();
    try {
      taking--;
      List<T> batch = take();
      if (batch.isEmpty() || stopped) {
        inFlight--;
        pump();
        return;
      }
      call = sort.prepare(batch);
      // By bytes it may have taken fewer than it could.
      pump();
    } finally {
      lock.unlock();
    }
    settle(call.get());
  }

  private void pumpLater(long at, long now) {
    if (timer != null) {
      if (pumpAt == at) {
        return;
      }
      timer.cancel(false);
    }
    pumpAt = at;
    timer = timers.schedule(this::onTimer, at - now, TimeUnit.NANOSECONDS);
  }

  private void onTimer() {
    lock.lock();
    try {
      timer = null;
      pump();
    } finally {
      lock.unlock();
    }
  }

  /** Items of the next call. */
  private int most() {
    return alone ? 1 : sort.itemsMax();
  }

  private List<T> take() {
    List<T> batch = new ArrayList<>();
    long bytes = 0;
    while (!queue.isEmpty() && batch.size() < most()) {
      bytes += sort.size(queue.peekFirst());
      if (!batch.isEmpty() && bytes > BYTES_MAX) {
        break;
      }
      batch.add(queue.removeFirst());
    }
    return batch;
  }

  private void settle(Sent<T> sent) {
    lock.lock();
    try {
      inFlight--;
      for (int at = sent.again.size() - 1; at >= 0; at--) {
        queue.addFirst(sent.again.get(at));
      }
      long now = System.nanoTime();
      if (sent.alone) {
        alone = true;
      }
      if (sent.isLater && notBefore - now <= 0) {
        // Calls that fail together are one failure.
        notBefore = now + backoff.next(sent.failed).toNanos();
      } else if (!sent.isLater && !sent.alone) {
        alone = false;
        backoff.reset();
      }
      pump();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Calls with the number of items that the next calls send: 0 during the wait after a failed call.
   * Nothing is queued, and no call is prepared, until it returns: what it reads belongs to that
   * number.
   */
  void decide(IntConsumer with) {
    lock.lock();
    try {
      with.accept(notBefore - System.nanoTime() > 0 ? 0 : queue.size());
    } finally {
      lock.unlock();
    }
  }

  /** Completes as soon as nothing is left to send. */
  CompletableFuture<Void> flushed() {
    CompletableFuture<Void> done = new CompletableFuture<>();
    lock.lock();
    try {
      waiters.add(done);
      pump();
    } finally {
      lock.unlock();
    }
    return done;
  }

  /** Drops what is left. */
  void stop() {
    lock.lock();
    try {
      stopped = true;
      if (timer != null) {
        timer.cancel(false);
      }
    } finally {
      lock.unlock();
    }
  }
}
