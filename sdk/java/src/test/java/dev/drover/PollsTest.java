package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class PollsTest {
  private final ManualClock clock = new ManualClock();
  private final Polls polls = new Polls(clock);

  @Test
  void aLostPollIsNamedUntil30SecondsAfterTheEndOfItsWait() {
    polls.start(Duration.ofSeconds(30)).isLost();
    polls.start(Duration.ofSeconds(30)).over();
    polls.start(Duration.ZERO).isLost();
    assertEquals(List.of(1L, 3L), polls.lostNow());
    clock.advance(Duration.ofSeconds(30));
    assertEquals(List.of(1L), polls.lostNow());
    clock.advance(Duration.ofSeconds(29));
    assertEquals(List.of(1L), polls.lostNow());
    clock.advance(Duration.ofSeconds(1));
    assertEquals(List.of(), polls.lostNow());
  }

  @Test
  void aPollUnderWayIsNotAmongThoseThatHaveEnded() {
    assertEquals(0, polls.endedTo());
    Polls.Poll first = polls.start(Duration.ofSeconds(30));
    Polls.Poll second = polls.start(Duration.ofSeconds(30));
    assertEquals(0, polls.endedTo());
    second.over();
    assertEquals(0, polls.endedTo());
    first.isLost();
    assertEquals(2, polls.endedTo());
  }

  @Test
  void beyondTheLimitOfTheContractTheOldestAreLeftOut() {
    for (int at = 0; at <= Polls.LOST_POLLS_MAX; at++) {
      polls.start(Duration.ZERO).isLost();
    }
    assertEquals(Polls.LOST_POLLS_MAX, polls.lostNow().size());
    assertEquals(2L, polls.lostNow().get(0));
  }
}
