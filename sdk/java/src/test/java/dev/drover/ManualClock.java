package dev.drover;

import java.time.Duration;
import java.util.function.LongSupplier;

/** A clock that stands until the test moves it. It starts shortly before it overflows. */
final class ManualClock implements LongSupplier {
  private long now = Long.MAX_VALUE - Duration.ofSeconds(3).toNanos();

  @Override
  public long getAsLong() {
    return now;
  }

  void advance(Duration time) {
    now += time.toNanos();
  }
}
