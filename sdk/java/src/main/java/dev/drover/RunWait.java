package dev.drover;

import dev.drover.v1.Wait;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What a run or one of its steps waits for.
 *
 * @param stepId of the step, or of the item of a map; empty: the run as a whole
 * @param isUndo whether it is about the undoing of the step
 * @param waitingFor what it waits for
 * @param sentence the whole entry in one sentence for a person
 * @param sinceTime since when it waits; empty: it has ended
 * @param next what happens at the next time if nothing else happens before; empty: nothing
 * @param nextTime in the past: it is due
 * @param tried empty: no agent performs the step
 * @param actions what a person can do
 * @param waitsOn the steps for which it waits
 * @param taskKind what an agent must do; empty: no agent performs the step
 * @param lane with AGENT_TO_POLL
 * @param agent with AGENT_WORKING, AGENT_TO_STOP and CALLBACK
 * @param signalName with SIGNAL; else empty
 * @param approval with APPROVAL
 * @param child with CHILD: {@link Client#explainRun} of that run says what it waits for
 * @param escalation with PERSON
 */
public record RunWait(
    String stepId, boolean isUndo, For waitingFor, String sentence, Optional<Instant> sinceTime,
    Optional<Next> next, Optional<Instant> nextTime, Optional<Tried> tried,
    List<PersonAction> actions, List<String> waitsOn, Optional<TaskKind> taskKind,
    Optional<Lane> lane, Optional<Agent> agent, String signalName, Optional<Approval> approval,
    Optional<Child> child, Optional<Escalation> escalation) {
  /** What a run or a step waits for. */
  public enum For {
    /** An agent that takes its task. */
    AGENT_TO_POLL,
    /** The agent that holds its task. */
    AGENT_WORKING,
    /** The agent that is asked to stop, or will be with its next heartbeat. */
    AGENT_TO_STOP,
    /** The next try. */
    BACKOFF,
    /** The time that its agent asked for. */
    AGAIN,
    /** The time until which a lost attempt may still act. */
    SETTLE,
    /** A time. */
    TIMER,
    /** A signal. */
    SIGNAL,
    /** People who can approve. */
    APPROVAL,
    /** The outcome of an attempt that its agent has deferred. */
    CALLBACK,
    /** The answer of a person. */
    PERSON,
    /** That the run is resumed. */
    RESUME,
    /** Other steps. */
    STEPS,
    /** The end of the run: it always runs, and last. */
    END_OF_RUN,
    /** Nothing: the run has ended. */
    ENDED,
    /** The start of the run. */
    START,
    /** A permit of its concurrency key. */
    PERMIT,
    /** The items of a map. */
    ITEMS,
    /** A child run. */
    CHILD,
    /** That its queue, the namespace or the workflow is resumed. */
    QUEUE_TO_RESUME,
    /** That the circuit of its task closes. */
    CIRCUIT_TO_CLOSE,
    /** Something of a newer server. */
    UNRECOGNIZED
  }

  /** What happens if nothing else happens before. */
  public enum Next {
    /** The supervisor checks again. */
    CHECK_AGAIN,
    /** The supervisor raises an alarm: no agent polls for the task. */
    ALARM,
    /** A person is asked. */
    ESCALATE,
    /** The next fallback is tried. */
    FALL_BACK,
    /** The step fails. */
    FAIL,
    /** The supervisor checks the lease. */
    CHECK_LEASE,
    /** The agent is asked to stop. */
    TELL_TO_STOP,
    /** The lease ends. */
    END_LEASE,
    /** The task goes into its queue. */
    MAKE_READY,
    /** The step succeeds. */
    SUCCEED,
    /** The step is skipped. */
    SKIP,
    /** The outcome of the attempt counts as unknown. */
    COUNT_AS_UNKNOWN,
    /** The undoing of the run begins. */
    UNDO,
    /** The first steps of the run begin. */
    START,
    /** The run ends without having started. */
    GIVE_UP,
    /** The next wave of a map may begin. */
    NEXT_WAVE,
    /** The child run is asked to stop. */
    STOP_CHILD,
    /** The open circuit lets one task through. */
    TRY_ONE,
    /** Something of a newer server. */
    UNRECOGNIZED
  }

  /** Why an agent is asked to stop. */
  public enum StopCause {
    /** The run stops. */
    RUN,
    /** The attempt reached its timeout. */
    TIMEOUT,
    /** The progress of the attempt did not change. */
    STALLED,
    /** A cause of a newer server. */
    UNRECOGNIZED
  }

  /**
   * What was tried so far.
   *
   * @param attempts how many attempts counted
   * @param lost how many were lost in a row
   * @param handedOut how often the task was handed out
   * @param verifies how many verify tasks could not find out what happened
   * @param strategy 0: as defined; n: its n-th fallback
   * @param strategies how many there are
   * @param lastOutcome empty: no attempt has ended
   * @param lastFailure empty: there was none
   * @param lastAgentId empty: there was none
   * @param lastEndedTime empty: no attempt has ended
   */
  public record Tried(
      int attempts, int lost, int handedOut, int verifies, int strategy, int strategies,
      Optional<Attempt.Outcome> lastOutcome, Optional<Failure> lastFailure, String lastAgentId,
      Optional<Instant> lastEndedTime) {}

  /**
   * A task in its queue.
   *
   * @param queue its name
   * @param task its name
   * @param isPolled whether an agent polled for it in the last minute
   * @param lastPollTime empty: none in the last minutes
   * @param alarms how many alarms there were that no agent serves it
   * @param cordoned how many agent sessions poll for it, if every one of them is cordoned; else 0
   * @param agentVersion only agents of this version get it; empty: all do
   */
  public record Lane(
      String queue, String task, boolean isPolled, Optional<Instant> lastPollTime, int alarms,
      int cordoned, String agentVersion) {}

  /**
   * A task that an agent holds.
   *
   * @param id of the agent; empty: it is no longer on record
   * @param lastHeartbeatTime empty: none yet, or the agent has deferred the task
   * @param progress empty: none
   * @param progressTime when it last changed
   * @param attemptEndTime when the attempt reaches its timeout; empty: the agent is asked to stop
   * @param stopCause empty: the agent is not asked to stop
   * @param isStopDelivered whether the answer to a heartbeat has asked it to stop
   * @param suspectTime since when it runs far longer than other attempts did; empty: it does not
   */
  public record Agent(
      String id, Optional<Instant> lastHeartbeatTime, Optional<Progress> progress,
      Optional<Instant> progressTime, Optional<Instant> attemptEndTime,
      Optional<StopCause> stopCause, boolean isStopDelivered, Optional<Instant> suspectTime) {}

  /**
   * An approval step that waits.
   *
   * @param approvers names and roles of the people who may approve; empty: anyone may
   * @param approvals how many there are so far
   * @param need how many are needed
   */
  public record Approval(List<String> approvers, int approvals, int need) {}

  /**
   * A child run.
   *
   * @param run its name
   * @param isStopping whether it was asked to stop
   */
  public record Child(RunName.Id run, boolean isStopping) {}

  /**
   * An open escalation.
   *
   * @param id within its run
   * @param reason a stable name of its cause
   * @param message what happened, in words for a person
   */
  public record Escalation(String id, String reason, String message) {}

  static RunWait of(Wait wait) {
    return new RunWait(
        wait.getStepId(), wait.getUndo(),
        Contract.read(For.class, "WAIT_KIND_", wait.getWaitingFor()),
        wait.getSentence(),
        Contract.time(wait.hasSinceTime(), wait.getSinceTime()),
        Contract.readIfSet(Next.class, "NEXT_KIND_", wait.getNext()),
        Contract.time(wait.hasNextTime(), wait.getNextTime()),
        wait.hasTried() ? Optional.of(tried(wait.getTried())) : Optional.empty(),
        wait.getActionsList().stream().map(PersonAction::of).toList(),
        List.copyOf(wait.getWaitsOnList()),
        Contract.find(TaskKind.class, "TASK_KIND_", wait.getTaskKind()),
        wait.hasLane() ? Optional.of(lane(wait.getLane())) : Optional.empty(),
        wait.hasAgent() ? Optional.of(agent(wait.getAgent())) : Optional.empty(),
        wait.getSignalName(),
        wait.hasApproval() ? Optional.of(approval(wait.getApproval())) : Optional.empty(),
        wait.hasChild() ? Optional.of(child(wait.getChild())) : Optional.empty(),
        wait.hasEscalation() ? Optional.of(escalation(wait.getEscalation())) : Optional.empty());
  }

  private static Tried tried(dev.drover.v1.Tried tried) {
    return new Tried(
        tried.getAttempts(), tried.getLost(), tried.getHandedOut(), tried.getVerifies(),
        tried.getStrategy(), tried.getStrategies(),
        Contract.readIfSet(Attempt.Outcome.class, "OUTCOME_KIND_", tried.getLastOutcome()),
        tried.hasLastFailure()
            ? Optional.of(Failure.of(tried.getLastFailure()))
            : Optional.empty(),
        tried.getLastAgentId(),
        Contract.time(tried.hasLastEndedTime(), tried.getLastEndedTime()));
  }

  private static Lane lane(dev.drover.v1.LaneWait lane) {
    return new Lane(
        lane.getQueue(), lane.getTask(), lane.getPolled(),
        Contract.time(lane.hasLastPollTime(), lane.getLastPollTime()),
        lane.getAlarms(), lane.getCordoned(), lane.getAgentVersion());
  }

  private static Agent agent(dev.drover.v1.AgentWait agent) {
    return new Agent(
        agent.getAgentId(),
        Contract.time(agent.hasLastHeartbeatTime(), agent.getLastHeartbeatTime()),
        agent.hasProgress() ? Optional.of(Progress.of(agent.getProgress())) : Optional.empty(),
        Contract.time(agent.hasProgressTime(), agent.getProgressTime()),
        Contract.time(agent.hasAttemptEndTime(), agent.getAttemptEndTime()),
        Contract.readIfSet(StopCause.class, "STOP_CAUSE_", agent.getStopCause()),
        agent.getStopDelivered(),
        Contract.time(agent.hasSuspectTime(), agent.getSuspectTime()));
  }

  private static Approval approval(dev.drover.v1.ApprovalWait approval) {
    return new Approval(
        List.copyOf(approval.getApproversList()), approval.getApprovals(), approval.getNeed());
  }

  private static Child child(dev.drover.v1.ChildWait child) {
    return new Child(new RunName.Id(child.getRunId()), child.getStopping());
  }

  private static Escalation escalation(dev.drover.v1.EscalationWait escalation) {
    return new Escalation(
        escalation.getId(), escalation.getReason(), escalation.getMessage());
  }
}
