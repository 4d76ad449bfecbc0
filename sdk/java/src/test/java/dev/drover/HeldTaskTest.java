package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.drover.v1.Task;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HeldTaskTest {
  private static final Duration LEASE = Duration.ofSeconds(9);
  private static final Duration ATTEMPT = Duration.ofSeconds(20);

  private final ManualClock clock = new ManualClock();
  private final ScheduledThreadPoolExecutor timers = Threads.timers("test");
  private final HeldTask.Owner owner = new HeldTask.Owner() {
    @Override
    public void noted() {}

    @Override
    public void stuck(HeldTask task) {}
  };

  @AfterEach
  void stopTimers() {
    timers.shutdownNow();
  }

  private HeldTask given() {
    Task message = Task.newBuilder()
        .setLeaseFor(Times.toProto(LEASE)).setAttemptFor(Times.toProto(ATTEMPT))
        .setHeartbeatInterval(Times.toProto(Duration.ofSeconds(3))).build();
    HeldTask.Shared shared =
        new HeldTask.Shared(clock, timers, Duration.ofSeconds(10), owner);
    return new HeldTask(
        message, clock.getAsLong(), new StopSignal(Runnable::run), null, shared);
  }

  @Test
  void aLeaseCountsFromTheCallThatGrantedItAndARenewalFromItsHeartbeat() {
    HeldTask task = given();
    clock.advance(Duration.ofSeconds(3));
    assertEquals(Duration.ofSeconds(6), task.left());
    long sent = clock.getAsLong();
    clock.advance(Duration.ofSeconds(2));
    task.carryOn(sent, LEASE);
    assertEquals(Duration.ofSeconds(7), task.left());
  }

  @Test
  void aLateAnswerToAnOldHeartbeatShortensNothing() {
    HeldTask task = given();
    long first = clock.getAsLong();
    clock.advance(Duration.ofSeconds(3));
    task.carryOn(clock.getAsLong(), LEASE);
    task.carryOn(first, LEASE);
    assertEquals(LEASE, task.left());
  }

  @Test
  void theEndOfTheLeaseStopsTheHandler() {
    HeldTask task = given();
    task.begin();
    clock.advance(Duration.ofSeconds(8));
    task.onEnd();
    assertNull(task.stop.reason());
    clock.advance(Duration.ofSeconds(1));
    task.onEnd();
    assertEquals(StopReason.LEASE_ENDED, task.stop.reason());
    assertEquals(Duration.ZERO, task.left());
  }

  @Test
  void nothingExtendsTheAttempt() {
    HeldTask task = given();
    task.begin();
    clock.advance(Duration.ofSeconds(19));
    task.carryOn(clock.getAsLong(), LEASE);
    assertEquals(Duration.ofSeconds(1), task.left());
    clock.advance(Duration.ofSeconds(1));
    task.onEnd();
    assertEquals(StopReason.ATTEMPT_OVER, task.stop.reason());
  }

  @Test
  void afterACancelNoHeartbeatMakesTheLeaseLonger() {
    HeldTask task = given();
    task.toCancel(clock.getAsLong(), Duration.ofSeconds(2));
    assertEquals(StopReason.CANCELLED, task.stop.reason());
    task.carryOn(clock.getAsLong(), LEASE);
    assertEquals(Duration.ofSeconds(2), task.left());
    task.lose();
    assertEquals(StopReason.CANCELLED, task.stop.reason(), "the first reason stays");
    assertEquals(Duration.ZERO, task.left());
    assertFalse(task.isListed());
  }

  @Test
  void whatWasNotedSinceAHeartbeatWasSentStays() {
    HeldTask task = given();
    task.note(new Notes(Progress.counter(1).message, Payload.of("a").message));
    Notes sent = task.notes();
    task.note(new Notes(Progress.counter(1).message, null));
    task.noted(sent);
    assertEquals(Progress.counter(1).message, task.notes().progress());
    assertNull(task.notes().details());
    task.noted(task.notes());
    assertTrue(task.notes().isEmpty());
  }
}
