package dev.drover;

import dev.drover.v1.ExplainRunResponse;
import java.time.Instant;
import java.util.List;

/**
 * Why a run is not moving.
 *
 * @param run its state
 * @param waitsFor what the run waits for: its own wait, or that of the first of the steps in {@link
 *     RunWait#waitsOn}
 * @param steps each step that is active or waits, in the order of the definition
 * @param now by the clock of the server, as all times here
 * @param untakenSignals the newest 10 signals that no step has taken
 */
public record RunExplanation(
    Run run, RunWait waitsFor, List<RunWait> steps, Instant now,
    List<UntakenSignal> untakenSignals) {
  /**
   * A signal that no step has taken.
   *
   * @param name as it was sent
   * @param id as it was sent
   * @param receivedTime when it arrived
   * @param sentence for a person: which step will take it later, or that none will
   */
  public record UntakenSignal(String name, String id, Instant receivedTime, String sentence) {}

  static RunExplanation of(ExplainRunResponse answer, PayloadFormat format) {
    return new RunExplanation(
        new Run(answer.getRun(), format),
        RunWait.of(answer.getWait()),
        answer.getStepsList().stream().map(RunWait::of).toList(),
        Times.fromProto(answer.getNow()),
        answer.getUntakenSignalsList().stream()
            .map(signal -> new UntakenSignal(
                signal.getName(), signal.getSignalId(),
                Times.fromProto(signal.getReceivedTime()), signal.getSentence()))
            .toList());
  }
}
