package dev.drover;

import java.util.List;
import java.util.Optional;

/**
 * An escalation with its history.
 *
 * @param escalation with the answers that it accepts now
 * @param run of the escalation
 * @param step of the escalation; empty: it concerns the run as a whole
 * @param attempts every hand-out of a task of that step, oldest first
 * @param effectKey the key by which the remote service knows the effect; empty: no task of the step
 *     was handed out
 */
public record EscalationDetails(
    Escalation escalation, Run run, Optional<RunStep> step, List<Attempt> attempts,
    String effectKey) {}
