package dev.drover;

import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Selects runs: all conditions that are set must match. Each method returns another one with that
 * condition.
 */
public final class RunFilter {
  private static final RunFilter ALL = new RunFilter(dev.drover.v1.RunFilter.getDefaultInstance());

  final dev.drover.v1.RunFilter message;

  private RunFilter(dev.drover.v1.RunFilter message) {
    this.message = message;
  }

  /**
   * No condition.
   *
   * @return matches every run
   */
  public static RunFilter all() {
    return ALL;
  }

  private interface Change {
    void to(dev.drover.v1.RunFilter.Builder builder);
  }

  private RunFilter with(Change change) {
    dev.drover.v1.RunFilter.Builder changed = message.toBuilder();
    change.to(changed);
    return new RunFilter(changed.build());
  }

  /**
   * Runs in one of these states.
   *
   * @param states not UNRECOGNIZED
   * @return with that condition
   */
  public RunFilter states(RunState... states) {
    List<dev.drover.v1.RunState> named =
        Arrays.stream(states).map(RunState::toProto).toList();
    return with(changed -> changed.clearStates().addAllStates(named));
  }

  /**
   * Open runs with a step that does or waits for one of these.
   *
   * @param substates not UNRECOGNIZED
   * @return with that condition
   */
  public RunFilter substates(RunSubstate... substates) {
    List<dev.drover.v1.RunSubstate> named = Arrays.stream(substates)
        .map(one -> Contract.write(dev.drover.v1.RunSubstate.class, "RUN_SUBSTATE_", one))
        .toList();
    return with(changed -> changed.clearSubstates().addAllSubstates(named));
  }

  /**
   * Runs of a workflow.
   *
   * @param name of the workflow
   * @return with that condition
   */
  public RunFilter workflow(String name) {
    return with(changed -> changed.setWorkflow(name));
  }

  /**
   * Runs that a step of another run started.
   *
   * @param run the other run
   * @return with that condition
   */
  public RunFilter parent(RunName.Id run) {
    return with(changed -> changed.setParentRunId(run.value()));
  }

  /**
   * Runs with all of these labels.
   *
   * @param labels at most 64
   * @return with that condition
   */
  public RunFilter labels(Map<String, String> labels) {
    return with(changed -> changed.clearLabels().putAllLabels(labels));
  }

  /**
   * Runs that were created at a time or later.
   *
   * @param time by the clock of the server
   * @return with that condition
   */
  public RunFilter createdAfter(Instant time) {
    return with(changed -> changed.setCreatedAfter(Times.toProto(time)));
  }

  /**
   * Runs that were created before a time.
   *
   * @param time by the clock of the server
   * @return with that condition
   */
  public RunFilter createdBefore(Instant time) {
    return with(changed -> changed.setCreatedBefore(Times.toProto(time)));
  }

  /**
   * Conditions as text.
   *
   * @param text such as {@code state:failed error:sold-out}, as {@code drover run list} takes it
   * @return with those conditions
   */
  public RunFilter query(String text) {
    return with(changed -> changed.setQuery(text));
  }
}
