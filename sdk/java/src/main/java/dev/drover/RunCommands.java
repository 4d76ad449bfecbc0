package dev.drover;

import dev.drover.v1.BulkActionRequest;
import dev.drover.v1.BulkActionResponse;
import dev.drover.v1.CancelRunRequest;
import dev.drover.v1.CompleteDeferredRequest;
import dev.drover.v1.DecideRequest;
import dev.drover.v1.DecisionKind;
import dev.drover.v1.Outcome;
import dev.drover.v1.PauseRunRequest;
import dev.drover.v1.RerunFromRequest;
import dev.drover.v1.RerunFromResponse;
import dev.drover.v1.ResumeRunRequest;
import dev.drover.v1.RetryRunRequest;
import dev.drover.v1.RetryRunResponse;
import dev.drover.v1.SchedulerServiceGrpc.SchedulerServiceBlockingStub;
import dev.drover.v1.SignalRequest;
import io.grpc.StatusRuntimeException;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The calls of a client that change runs. */
abstract class RunCommands {
  final SchedulerServiceBlockingStub scheduler;
  final PayloadFormat format;

  RunCommands(SchedulerServiceBlockingStub scheduler, PayloadFormat format) {
    this.scheduler = scheduler;
    this.format = format;
  }

  static <A> A ask(Supplier<A> call) {
    try {
      return call.get();
    } catch (StatusRuntimeException error) {
      throw CallException.of(error);
    }
  }

  /**
   * Stops a run.
   *
   * @param run its name
   * @param undo what happens to the work that was done
   * @param reason for people; may be empty
   * @return the run, stopping or ended
   */
  public Run cancelRun(RunName run, Undo undo, String reason) {
    CancelRunRequest request = CancelRunRequest.newBuilder()
        .setRun(Contract.ref(run)).setUndo(undo.toProto()).setReason(reason).build();
    return new Run(ask(() -> scheduler.cancelRun(request)).getRun(), format);
  }

  /**
   * Pauses a run: no new task is handed out, and tasks that agents hold continue.
   *
   * @param run its name
   * @param reason for people; may be empty
   * @return the run
   */
  public Run pauseRun(RunName run, String reason) {
    PauseRunRequest request =
        PauseRunRequest.newBuilder().setRun(Contract.ref(run)).setReason(reason).build();
    return new Run(ask(() -> scheduler.pauseRun(request)).getRun(), format);
  }

  /**
   * Resumes a paused run.
   *
   * @param run its name
   * @param reason for people; may be empty
   * @return the run
   */
  public Run resumeRun(RunName run, String reason) {
    ResumeRunRequest request =
        ResumeRunRequest.newBuilder().setRun(Contract.ref(run)).setReason(reason).build();
    return new Run(ask(() -> scheduler.resumeRun(request)).getRun(), format);
  }

  /**
   * Starts a new run, which reuses the steps that succeeded and performs the others.
   *
   * @param run its name
   * @param how with which version
   * @return the new run; created false: an earlier call with this request id made it
   */
  public Started retryRun(RunName run, Rerun how) {
    RetryRunRequest request = RetryRunRequest.newBuilder()
        .setRun(Contract.ref(run)).setRequestId(how.requestId).setVersion(how.version()).build();
    RetryRunResponse answer = ask(() -> scheduler.retryRun(request));
    return new Started(new RunName.Id(answer.getRunId()), "", answer.getCreated());
  }

  /**
   * Starts a new run, which performs a step and all steps after it again.
   *
   * @param run its name
   * @param stepId the step; empty: all steps
   * @param how with which version and input
   * @return the new run; created false: an earlier call with this request id made it
   */
  public Started rerunFrom(RunName run, String stepId, Rerun how) {
    RerunFromRequest.Builder request = RerunFromRequest.newBuilder()
        .setRun(Contract.ref(run)).setStepId(stepId)
        .setRequestId(how.requestId).setVersion(how.version());
    if (how.input != null) {
      request.setInput(format.encode(how.input));
    }
    RerunFromResponse answer = ask(() -> scheduler.rerunFrom(request.build()));
    return new Started(new RunName.Id(answer.getRunId()), "", answer.getCreated());
  }

  /**
   * Counts the runs to which an action would apply, and does nothing to them.
   *
   * @param action which, on which runs
   * @return at most 10,001
   */
  public int countForBulk(BulkAction action) {
    BulkActionRequest request = action.toRequest(format).setDryRun(true).build();
    return ask(() -> scheduler.bulkAction(request)).getCount();
  }

  /**
   * Applies one action to all runs that match its filter, oldest first. Count the runs first, by
   * {@link #countForBulk}, and set the expected count: if the number differs then, nothing is done.
   *
   * @param action which, on which runs
   * @return a result for each run; throws CallException as it is read
   */
  public Stream<BulkResult> bulk(BulkAction action) {
    BulkActionRequest.Builder named = action.toRequest(format);
    if (named.getRequestId().isEmpty()) {
      // All its pages are one action, under one request id.
      named.setRequestId(RandomNames.next());
    }
    BulkActionRequest request = named.build();
    return Pages.stream(token -> {
      BulkActionResponse page = ask(() -> scheduler.bulkAction(
          request.toBuilder().setPageToken(token).build()));
      return new Pages.Page<>(
          page.getResultsList().stream().map(BulkResult::of).toList(), page.getNextPageToken());
    });
  }

  /**
   * Sends an event for a step that waits for it, under a random id.
   *
   * @param run its name
   * @param name of the signal
   * @param payload has a JSON form, or is a payload; null: none
   */
  public void signal(RunName run, String name, Object payload) {
    signal(run, name, RandomNames.next(), payload);
  }

  /**
   * Sends an event for a step that waits for it; it is stored until a step takes it.
   *
   * @param run its name
   * @param name of the signal
   * @param id the caller's own name for the signal: one id makes one signal only
   * @param payload has a JSON form, or is a payload; null: none
   * @return true: a signal of this id was stored before
   */
  public boolean signal(RunName run, String name, String id, Object payload) {
    SignalRequest.Builder request =
        SignalRequest.newBuilder().setRun(Contract.ref(run)).setName(name).setSignalId(id);
    if (payload != null) {
      request.setPayload(format.encode(payload));
    }
    return ask(() -> scheduler.signal(request.build())).getRepeated();
  }

  /**
   * Answers a step that waits for people.
   *
   * @param run its name
   * @param stepId the step
   * @param decision of one approver
   * @return true: this approver made the same decision before
   */
  public boolean decide(RunName run, String stepId, Decision decision) {
    DecisionKind kind = decision.isApproval()
        ? DecisionKind.DECISION_KIND_APPROVE
        : DecisionKind.DECISION_KIND_REJECT;
    DecideRequest.Builder request = DecideRequest.newBuilder()
        .setRun(Contract.ref(run)).setStepId(stepId).setDecision(kind)
        .setApprover(decision.approver()).addAllRoles(decision.roles())
        .setComment(decision.comment());
    // The server reads a form, so no codec hides it.
    if (decision.form() != null) {
      request.setForm(format.toPayload(decision.form()));
    }
    return ask(() -> scheduler.decide(request.build())).getRepeated();
  }

  /**
   * Reports that a deferred attempt has succeeded.
   *
   * @param token its {@link TaskContext#callbackToken()}
   * @param output has a JSON form, or is a payload; null: none
   * @return true: the same outcome was reported before
   */
  public boolean completeDeferred(String token, Object output) {
    Outcome.Success.Builder success = Outcome.Success.newBuilder();
    if (output != null) {
      success.setOutput(format.encode(output));
    }
    CompleteDeferredRequest request = CompleteDeferredRequest.newBuilder()
        .setCallbackToken(token).setSuccess(success).build();
    return ask(() -> scheduler.completeDeferred(request)).getRepeated();
  }

  /**
   * Reports that a deferred attempt has failed.
   *
   * @param token its {@link TaskContext#callbackToken()}
   * @param failure a transient or a permanent one
   * @return true: the same outcome was reported before
   * @throws IllegalArgumentException for another kind of failure
   */
  public boolean failDeferred(String token, TaskException failure) {
    boolean isFailure = failure.kind() == TaskException.Kind.TRANSIENT
        || failure.kind() == TaskException.Kind.PERMANENT;
    if (!isFailure) {
      throw new IllegalArgumentException(
          "a deferred failure is transient or permanent, and not " + failure.kind());
    }
    CompleteDeferredRequest request = CompleteDeferredRequest.newBuilder()
        .setCallbackToken(token).setFailed(Outcomes.toFailed(failure)).build();
    return ask(() -> scheduler.completeDeferred(request)).getRepeated();
  }
}
