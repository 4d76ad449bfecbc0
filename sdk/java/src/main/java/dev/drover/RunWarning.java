package dev.drover;

/**
 * A failure after which a run continued.
 *
 * @param stepId of the step
 * @param code of the failure
 * @param message one sentence for a person
 */
public record RunWarning(String stepId, String code, String message) {
  static RunWarning of(dev.drover.v1.RunWarning message) {
    return new RunWarning(message.getStepId(), message.getCode(), message.getMessage());
  }
}
