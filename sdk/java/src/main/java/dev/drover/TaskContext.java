package dev.drover;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;

/** One attempt, as its handler sees it. Its methods may be called by several threads at a time. */
public interface TaskContext {
  /**
   * Name of the task, as in the definition.
   *
   * @return the name
   */
  String name();

  /**
   * What the handler must do.
   *
   * @return the kind
   */
  TaskKind kind();

  /**
   * The queue from which the task was taken.
   *
   * @return its name
   */
  String queue();

  /**
   * The id of the run.
   *
   * @return a UUID
   */
  String runId();

  /**
   * The id of the step.
   *
   * @return as in the definition
   */
  String stepId();

  /**
   * The index of the item in the list of a map.
   *
   * @return from 0; empty: the step is not a map
   */
  OptionalInt item();

  /**
   * The number of the attempt. Verify tasks are numbered separately.
   *
   * @return from 1
   */
  int attempt();

  /**
   * The name of the workflow.
   *
   * @return as in the definition
   */
  String workflow();

  /**
   * The version of the workflow.
   *
   * @return 0: the definition was sent with the run
   */
  int workflowVersion();

  /**
   * The key for the remote service, so that a repeated request takes effect once.
   *
   * @return the same for every attempt of the step with the same input
   */
  String idempotencyKey();

  /**
   * The key under which the effect was made, or would have been made.
   *
   * @return for verify and compensate; else empty
   */
  String effectKey();

  /**
   * The token that a remote service which reports the outcome itself passes to {@link
   * Client#completeDeferred}.
   *
   * @return for perform
   */
  String callbackToken();

  /**
   * Grows with each hand-out of the step, for services that refuse a lower value.
   *
   * @return from 1
   */
  long fence();

  /**
   * The labels of the run.
   *
   * @return empty: there are none
   */
  Map<String, String> labels();

  /**
   * Reads the input.
   *
   * @param type a record, a class that Jackson reads, {@code JsonNode}, {@code byte[]} or {@code
   *     Payload}
   * @param <T> the type
   * @return null: there is no input, or it is the JSON value null
   * @throws TaskException with the code {@code bad-input}, which fails the attempt for good, if it
   *     is not of the type
   */
  <T> T input(Class<T> type);

  /**
   * Reads the input, as {@link #input(Class)}.
   *
   * @param type such as {@code new TypeReference<List<Trip>>() {}}
   * @param <T> the type
   * @return null: there is no input, or it is the JSON value null
   */
  <T> T input(TypeReference<T> type);

  /**
   * Reads, for compensate, the step's output.
   *
   * @param type as for {@link #input(Class)}
   * @param <T> the type
   * @return empty: there is none, or it is not known
   * @throws TaskException with the code {@code bad-output} if it is not of the type
   */
  <T> Optional<T> output(Class<T> type);

  /**
   * Reads what an earlier attempt passed to {@link #details}, to resume from; for verify, what the
   * lost attempt passed.
   *
   * @param type as for {@link #input(Class)}
   * @param <T> the type
   * @return empty: there are no details
   * @throws TaskException with the code {@code bad-details} if they are not of the type
   */
  <T> Optional<T> lastDetails(Class<T> type);

  /**
   * The remaining time of lease and attempt: check it before a call that must not come late.
   *
   * @return zero: none is left
   */
  Duration left();

  /**
   * Reports how far the work has come; use one kind throughout. It is sent within a second. Only
   * this call changes the progress: heartbeats that the agent sends by itself do not.
   *
   * @param progress a fraction, a counter or a cursor
   */
  void progress(Progress progress);

  /**
   * Stores what a later attempt needs to resume. It is sent within a second, and before the report
   * of an attempt that ends without success.
   *
   * @param value has a JSON form, or is a payload
   * @throws PayloadException if it has none
   */
  void details(Object value);

  /**
   * A logger with the run, the step and the attempt on each line. The server stores the lines with
   * the attempt, of every level, up to 64 KiB; not if the step has {@code logs: off}.
   *
   * @return a logger for this attempt alone
   */
  Logger log();

  /**
   * Why the work must stop. The thread of the handler is also interrupted.
   *
   * @return empty: it need not stop
   */
  Optional<StopReason> stopped();

  /**
   * For work that no interrupt ends.
   *
   * @throws TaskStoppedException when the work must stop; a handler lets it propagate
   */
  void throwIfStopped();

  /**
   * Runs when the work must stop, in another thread; at once if that is so already.
   *
   * @param callback such as one that closes a connection
   */
  void onStop(Runnable callback);
}
