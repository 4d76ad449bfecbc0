package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.rpc.RetryInfo;
import com.google.rpc.Status;
import org.junit.jupiter.api.Test;

class BackoffTest {
  @Test
  void waitsGrowFromTheFirstToTheLimitAndAreAtLeastHalf() {
    Backoff backoff = new Backoff();
    for (long limit : new long[] {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
      long wait = backoff.next(null).toMillis();
      assertTrue(wait >= limit / 2 && wait <= limit, wait + " of " + limit);
    }
    backoff.reset();
    assertTrue(backoff.next(null).toMillis() <= 100);
  }

  @Test
  void noWaitIsShorterThanTheServerAskedFor() {
    RetryInfo later = RetryInfo.newBuilder()
        .setRetryDelay(Duration.newBuilder().setSeconds(9)).build();
    CallException refused = CallException.of(
        Status.newBuilder().setCode(8).addDetails(Any.pack(later)).build());
    assertEquals(CallException.Outcome.LATER, refused.outcome());
    assertEquals(9, new Backoff().next(refused).toSeconds());
  }
}
