package dev.drover;

import dev.drover.v1.ClaimEscalationRequest;
import dev.drover.v1.GetEscalationRequest;
import dev.drover.v1.GetEscalationResponse;
import dev.drover.v1.ListEscalationsRequest;
import dev.drover.v1.ListEscalationsResponse;
import dev.drover.v1.OperatorServiceGrpc.OperatorServiceBlockingStub;
import dev.drover.v1.ReleaseEscalationRequest;
import dev.drover.v1.ResolveEscalationRequest;
import dev.drover.v1.ResolveEscalationResponse;
import java.util.Optional;
import java.util.stream.Stream;

/** Questions that only a person can answer, and their answers. */
public final class Escalations {
  private final OperatorServiceBlockingStub operator;
  private final PayloadFormat format;

  Escalations(OperatorServiceBlockingStub operator, PayloadFormat format) {
    this.operator = operator;
    this.format = format;
  }

  /**
   * Reads those that are open, page by page.
   *
   * @return those of the newest runs first, without the answers that they accept; throws
   *     CallException as it is read
   */
  public Stream<Escalation> list() {
    return list(false);
  }

  /**
   * As {@link #list()}, with those that are closed.
   *
   * @return those of the newest runs first
   */
  public Stream<Escalation> listWithClosed() {
    return list(true);
  }

  private Stream<Escalation> list(boolean isWithClosed) {
    return Pages.stream(token -> {
      ListEscalationsResponse page = RunCommands.ask(() -> operator.listEscalations(
          ListEscalationsRequest.newBuilder()
              .setIncludeClosed(isWithClosed).setPageToken(token).build()));
      return new Pages.Page<>(
          page.getEscalationsList().stream().map(Escalation::of).toList(),
          page.getNextPageToken());
    });
  }

  /**
   * Reads one with its history and the answers that it accepts.
   *
   * @param run its run
   * @param id its id
   * @return the escalation
   */
  public EscalationDetails get(RunName run, String id) {
    GetEscalationResponse answer = RunCommands.ask(() -> operator.getEscalation(
        GetEscalationRequest.newBuilder()
            .setRun(Contract.ref(run)).setEscalationId(id).build()));
    return new EscalationDetails(
        Escalation.of(answer.getEscalation()),
        new Run(answer.getRun(), format),
        answer.hasStep() ? Optional.of(new RunStep(answer.getStep(), format)) : Optional.empty(),
        answer.getAttemptsList().stream().map(attempt -> new Attempt(attempt, format)).toList(),
        answer.getEffectKey());
  }

  /**
   * Answers one.
   *
   * @param run its run
   * @param id its id
   * @param answer one that it accepts
   * @return the escalation and the run after it; with the reason {@link Reason#ANSWER_NOT_ALLOWED}
   *     it is refused
   */
  public Resolved resolve(RunName run, String id, Resolution answer) {
    ResolveEscalationRequest request = answer.toRequest(format)
        .setRun(Contract.ref(run)).setEscalationId(id).build();
    ResolveEscalationResponse given = RunCommands.ask(() -> operator.resolveEscalation(request));
    return new Resolved(
        Escalation.of(given.getEscalation()), new Run(given.getRun(), format),
        given.getRepeated());
  }

  /**
   * Records that a person works on it; other people may still answer it.
   *
   * @param run its run
   * @param id its id
   * @param by who, as the caller states it
   * @return the escalation; with the reason {@link Reason#ESCALATION_CLAIMED} it is refused,
   *     because another person has claimed it
   */
  public Escalation claim(RunName run, String id, String by) {
    return claim(run, id, by, false);
  }

  /**
   * As {@link #claim}, although another person may have claimed it.
   *
   * @param run its run
   * @param id its id
   * @param by who, as the caller states it
   * @return the escalation
   */
  public Escalation claimAnyway(RunName run, String id, String by) {
    return claim(run, id, by, true);
  }

  private Escalation claim(RunName run, String id, String by, boolean isAnyway) {
    ClaimEscalationRequest request = ClaimEscalationRequest.newBuilder()
        .setRun(Contract.ref(run)).setEscalationId(id).setBy(by).setAnyway(isAnyway).build();
    return Escalation.of(
        RunCommands.ask(() -> operator.claimEscalation(request)).getEscalation());
  }

  /**
   * Takes the claim of a person back.
   *
   * @param run its run
   * @param id its id
   * @param by who, as the caller states it
   * @return the escalation; with the reason {@link Reason#ESCALATION_CLAIMED} it is refused,
   *     because another person has claimed it
   */
  public Escalation release(RunName run, String id, String by) {
    return release(run, id, by, false);
  }

  /**
   * As {@link #release}, although another person may have claimed it.
   *
   * @param run its run
   * @param id its id
   * @param by who, as the caller states it
   * @return the escalation
   */
  public Escalation releaseAnyway(RunName run, String id, String by) {
    return release(run, id, by, true);
  }

  private Escalation release(RunName run, String id, String by, boolean isAnyway) {
    ReleaseEscalationRequest request = ReleaseEscalationRequest.newBuilder()
        .setRun(Contract.ref(run)).setEscalationId(id).setBy(by).setAnyway(isAnyway).build();
    return Escalation.of(
        RunCommands.ask(() -> operator.releaseEscalation(request)).getEscalation());
  }
}
