package dev.drover;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Type;
import java.util.Objects;

/**
 * A task as the programs that share it know it: its name, and the types of its input and its
 * output. The handler, the step of a workflow and the caller take the same definition, so that the
 * compiler finds where they differ.
 *
 * <pre>{@code
 * record Trip(String to) {}
 * record Booking(String code) {}
 *
 * static final Task<Trip, Booking> BOOK_FLIGHT =
 *     Task.of("book-flight", Trip.class, Booking.class);
 * static final CompensateTask<Trip, Booking> CANCEL_FLIGHT =
 *     BOOK_FLIGHT.compensatedBy("cancel-flight");
 * }</pre>
 *
 * @param <I> the input
 * @param <O> the output; {@code Void}: none
 */
public final class Task<I, O> {
  private final String name;
  final Type inputType;
  final Type outputType;

  private Task(String name, Type inputType, Type outputType) {
    this.name = Objects.requireNonNull(name, "name");
    this.inputType = Objects.requireNonNull(inputType, "inputType");
    this.outputType = Objects.requireNonNull(outputType, "outputType");
  }

  /**
   * Names a task and its types.
   *
   * @param name 1 to 128 characters of {@code [A-Za-z0-9._-]}
   * @param input the type of the input, as for {@link TaskContext#input(Class)}
   * @param output the type of the output; {@code Void.class}: none
   * @param <I> the input
   * @param <O> the output
   * @return the definition
   */
  public static <I, O> Task<I, O> of(String name, Class<I> input, Class<O> output) {
    return new Task<>(name, input, output);
  }

  /**
   * Names a task and its types, which have parameters.
   *
   * @param name 1 to 128 characters of {@code [A-Za-z0-9._-]}
   * @param input such as {@code new TypeReference<List<Trip>>() {}}
   * @param output as input
   * @param <I> the input
   * @param <O> the output
   * @return the definition
   */
  public static <I, O> Task<I, O> of(
      String name, TypeReference<I> input, TypeReference<O> output) {
    return new Task<>(name, input.getType(), output.getType());
  }

  /**
   * A task whose input and output may be any JSON.
   *
   * @param name 1 to 128 characters of {@code [A-Za-z0-9._-]}
   * @return the definition
   */
  public static Task<JsonNode, JsonNode> untyped(String name) {
    return of(name, JsonNode.class, JsonNode.class);
  }

  /**
   * The name.
   *
   * @return as in definitions of workflows
   */
  public String name() {
    return name;
  }

  /**
   * Names the task that finds out whether a lost attempt of this one took effect.
   *
   * @param verify the name of that task
   * @return its definition
   */
  public VerifyTask<I, O> verifiedBy(String verify) {
    return new VerifyTask<>(verify, this);
  }

  /**
   * Names the task that undoes this one.
   *
   * @param compensate the name of that task
   * @return its definition
   */
  public CompensateTask<I, O> compensatedBy(String compensate) {
    return new CompensateTask<>(compensate, this);
  }

  @Override
  public String toString() {
    return "task " + name;
  }
}
