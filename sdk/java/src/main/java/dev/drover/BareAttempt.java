package dev.drover;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.v1.FailureClass;
import dev.drover.v1.Outcome;
import dev.drover.v1.Payload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A handler that runs without an agent. It is what {@code dev.drover.testing} is made of, and may
 * change with any version: use that package.
 */
public final class BareAttempt {
  private static final Logger LOG = LoggerFactory.getLogger(BareAttempt.class);

  /**
   * What an agent would otherwise have around the handler.
   *
   * @param mapper null: the default
   * @param codec null: none
   * @param left the remaining time of lease and attempt
   */
  public record Around(ObjectMapper mapper, Codec codec, Duration left) {
    PayloadFormat format() {
      return new PayloadFormat(
          Objects.requireNonNullElseGet(mapper, PayloadFormat::defaultMapper),
          Objects.requireNonNullElse(codec, PayloadFormat.PLAIN));
    }
  }

  /**
   * A task, as the server would hand it out.
   *
   * @param name of the task
   * @param kind what its handler must do
   * @param attempt its number, and its fence
   * @param idempotencyKey for the remote service
   * @param effectKey of the effect that is verified or undone; empty: none
   * @param item the index in the list of a map; empty: the step is not one
   * @param labels of the run
   * @param input null: none
   * @param output of the step that is undone; null: none
   * @param lastDetails null: none
   */
  public record Given(
      String name, TaskKind kind, int attempt, String idempotencyKey, String effectKey,
      OptionalInt item, Map<String, String> labels, Object input, Object output,
      Object lastDetails) {
    dev.drover.v1.Task toTask(PayloadFormat format) {
      dev.drover.v1.Task.Builder made = dev.drover.v1.Task.newBuilder()
          .setTaskToken("token-1").setCallbackToken("callback-1")
          .setRunId("run-1").setStepId("step").setWorkflow("workflow").setQueue("default")
          .setTask(name).setAttempt(attempt).setFence(attempt)
          .setKind(Contract.write(dev.drover.v1.TaskKind.class, "TASK_KIND_", kind))
          .setIdempotencyKey(idempotencyKey).setEffectKey(effectKey).putAllLabels(labels);
      item.ifPresent(made::setItem);
      if (input != null) {
        made.setInput(format.encode(input));
      }
      if (output != null) {
        made.setOutput(format.encode(output));
      }
      if (lastDetails != null) {
        made.setLastDetails(format.encode(lastDetails));
      }
      return made.build();
    }
  }

  /**
   * What an agent would report.
   *
   * @param kind how the attempt ended
   * @param code of a failure or an unknown outcome; else empty
   * @param message of a failure or an unknown outcome; else empty
   * @param isTransient whether a failure is transient
   * @param isWithoutEffect whether the handler stated that nothing exists at the remote service
   * @param after the time until the next try; empty: none was given
   */
  public record Ended(
      Kind kind, String code, String message, boolean isTransient, boolean isWithoutEffect,
      Optional<Duration> after) {
    /** How an attempt ended, as the server would treat it. */
    public enum Kind {
      /** It is done. */
      SUCCESS,
      /** It has failed, or its output cannot be sent. */
      FAILED,
      /** It is unknown whether it took effect. */
      UNKNOWN,
      /** It is to be handed out again. */
      AGAIN,
      /** Its outcome comes by the callback token. */
      DEFERRED,
      /** It stopped because it had to. */
      CANCELLED
    }

    static Ended of(Outcome outcome) {
      Outcome.Failed failed = outcome.getFailed();
      String problem = outcome.getSuccess().getOutputProblem();
      return new Ended(
          kindOf(outcome),
          problem.isEmpty() ? failed.getCode() + outcome.getUnknown().getCode() : "drover.output",
          problem + failed.getMessage() + outcome.getUnknown().getMessage(),
          failed.getFailureClass() == FailureClass.FAILURE_CLASS_TRANSIENT,
          failed.getNoEffect() || outcome.getCancelled().getNoEffect(),
          after(outcome));
    }

    private static Kind kindOf(Outcome outcome) {
      return switch (outcome.getKindCase()) {
        case SUCCESS ->
            outcome.getSuccess().getOutputProblem().isEmpty() ? Kind.SUCCESS : Kind.FAILED;
        case FAILED -> Kind.FAILED;
        case AGAIN -> Kind.AGAIN;
        case DEFERRED -> Kind.DEFERRED;
        case CANCELLED -> Kind.CANCELLED;
        default -> Kind.UNKNOWN;
      };
    }

    private static Optional<Duration> after(Outcome outcome) {
      if (outcome.hasAgain()) {
        return Optional.of(Times.fromProto(outcome.getAgain().getAfter()));
      }
      return outcome.getFailed().hasRetryAfter()
          ? Optional.of(Times.fromProto(outcome.getFailed().getRetryAfter()))
          : Optional.empty();
    }
  }

  private final Around around;
  private final StopSignal stop;
  private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
  private final List<Progress> progress = new ArrayList<>();
  private Payload details;

  private BareAttempt(Around around, ExecutorService threads) {
    this.around = around;
    stop = new StopSignal(threads);
  }

  /**
   * Starts the handler of a task.
   *
   * @param task the definition of the task
   * @param handler performs it
   * @param given the task
   * @param around what the agent would have
   * @param <I> the input
   * @param <O> the output
   * @return the running handler
   */
  public static <I, O> BareAttempt perform(
      Task<I, O> task, Handlers.Perform<I, O> handler, Given given, Around around) {
    return start(Handlers.bind(task, handler), given, around);
  }

  /**
   * Starts a handler that answers.
   *
   * @param task the definition of the task
   * @param handler performs it
   * @param given the task
   * @param around what the agent would have
   * @param <I> the input
   * @param <O> the output
   * @return the running handler
   */
  public static <I, O> BareAttempt respond(
      Task<I, O> task, Handlers.Respond<I, O> handler, Given given, Around around) {
    return start(Handlers.bindAnswers(task, handler), given, around);
  }

  /**
   * Starts a handler that verifies.
   *
   * @param task the definition of the task
   * @param handler verifies it
   * @param given the task
   * @param around what the agent would have
   * @param <I> the input of the verified task
   * @param <O> the output of the verified task
   * @return the running handler
   */
  public static <I, O> BareAttempt verify(
      VerifyTask<I, O> task, Handlers.Verify<I, O> handler, Given given,
      Around around) {
    return start(Handlers.bind(task, handler), given, around);
  }

  /**
   * Starts a handler that undoes a step.
   *
   * @param task the definition of the task
   * @param handler undoes it
   * @param given the task
   * @param around what the agent would have
   * @param <I> the input of the task that is undone
   * @param <O> the output of the task that is undone
   * @return the running handler
   */
  public static <I, O> BareAttempt compensate(
      CompensateTask<I, O> task, Handlers.Compensate<I, O> handler, Given given,
      Around around) {
    return start(Handlers.bind(task, handler), given, around);
  }

  /**
   * Starts a handler without types.
   *
   * @param handler performs the task
   * @param given the task
   * @param around what the agent would have
   * @return the running handler
   */
  public static BareAttempt handle(
      Handlers.Untyped handler, Given given, Around around) {
    return start(handler::handle, given, around);
  }

  private static BareAttempt start(
      Handlers.Bound handler, Given given, Around around) {
    ExecutorService threads = Threads.handlers("drover-test");
    BareAttempt made = new BareAttempt(around, threads);
    long ends = System.nanoTime() + Times.nanos(around.left());
    Notebook notebook = new Notebook() {
      @Override
      public void note(Notes added) {
        made.note(added);
      }

      @Override
      public Duration left() {
        return Duration.ofNanos(Math.max(0, ends - System.nanoTime()));
      }
    };
    PayloadFormat format = around.format();
    dev.drover.v1.Task message = given.toTask(format);
    Attempts attempts = new Attempts(format, Tracing.find(), LOG);
    threads.execute(() -> {
      made.outcome.complete(attempts.run(message, handler, notebook, made.stop, null));
      threads.shutdown();
    });
    return made;
  }

  private synchronized void note(Notes added) {
    if (added.progress() != null) {
      progress.add(Progress.of(added.progress()));
    }
    if (added.details() != null) {
      details = added.details();
    }
  }

  /**
   * Stops the handler, as an agent would.
   *
   * @param reason why
   */
  public void stop(StopReason reason) {
    stop.stop(reason);
  }

  /**
   * Waits until the handler has ended.
   *
   * @return what an agent would report
   */
  public Ended ended() {
    return Ended.of(outcome.join());
  }

  /**
   * The progress that the handler has reported.
   *
   * @return in order
   */
  public synchronized List<Progress> progress() {
    return List.copyOf(progress);
  }

  /**
   * Reads the last details.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return null: there are none
   */
  public synchronized <T> T details(Class<T> type) {
    return details == null ? null : type.cast(around.format().decode(details, type));
  }

  /**
   * Reads the output of a success.
   *
   * @param task the definition of the task
   * @param <O> the output
   * @return null: there is none
   */
  @SuppressWarnings("unchecked") // Jackson has made a value of the task's type.
  public <O> O output(Task<?, O> task) {
    Outcome.Success success = outcome.join().getSuccess();
    return success.hasOutput()
        ? (O) around.format().decode(success.getOutput(), task.outputType)
        : null;
  }
}
