package dev.drover;

import dev.drover.v1.ListApprovalsRequest;
import dev.drover.v1.ListApprovalsResponse;
import dev.drover.v1.OperatorServiceGrpc.OperatorServiceBlockingStub;
import java.util.List;
import java.util.stream.Stream;

/** Steps of open runs that wait until people approve or reject. */
public final class Approvals {
  private final OperatorServiceBlockingStub operator;
  private final RunCommands commands;
  private final PayloadFormat format;

  Approvals(OperatorServiceBlockingStub operator, RunCommands commands, PayloadFormat format) {
    this.operator = operator;
    this.commands = commands;
    this.format = format;
  }

  /**
   * Reads all of them, page by page.
   *
   * @return those of the oldest runs first; throws CallException as it is read
   */
  public Stream<Approval> list() {
    return list(ListApprovalsRequest.getDefaultInstance());
  }

  /**
   * Reads those of a run.
   *
   * @param run its name
   * @return in the order of its steps
   */
  public Stream<Approval> listOf(RunName run) {
    return list(ListApprovalsRequest.newBuilder().setRun(Contract.ref(run)).build());
  }

  /**
   * Reads those on which a person may decide and has not decided.
   *
   * @param approver the person
   * @param roles of the person
   * @return those of the oldest runs first
   */
  public Stream<Approval> listFor(String approver, String... roles) {
    return list(ListApprovalsRequest.newBuilder()
        .setApprover(approver).addAllRoles(List.of(roles)).build());
  }

  private Stream<Approval> list(ListApprovalsRequest request) {
    return Pages.stream(token -> {
      ListApprovalsResponse page = RunCommands.ask(() ->
          operator.listApprovals(request.toBuilder().setPageToken(token).build()));
      List<Approval> approvals = page.getApprovalsList().stream()
          .map(approval -> new Approval(approval, format)).toList();
      return new Pages.Page<>(approvals, page.getNextPageToken());
    });
  }

  /**
   * Answers one; the same as {@link Client#decide}.
   *
   * @param run its run
   * @param stepId its step
   * @param decision of one approver
   * @return true: this approver made the same decision before
   */
  public boolean decide(RunName run, String stepId, Decision decision) {
    return commands.decide(run, stepId, decision);
  }
}
