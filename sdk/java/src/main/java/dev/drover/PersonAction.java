package dev.drover;

import java.util.List;

/**
 * What a person, or a program on behalf of a person, can do. What an action has no use for is
 * empty.
 *
 * @param kind what to do
 * @param stepId of the step
 * @param escalationId of the escalation, for {@link Escalations#resolve}
 * @param choices the possible values
 * @param signalName of the signal
 * @param queue of the task
 * @param task its name
 * @param agentVersion the version that the agent must have; empty: any
 * @param region that a supervisor must watch
 * @param workflow its name
 * @param approvers who may decide
 */
public record PersonAction(
    Kind kind, String stepId, String escalationId, List<String> choices, String signalName,
    String queue, String task, String agentVersion, String region, String workflow,
    List<String> approvers) {
  /** What to do. */
  public enum Kind {
    /** Start an agent that polls the queue for the task. */
    START_AGENT,
    /** Answer the escalation with one of the choices. */
    ANSWER,
    /** Send the signal. */
    SIGNAL,
    /** Approve or reject. */
    DECIDE,
    /** Report the outcome of the deferred attempt. */
    COMPLETE_DEFERRED,
    /** Pause the run. */
    PAUSE,
    /** Resume the run. */
    RESUME,
    /** Cancel the run; the choices say what happens to the work. */
    CANCEL,
    /** Retry the run, which has ended. */
    RETRY_RUN,
    /** Repeat the run, which has ended, from its start or a step. */
    RERUN,
    /** Resume the queue. */
    RESUME_QUEUE,
    /** Resume the namespace. */
    RESUME_NAMESPACE,
    /** Resume the workflow. */
    RESUME_WORKFLOW,
    /** Set the circuit of the task in the queue. */
    SET_CIRCUIT,
    /** Let an agent that polls the queue for the task have tasks again. */
    UNCORDON_AGENT,
    /** Start a supervisor that watches the region. */
    START_SUPERVISOR,
    /** One of a newer server. */
    UNRECOGNIZED
  }

  static PersonAction of(dev.drover.v1.PersonAction message) {
    return new PersonAction(
        Contract.read(Kind.class, "ACTION_KIND_", message.getKind()),
        message.getStepId(), message.getEscalationId(), List.copyOf(message.getChoicesList()),
        message.getSignalName(), message.getQueue(), message.getTask(),
        message.getAgentVersion(), message.getRegion(), message.getWorkflow(),
        List.copyOf(message.getApproversList()));
  }
}
