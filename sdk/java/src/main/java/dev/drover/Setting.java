package dev.drover;

/**
 * A setting of a run with its effective value.
 *
 * @param stepId of the step; empty: of the run as a whole
 * @param field such as {@code timeouts.pickup} or {@code retry[0].attempts}
 * @param value as in the text of a workflow: {@code 5m}, {@code 0.2}, {@code escalate}, or
 *     {@code off}
 * @param source where the value comes from
 */
public record Setting(String stepId, String field, String value, Source source) {
  /** Where the value of a setting comes from. */
  public enum Source {
    /** It is the default. */
    DEFAULT,
    /** The definition sets it. */
    DEFINITION,
    /** The namespace sets it, for all of its runs. */
    NAMESPACE,
    /** The server sets it, for all runs. */
    SERVER,
    /** One of a newer server. */
    UNRECOGNIZED
  }

  static Setting of(dev.drover.v1.EffectiveSetting message) {
    return new Setting(message.getStepId(), message.getField(), message.getValue(),
        Contract.read(Source.class, "SETTING_SOURCE_", message.getSource()));
  }
}
