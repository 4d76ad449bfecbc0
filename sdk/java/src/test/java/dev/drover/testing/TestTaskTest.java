package dev.drover.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.drover.AesGcmCodec;
import dev.drover.Answer;
import dev.drover.Codec;
import dev.drover.CompensateTask;
import dev.drover.Payload;
import dev.drover.Progress;
import dev.drover.StopReason;
import dev.drover.Task;
import dev.drover.TaskException;
import dev.drover.VerifyTask;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class TestTaskTest {
  record Trip(String to) {}

  record Booking(String code) {}

  private static final Task<Trip, Booking> BOOK =
      Task.of("book-flight", Trip.class, Booking.class);
  private static final VerifyTask<Trip, Booking> FIND = BOOK.verifiedBy("find-flight");
  private static final CompensateTask<Trip, Booking> CANCEL = BOOK.compensatedBy("cancel-flight");

  @Test
  void aHandlerRunsWithoutAServer() {
    HandlerResult<Booking> result = TestTask.of(BOOK, new Trip("Lisbon")).attempt(2).lastDetails(3)
        .perform((trip, task) -> {
          int from = task.lastDetails(Integer.class).orElse(0);
          task.progress(Progress.counter(from));
          task.details(from + 1);
          return new Booking(trip.to() + "-" + task.attempt() + "-" + task.idempotencyKey());
        })
        .result();
    assertEquals(new Booking("Lisbon-2-key-1"), result.output());
    assertEquals(List.of(Progress.counter(3)), result.progress());
    assertEquals(Optional.of(4), result.details(Integer.class));
  }

  @Test
  void anInputThatIsNotAsExpectedFailsForGood() {
    HandlerResult<Booking> result = TestTask.withRawInput(BOOK, List.of(1))
        .perform((trip, task) -> new Booking(trip.to())).result();
    assertEquals("bad-input", result.code());
    assertEquals(HandlerResult.Kind.FAILED, result.kind());
  }

  @Test
  void aFieldThatTheReaderDoesNotKnowIsPassedOver() {
    HandlerResult<Booking> result =
        TestTask.withRawInput(BOOK, Map.of("to", "Rome", "class", "first"))
            .perform((trip, task) -> new Booking(trip.to())).result();
    assertEquals(new Booking("Rome"), result.output());
  }

  @Test
  void aFailureSaysWhatItMeansForRetries() {
    HandlerResult<Booking> result = TestTask.of(BOOK, new Trip("Lisbon"))
        .perform((trip, task) -> {
          throw TaskException.transientFailure("busy", "All lines are busy.")
              .retryAfter(Duration.ofSeconds(2)).noEffect();
        })
        .result();
    assertEquals("busy", result.code());
    assertTrue(result.isTransient() && result.isWithoutEffect());
    assertEquals(Optional.of(Duration.ofSeconds(2)), result.after());
  }

  @Test
  void aTaskMayBeHandedOutAgainOrDeferred() {
    TestTask<Trip, Booking> task = TestTask.of(BOOK, new Trip("Lisbon"));
    HandlerResult<Booking> again =
        task.respond((trip, context) -> Answer.again(Duration.ofSeconds(3))).result();
    assertEquals(HandlerResult.Kind.AGAIN, again.kind());
    assertEquals(Optional.of(Duration.ofSeconds(3)), again.after());
    assertEquals(HandlerResult.Kind.DEFERRED,
        task.respond((trip, context) -> Answer.deferred()).result().kind());
  }

  @Test
  void aVerifyAnswersByTheKeyOfTheEffect() {
    TestTask<Trip, Booking> task = TestTask.of(BOOK, new Trip("Lisbon")).effectKey("e-9");
    HandlerResult<Booking> found =
        task.verify(FIND, context -> Answer.happened(new Booking(context.effectKey()))).result();
    assertEquals(new Booking("e-9"), found.output());
    HandlerResult<Booking> none =
        task.verify(FIND, context -> Answer.didNotHappen()).result();
    assertTrue(none.isWithoutEffect());
    assertEquals("no-answer", task.verify(FIND, context -> null).result().code());
  }

  @Test
  void anUndoGetsTheOutputOfItsStep() {
    TestTask<Trip, Booking> task = TestTask.of(BOOK, new Trip("Lisbon"));
    HandlerResult<Booking> undone = task.output(new Booking("b-1"))
        .compensate(CANCEL, context ->
            context.details(context.output().orElseThrow().code() + context.input().to()))
        .result();
    assertEquals(HandlerResult.Kind.SUCCESS, undone.kind());
    assertEquals(Optional.of("b-1Lisbon"), undone.details(String.class));
  }

  @Test
  void aHandlerThatIsStoppedEndsByTheReason() {
    CountDownLatch never = new CountDownLatch(1);
    RunningHandler<Booking> running = TestTask.of(BOOK, new Trip("Lisbon"))
        .perform((trip, task) -> {
          never.await();
          return null;
        });
    assertEquals(HandlerResult.Kind.CANCELLED,
        running.stop(StopReason.CANCELLED).result().kind());
    RunningHandler<Booking> checking = TestTask.of(BOOK, new Trip("Lisbon"))
        .perform((trip, task) -> {
          CountDownLatch stopped = new CountDownLatch(1);
          task.onStop(stopped::countDown);
          while (stopped.getCount() > 0) {
            Thread.onSpinWait();
          }
          task.throwIfStopped();
          return null;
        });
    assertEquals("lease-ended", checking.stop(StopReason.LEASE_ENDED).result().code());
  }

  @Test
  void payloadsGoThroughTheCodec() {
    List<Payload> encoded = new ArrayList<>();
    Codec sealing = new AesGcmCodec(new byte[32]);
    Codec noting = new Codec() {
      @Override
      public Payload encode(Payload payload) throws GeneralSecurityException {
        encoded.add(payload);
        return sealing.encode(payload);
      }

      @Override
      public Payload decode(Payload payload) throws GeneralSecurityException {
        return sealing.decode(payload);
      }
    };
    HandlerResult<Booking> result = TestTask.of(BOOK, new Trip("Lisbon")).codec(noting)
        .perform((trip, task) -> new Booking(trip.to())).result();
    assertEquals(new Booking("Lisbon"), result.output());
    assertEquals(
        List.of(Payload.of(new Trip("Lisbon")), Payload.of(new Booking("Lisbon"))), encoded);
  }
}
