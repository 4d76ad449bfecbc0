package dev.drover;

/**
 * An escalation that was answered.
 *
 * @param escalation after the answer
 * @param run after the answer
 * @param isRepeated the same answer was given before
 */
public record Resolved(Escalation escalation, Run run, boolean isRepeated) {}
