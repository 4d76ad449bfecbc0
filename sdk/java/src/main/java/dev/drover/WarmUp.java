package dev.drover;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.drover.v1.CompleteResponse;
import dev.drover.v1.HeartbeatResponse;
import dev.drover.v1.Outcome;
import dev.drover.v1.PollTaskResponse;
import dev.drover.v1.Task;
import dev.drover.v1.TaskKind;
import io.grpc.Channel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.helpers.NOPLogger;

/**
 * Loads the classes that the first task needs, and connects, before the first poll. Both take a
 * second on a busy machine, which would be taken from the lease of that task.
 */
final class WarmUp {
  /** For the answer to a check; without one the first poll finds out what is wrong. */
  private static final Duration CHECK_FOR = Duration.ofSeconds(2);

  private static final Task SAMPLE = Task.newBuilder()
      .setTask("sample").setKind(TaskKind.TASK_KIND_PERFORM).setAttempt(1).setFence(1)
      .setInput(Payload.json("{\"a\": [1, 0.5, \"b\", true, null]}").message)
      .putLabels("a", "b").build();

  private WarmUp() {}

  static void run(Channel channel, PayloadFormat format) {
    CountDownLatch checked = new CountDownLatch(1);
    HealthCheck.send(channel, CHECK_FOR, result -> checked.countDown());
    perform(new PayloadFormat(format.mapper(), PayloadFormat.PLAIN));
    try {
      checked.await(CHECK_FOR.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  /** A sample goes the way of a task, without a server and without the handlers. */
  private static void perform(PayloadFormat format) {
    try {
      PollTaskResponse answer = PollTaskResponse.parseFrom(
          PollTaskResponse.newBuilder().addTasks(SAMPLE).build().toByteArray());
      Notebook notebook = new Notebook() {
        @Override
        public void note(Notes added) {}

        @Override
        public Duration left() {
          return Duration.ZERO;
        }
      };
      Attempts attempts = new Attempts(format, Tracing.NONE, NOPLogger.NOP_LOGGER);
      Outcome outcome = attempts.run(
          answer.getTasks(0), context -> context.input(JsonNode.class), notebook,
          new StopSignal(Runnable::run), line -> {});
      Outcomes.size(Outcome.parseFrom(outcome.toByteArray()));
      HeartbeatResponse.parseFrom(new byte[0]);
      CompleteResponse.parseFrom(new byte[0]);
    } catch (InvalidProtocolBufferException error) {
      throw new IllegalStateException("the sample is no message", error);
    }
  }
}
