package dev.drover;

import dev.drover.v1.BulkActionRequest;
import dev.drover.v1.BulkKind;
import dev.drover.v1.RerunVersion;
import java.util.Objects;

/**
 * One action on all runs that match a filter; default: on every run to which it applies. Each
 * method returns another one with that setting.
 */
public final class BulkAction {
  private final BulkActionRequest request;
  private final Object payload;
  private final Object input;

  private BulkAction(BulkActionRequest request, Object payload, Object input) {
    this.request = request;
    this.payload = payload;
    this.input = input;
  }

  private static BulkAction of(BulkKind kind) {
    return new BulkAction(BulkActionRequest.newBuilder().setKind(kind).build(), null, null);
  }

  private interface Change {
    void to(BulkActionRequest.Builder builder);
  }

  private BulkAction with(Change change) {
    BulkActionRequest.Builder changed = request.toBuilder();
    change.to(changed);
    return new BulkAction(changed.build(), payload, input);
  }

  /**
   * Cancels the runs.
   *
   * @param undo what happens to the work that was done
   * @return the action
   */
  public static BulkAction cancel(Undo undo) {
    return of(BulkKind.BULK_KIND_CANCEL).with(changed -> changed.setUndo(undo.toProto()));
  }

  /**
   * Pauses the runs.
   *
   * @return the action
   */
  public static BulkAction pause() {
    return of(BulkKind.BULK_KIND_PAUSE);
  }

  /**
   * Resumes the runs.
   *
   * @return the action
   */
  public static BulkAction resume() {
    return of(BulkKind.BULK_KIND_RESUME);
  }

  /**
   * Retries the runs, as {@link Client#retryRun} does.
   *
   * @return the action
   */
  public static BulkAction retry() {
    return of(BulkKind.BULK_KIND_RETRY);
  }

  /**
   * Sends a signal to the runs.
   *
   * @param name of the signal
   * @param payload has a JSON form, or is a payload; null: none
   * @return the action
   */
  public static BulkAction signal(String name, Object payload) {
    BulkAction named = of(BulkKind.BULK_KIND_SIGNAL).with(changed -> changed.setSignalName(name));
    return new BulkAction(named.request, payload, null);
  }

  /**
   * Repeats the runs from a step, as {@link Client#rerunFrom} does.
   *
   * @param stepId empty: all steps
   * @return the action
   */
  public static BulkAction rerunFrom(String stepId) {
    return of(BulkKind.BULK_KIND_RERUN).with(changed -> changed.setStepId(stepId));
  }

  /**
   * Deletes runs that have ended, with all that is stored of them; for admins only.
   *
   * @param reason for people
   * @return the action
   */
  public static BulkAction erase(String reason) {
    return of(BulkKind.BULK_KIND_ERASE).reason(reason);
  }

  /**
   * Selects the runs.
   *
   * @param runs which
   * @return an action on them
   */
  public BulkAction filter(RunFilter runs) {
    return with(changed -> changed.setFilter(runs.message));
  }

  /**
   * Uses the newest version of the workflow, for a retry and a re-run.
   *
   * @return an action with it
   */
  public BulkAction newest() {
    return with(changed -> changed.setVersion(RerunVersion.RERUN_VERSION_NEWEST));
  }

  /**
   * Sets the input of all new runs, for a re-run.
   *
   * @param value has a JSON form, or is a payload; default: each has that of its run
   * @return an action with it
   */
  public BulkAction input(Object value) {
    return new BulkAction(request, payload, Objects.requireNonNull(value, "value"));
  }

  /**
   * Sets the reason.
   *
   * @param text for people
   * @return an action with it
   */
  public BulkAction reason(String text) {
    return with(changed -> changed.setReason(text));
  }

  /**
   * Sets how many runs are expected: if the number differs when the action begins, nothing is done.
   *
   * @param count what {@link Client#countForBulk} returned
   * @return an action with it
   */
  public BulkAction expectedCount(int count) {
    return with(changed -> changed.setExpectedCount(count));
  }

  /**
   * Sets the caller's own name for the action: all calls with it are one action.
   *
   * @param id 1 to 128 characters of {@code [A-Za-z0-9._-]}; default: random
   * @return an action with it
   */
  public BulkAction requestId(String id) {
    return with(changed -> changed.setRequestId(id));
  }

  BulkActionRequest.Builder toRequest(PayloadFormat format) {
    BulkActionRequest.Builder made = request.toBuilder();
    if (payload != null) {
      made.setPayload(format.encode(payload));
    }
    if (input != null) {
      made.setInput(format.encode(input));
    }
    return made;
  }
}
