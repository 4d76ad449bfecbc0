package dev.drover;

import dev.drover.v1.RerunVersion;
import java.util.Objects;

/** How a run is repeated. Each method returns another one with that setting. */
public final class Rerun {
  private static final Rerun SAME = new Rerun(false, null, "");

  private final boolean isNewest;
  final Object input;
  final String requestId;

  private Rerun(boolean isNewest, Object input, String requestId) {
    this.isNewest = isNewest;
    this.input = input;
    this.requestId = requestId;
  }

  /**
   * With the version of the workflow and the input that the run started with.
   *
   * @return how the run is repeated
   */
  public static Rerun same() {
    return SAME;
  }

  /**
   * Uses the newest version of the workflow.
   *
   * @return with that setting
   */
  public Rerun newest() {
    return new Rerun(true, input, requestId);
  }

  /**
   * Sets the input of the new run, for {@link Client#rerunFrom} only.
   *
   * @param value has a JSON form, or is a payload
   * @return with that setting
   */
  public Rerun input(Object value) {
    return new Rerun(isNewest, value, requestId);
  }

  /**
   * Sets the caller's own name for the request: one id makes one new run only.
   *
   * @param id 1 to 128 characters of {@code [A-Za-z0-9._-]}; default: random
   * @return with that setting
   */
  public Rerun requestId(String id) {
    return new Rerun(isNewest, input, Objects.requireNonNull(id, "id"));
  }

  RerunVersion version() {
    return isNewest ? RerunVersion.RERUN_VERSION_NEWEST : RerunVersion.RERUN_VERSION_SAME;
  }
}
