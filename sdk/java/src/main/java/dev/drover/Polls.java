package dev.drover;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * The polls of one session: their numbers, and those that ended without an answer.
 *
 * <p>The server may have granted tasks to a poll whose answer never arrived. So each lost poll is
 * named in every poll and heartbeat until 30 s after the end of its wait, and what was granted to
 * it is given back at once. A poll whose answer was read is never named.
 *
 * <p>A heartbeat that lists all tasks states up to which poll: a poll under way may bring more.
 */
final class Polls {
  private static final Duration NAMED_FOR = Duration.ofSeconds(30);

  /** The limit of the contract; beyond it the oldest, which are nearest to their end, go. */
  static final int LOST_POLLS_MAX = 1_000;

  private record Lost(long seq, long until) {}

  private final LongSupplier clock;
  private final TreeSet<Long> underWay = new TreeSet<>();
  private final Deque<Lost> lost = new ArrayDeque<>();
  private long last;

  /** `clock` gives nanoseconds, and never goes back. */
  Polls(LongSupplier clock) {
    this.clock = clock;
  }

  final class Poll {
    final long seq;
    final long sent;
    private final Duration wait;

    private Poll(long seq, Duration wait) {
      this.seq = seq;
      this.sent = clock.getAsLong();
      this.wait = wait;
    }

    /** Its answer was read and its tasks are listed, or it was refused: it brings no others. */
    void over() {
      synchronized (Polls.this) {
        underWay.remove(seq);
      }
    }

    /** Its answer will not come. */
    void isLost() {
      synchronized (Polls.this) {
        underWay.remove(seq);
        lost.addLast(new Lost(seq, sent + wait.plus(NAMED_FOR).toNanos()));
        if (lost.size() > LOST_POLLS_MAX) {
          lost.removeFirst();
        }
      }
    }

    Duration age() {
      return Duration.ofNanos(clock.getAsLong() - sent);
    }
  }

  synchronized Poll start(Duration wait) {
    last++;
    underWay.add(last);
    return new Poll(last, wait);
  }

  /** The numbers to name. */
  synchronized List<Long> lostNow() {
    long now = clock.getAsLong();
    lost.removeIf(one -> one.until - now <= 0);
    List<Long> named = new ArrayList<>(lost.size());
    lost.forEach(one -> named.add(one.seq));
    return named;
  }

  /** This poll and all before it have ended. */
  synchronized long endedTo() {
    return underWay.isEmpty() ? last : underWay.first() - 1;
  }
}
