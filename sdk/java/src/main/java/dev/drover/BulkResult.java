package dev.drover;

import io.grpc.Status;
import java.util.Optional;

/**
 * What became of one run of a bulk action.
 *
 * @param run of the action
 * @param newRun of a retry and a re-run
 * @param refusal empty: the action was applied; else the run was left unchanged
 */
public record BulkResult(
    RunName.Id run, Optional<RunName.Id> newRun, Optional<CallException> refusal) {
  static BulkResult of(dev.drover.v1.BulkResult message) {
    return new BulkResult(
        new RunName.Id(message.getRunId()),
        message.getNewRunId().isEmpty()
            ? Optional.empty()
            : Optional.of(new RunName.Id(message.getNewRunId())),
        message.getStatus().getCode() == Status.Code.OK.value()
            ? Optional.empty()
            : Optional.of(CallException.of(message.getStatus())));
  }
}
