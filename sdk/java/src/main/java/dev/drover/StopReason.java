package dev.drover;

/** Why a handler must stop. */
public enum StopReason {
  /** The server requested it: the run is being stopped, or the attempt took too long. */
  CANCELLED("cancelled", "stopped: the server asked to cancel the task"),
  /** The server answered that the task no longer belongs to this agent. */
  LEASE_LOST("lease-lost", "stopped: the server has given the task to another"),
  /** By the agent's own clock the lease ended, because no heartbeat was answered. */
  LEASE_ENDED(
      "lease-ended", "stopped: the lease ended, because no heartbeat was answered in time"),
  /** The time of the attempt has passed. */
  ATTEMPT_OVER("attempt-over", "stopped: the time of the attempt is over"),
  /** The agent is stopping, and its grace is over. */
  AGENT_STOPPED("agent-stopped", "stopped: the agent is being stopped");

  private final String code;
  private final String text;

  StopReason(String code, String text) {
    this.code = code;
    this.text = text;
  }

  /**
   * The code under which the attempt is reported, such as {@code lease-ended}.
   *
   * @return the same in the SDKs of all languages
   */
  public String code() {
    return code;
  }

  String text() {
    return text;
  }
}
