package dev.drover;

import dev.drover.v1.Concurrency;
import dev.drover.v1.ConcurrencyPolicy;
import dev.drover.v1.Notify;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.WorkflowRef;
import java.time.Instant;
import java.util.Map;

/** A run to start. Each method returns another one with that setting. */
public final class NewRun {
  /** What happens to a run whose concurrency key has no free permit. */
  public enum WhenBusy {
    /** It waits. */
    QUEUE,
    /** It is refused, with {@link Reason#CONCURRENCY_LIMIT}. */
    REFUSE,
    /** The oldest run of the key is cancelled and undone. */
    CANCEL_OLDEST,
    /** It waits, and replaces another one that waits. */
    QUEUE_ONE
  }

  private final ScheduleRequest request;
  private final Object input;

  private NewRun(ScheduleRequest request, Object input) {
    this.request = request;
    this.input = input;
  }

  /**
   * A run of a workflow.
   *
   * @param workflow a registered one, or a definition for this run only
   * @param input has a JSON form, or is a payload; null: none
   * @param <I> the input of a run
   * @return the run to start
   */
  public static <I> NewRun of(Startable<I> workflow, I input) {
    ScheduleRequest.Builder request = ScheduleRequest.newBuilder();
    workflow.definition().ifPresentOrElse(
        definition -> request.setDefinition(definition.message),
        () -> request.setWorkflow(WorkflowRef.newBuilder().setName(workflow.name())));
    return new NewRun(request.build(), input);
  }

  /**
   * A run of a registered workflow.
   *
   * @param workflow its name
   * @param input has a JSON form, or is a payload; null: none
   * @return the run to start
   */
  public static NewRun of(String workflow, Object input) {
    return of(Startable.registered(workflow, Object.class), input);
  }

  private interface Change {
    void to(ScheduleRequest.Builder builder);
  }

  private NewRun with(Change change) {
    ScheduleRequest.Builder changed = request.toBuilder();
    change.to(changed);
    return new NewRun(changed.build(), input);
  }

  /**
   * Sets the version of a registered workflow.
   *
   * @param version from 1; default: the default version
   * @return a run with it
   * @throws IllegalStateException if the definition is sent with the run
   */
  public NewRun version(int version) {
    if (request.hasDefinition()) {
      throw new IllegalStateException("a definition that is sent with the run has no version");
    }
    return with(changed -> changed.getWorkflowBuilder().setVersion(version));
  }

  /**
   * Sets the caller's own name for the run: one key starts one run only.
   *
   * @param key 1 to 256 characters; default: random
   * @return a run with it
   */
  public NewRun key(String key) {
    return with(changed -> changed.setKey(key));
  }

  /**
   * Sets the priority.
   *
   * @param priority 1 (first) to 9 (last); default 5
   * @return a run with it
   */
  public NewRun priority(int priority) {
    return with(changed -> changed.setPriority(priority));
  }

  /**
   * Sets the labels.
   *
   * @param labels at most 64
   * @return a run with them
   */
  public NewRun labels(Map<String, String> labels) {
    return with(changed -> changed.clearLabels().putAllLabels(labels));
  }

  /**
   * Sets when the run starts.
   *
   * @param time a time in the past means now; default: at once
   * @return a run with it
   */
  public NewRun startTime(Instant time) {
    return with(changed -> changed.setStartTime(Times.toProto(time)));
  }

  /**
   * Limits how many runs of a key are in progress.
   *
   * @param key 1 to 256 characters
   * @param limit how many, 1 to 1,000
   * @param whenBusy what happens to this run if there are as many
   * @return a run with that limit
   */
  public NewRun concurrency(String key, int limit, WhenBusy whenBusy) {
    Concurrency concurrency = Concurrency.newBuilder().setKey(key).setLimit(limit)
        .setPolicy(Contract.write(
            ConcurrencyPolicy.class, "CONCURRENCY_POLICY_", whenBusy)).build();
    return with(changed -> changed.setConcurrency(concurrency));
  }

  /**
   * Notifies a hook of the end of the run.
   *
   * @param hook the name of the hook
   * @return a run with it
   */
  public NewRun notify(String hook) {
    return with(changed -> changed.setNotify(Notify.newBuilder().setHook(hook)));
  }

  /**
   * Notifies a hook of the end of the run, at another URL.
   *
   * @param hook the name of the hook
   * @param url where it is notified
   * @return a run with it
   */
  public NewRun notify(String hook, String url) {
    return with(changed -> changed.setNotify(Notify.newBuilder().setHook(hook).setUrl(url)));
  }

  ScheduleRequest toRequest(String namespace, PayloadFormat format, Tracing tracing) {
    ScheduleRequest.Builder made = request.toBuilder().setNamespace(namespace);
    if (made.getKey().isEmpty()) {
      made.setKey(RandomNames.next());
    }
    if (input != null) {
      made.setInput(format.encode(input));
    }
    tracing.inject(made);
    return made.build();
  }
}
