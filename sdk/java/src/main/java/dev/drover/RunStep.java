package dev.drover;

import dev.drover.v1.Step;
import java.lang.reflect.Type;
import java.util.Optional;

/** The state of one step of a run, or of one item of a map. */
public final class RunStep {
  private final Step message;
  private final PayloadFormat format;

  RunStep(Step message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /**
   * Why the last attempt failed.
   *
   * @param code a stable name, such as {@code rate-limited}
   * @param message one sentence for a person
   */
  public record Failure(String code, String message) {}

  /**
   * Its id.
   *
   * @return as in the definition
   */
  public String id() {
    return message.getId();
  }

  /**
   * Its state.
   *
   * @return the state
   */
  public StepState state() {
    return StepState.of(message.getState());
  }

  /**
   * The number of the last attempt.
   *
   * @return 0: it was not tried
   */
  public int attempt() {
    return message.getAttempt();
  }

  /**
   * Why the last attempt failed.
   *
   * @return empty: it did not
   */
  public Optional<Failure> failure() {
    return message.hasError()
        ? Optional.of(new Failure(message.getError().getCode(), message.getError().getMessage()))
        : Optional.empty();
  }

  /**
   * Its output.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> output(Class<T> type) {
    return Optional.ofNullable(type.cast(read(type)));
  }

  /**
   * Its output, with the type of its task.
   *
   * @param task the definition of the task
   * @param <O> the output of the task
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  @SuppressWarnings("unchecked") // Jackson has made a value of the task's type.
  public <O> Optional<O> output(Task<?, O> task) {
    return Optional.ofNullable((O) read(task.outputType));
  }

  private Object read(Type type) {
    return message.hasOutput() ? format.read(message.getOutput(), type) : null;
  }

  /**
   * Everything that the server says of it; its payloads are decoded.
   *
   * @return the message of the contract
   */
  public Step message() {
    return message;
  }

  @Override
  public String toString() {
    return message.getId() + " " + state();
  }
}
