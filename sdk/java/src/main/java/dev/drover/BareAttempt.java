package dev.drover;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.v1.Outcome;
import dev.drover.v1.Payload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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

    /**
     * Makes a payload as an agent would.
     *
     * @param value null: none
     * @return null: none
     */
    public Payload payload(Object value) {
      return format().encode(value);
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
   * @param message as the server would send it
   * @param around what the agent would have
   * @param <I> the input
   * @param <O> the output
   * @return the running handler
   */
  public static <I, O> BareAttempt perform(
      Task<I, O> task, Handlers.Perform<I, O> handler, dev.drover.v1.Task message, Around around) {
    return start(Handlers.bind(task, handler), message, around);
  }

  /**
   * Starts a handler that answers.
   *
   * @param task the definition of the task
   * @param handler performs it
   * @param message as the server would send it
   * @param around what the agent would have
   * @param <I> the input
   * @param <O> the output
   * @return the running handler
   */
  public static <I, O> BareAttempt respond(
      Task<I, O> task, Handlers.Respond<I, O> handler, dev.drover.v1.Task message, Around around) {
    return start(Handlers.bindAnswers(task, handler), message, around);
  }

  /**
   * Starts a handler that verifies.
   *
   * @param task the definition of the task
   * @param handler verifies it
   * @param message as the server would send it
   * @param around what the agent would have
   * @param <I> the input of the verified task
   * @param <O> the output of the verified task
   * @return the running handler
   */
  public static <I, O> BareAttempt verify(
      VerifyTask<I, O> task, Handlers.Verify<I, O> handler, dev.drover.v1.Task message,
      Around around) {
    return start(Handlers.bind(task, handler), message, around);
  }

  /**
   * Starts a handler that undoes a step.
   *
   * @param task the definition of the task
   * @param handler undoes it
   * @param message as the server would send it
   * @param around what the agent would have
   * @param <I> the input of the task that is undone
   * @param <O> the output of the task that is undone
   * @return the running handler
   */
  public static <I, O> BareAttempt compensate(
      CompensateTask<I, O> task, Handlers.Compensate<I, O> handler, dev.drover.v1.Task message,
      Around around) {
    return start(Handlers.bind(task, handler), message, around);
  }

  /**
   * Starts a handler without types.
   *
   * @param handler performs the task
   * @param message as the server would send it
   * @param around what the agent would have
   * @return the running handler
   */
  public static BareAttempt handle(
      Handlers.Untyped handler, dev.drover.v1.Task message, Around around) {
    return start(handler::handle, message, around);
  }

  private static BareAttempt start(
      Handlers.Bound handler, dev.drover.v1.Task message, Around around) {
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
    Attempts attempts = new Attempts(around.format(), Tracing.find(), LOG);
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
  public Outcome outcome() {
    return outcome.join();
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
    Outcome.Success success = outcome().getSuccess();
    return success.hasOutput()
        ? (O) around.format().decode(success.getOutput(), task.outputType)
        : null;
  }
}
