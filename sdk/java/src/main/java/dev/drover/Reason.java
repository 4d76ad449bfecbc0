package dev.drover;

/**
 * The reasons of errors, as {@link CallException#reason()} has them: stable names for programs. A
 * newer server may send a reason that is not among them; use the code of gRPC then.
 */
public final class Reason {
  /**
   * INVALID_ARGUMENT. A field is missing, malformed or out of limits; BadRequest names each.
   * Correct the request.
   */
  public static final String INVALID_REQUEST = "INVALID_REQUEST";

  /**
   * INVALID_ARGUMENT. A workflow definition is not consistent: a cycle, an unknown or repeated
   * step, an unknown field, fields that exclude each other, a wrong expression, a text that does
   * not parse. BadRequest names each problem, with line and column for a text. Correct the
   * definition.
   */
  public static final String INVALID_DEFINITION = "INVALID_DEFINITION";

  /**
   * INVALID_ARGUMENT. The request is well-formed, but asks for a feature that this version of
   * the server does not have; BadRequest names the field. Leave the field out, or use a newer
   * server. Not sent by this version.
   */
  public static final String NOT_SUPPORTED = "NOT_SUPPORTED";

  /**
   * INVALID_ARGUMENT. A payload is over the limit of the namespace; metadata has {@code
   * size_bytes} and {@code limit_bytes}. Keep the data in object storage and send its address.
   */
  public static final String PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE";

  /**
   * RESOURCE_EXHAUSTED. The whole message is over 4 MiB. Split the call, or send less. Without
   * RetryInfo: repeating it unchanged does not help. Native gRPC refuses it without details.
   */
  public static final String MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE";

  /**
   * INVALID_ARGUMENT. The bytes are not a message of this type. Compare the versions of the
   * contract, and check the proxies between client and server.
   */
  public static final String MALFORMED_MESSAGE = "MALFORMED_MESSAGE";

  /**
   * INVALID_ARGUMENT. A task token or callback token was not made by a server. Send the token
   * exactly as it was received.
   */
  public static final String MALFORMED_TOKEN = "MALFORMED_TOKEN";

  /**
   * INVALID_ARGUMENT. A page token is malformed, or belongs to another filter or order. Start
   * again at the first page.
   */
  public static final String PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID";

  /**
   * INVALID_ARGUMENT. The deadline of the call is too far away; metadata has {@code
   * limit_seconds}. Set a nearer one, or none for WatchRun.
   */
  public static final String DEADLINE_TOO_LONG = "DEADLINE_TOO_LONG";

  /** NOT_FOUND. There is no namespace of this name. Check the name. */
  public static final String NAMESPACE_NOT_FOUND = "NAMESPACE_NOT_FOUND";

  /**
   * NOT_FOUND. The namespace has no such workflow, or not this version of it. Register it first.
   */
  public static final String WORKFLOW_NOT_FOUND = "WORKFLOW_NOT_FOUND";

  /** NOT_FOUND. The namespace has no such run. Check the id or key; old runs are removed. */
  public static final String RUN_NOT_FOUND = "RUN_NOT_FOUND";

  /**
   * NOT_FOUND. A task token or callback token does not belong to a task of this namespace. Drop
   * the task.
   */
  public static final String TASK_NOT_FOUND = "TASK_NOT_FOUND";

  /**
   * ALREADY_EXISTS. The key was used with another request; metadata has {@code run_id}. Use
   * another key, or repeat the first request unchanged.
   */
  public static final String KEY_REUSED = "KEY_REUSED";

  /**
   * FAILED_PRECONDITION. The report or callback came too late: the step was handed out again, or
   * the step or run has ended. The report is kept as evidence and changed no state. Stop the
   * work and drop the task.
   */
  public static final String LEASE_LOST = "LEASE_LOST";

  /** FAILED_PRECONDITION. The attempt has already ended by another report. Drop the task. */
  public static final String TASK_OVER = "TASK_OVER";

  /**
   * FAILED_PRECONDITION. The state of the run does not allow the call; metadata has {@code
   * state}.
   */
  public static final String RUN_STATE = "RUN_STATE";

  /**
   * RESOURCE_EXHAUSTED, with RetryInfo. The server has more calls than it can hold. Nothing was
   * changed: repeat the call after the delay, or on another server.
   */
  public static final String OVERLOADED = "OVERLOADED";

  /**
   * UNAVAILABLE, with RetryInfo. The database is unavailable or slow. It is not known whether
   * the call took effect: repeat it unchanged.
   */
  public static final String STORE_UNAVAILABLE = "STORE_UNAVAILABLE";

  /**
   * UNAVAILABLE, with RetryInfo. This server is about to stop. Repeat the call on another
   * server.
   */
  public static final String DRAINING = "DRAINING";

  /**
   * INTERNAL. A defect of the server. It is not known whether the call took effect; repeating it
   * is safe. Report the defect with the message.
   */
  public static final String INTERNAL = "INTERNAL";

  /** NOT_FOUND. The run has no escalation of this id. GetRun lists its escalations. */
  public static final String ESCALATION_NOT_FOUND = "ESCALATION_NOT_FOUND";

  /**
   * NOT_FOUND. The run has no step of this id, or the step is not an approval. Check the id.
   */
  public static final String STEP_NOT_FOUND = "STEP_NOT_FOUND";

  /**
   * FAILED_PRECONDITION. The escalation is closed: it got another answer, or an event settled
   * it; metadata has {@code closed_by}. No answer is needed any more.
   */
  public static final String ESCALATION_CLOSED = "ESCALATION_CLOSED";

  /**
   * FAILED_PRECONDITION. The escalation is open and does not accept this answer now; metadata
   * has {@code state} of the run and {@code answers}, the accepted answers separated by commas.
   * Give one of them.
   */
  public static final String ANSWER_NOT_ALLOWED = "ANSWER_NOT_ALLOWED";

  /**
   * FAILED_PRECONDITION. The approval does not accept this decision: it does not wait for one,
   * the approver may not decide or has already decided otherwise, or the form breaks its schema;
   * the message says which, and metadata has {@code state} of the run.
   */
  public static final String DECISION_REFUSED = "DECISION_REFUSED";

  /**
   * RESOURCE_EXHAUSTED, without RetryInfo. The run holds the maximum number of signals, 1,000;
   * metadata has {@code limit}. Send the signal to another run.
   */
  public static final String SIGNAL_LIMIT = "SIGNAL_LIMIT";

  /**
   * INVALID_ARGUMENT. No step of the run takes a signal of this name, and nothing was stored.
   * Metadata has {@code takes}: the names that its steps take, separated by commas. Send one of
   * them.
   */
  public static final String SIGNAL_UNKNOWN = "SIGNAL_UNKNOWN";

  /**
   * NOT_FOUND. The namespace has no hook of this name. Create it with PutHook first, or use
   * another name.
   */
  public static final String HOOK_NOT_FOUND = "HOOK_NOT_FOUND";

  /**
   * FAILED_PRECONDITION. Another person has claimed the escalation; metadata has {@code
   * claimed_by}. Ask that person, or set {@code anyway}.
   */
  public static final String ESCALATION_CLAIMED = "ESCALATION_CLAIMED";

  /**
   * RESOURCE_EXHAUSTED, without RetryInfo. The concurrency key has no free permit, and its
   * policy is REFUSE; metadata has {@code key}, {@code limit}, and as {@code run_id} a run that
   * holds a permit. Nothing was stored: repeat the call when that run has ended, with the same
   * key if you like.
   */
  public static final String CONCURRENCY_LIMIT = "CONCURRENCY_LIMIT";

  /**
   * FAILED_PRECONDITION. A bulk action found another number of runs than was expected, and did
   * nothing. Metadata: expected, found. Repeat the {@code dry_run}.
   */
  public static final String COUNT_MISMATCH = "COUNT_MISMATCH";

  /**
   * NOT_FOUND. The namespace has no schedule of this name. ListSchedules lists the schedules.
   */
  public static final String SCHEDULE_NOT_FOUND = "SCHEDULE_NOT_FOUND";

  /**
   * ALREADY_EXISTS. The namespace has a schedule of this name with another content. Update it,
   * or use another name.
   */
  public static final String SCHEDULE_EXISTS = "SCHEDULE_EXISTS";

  /**
   * NOT_FOUND. The namespace has no trigger of this name. Create it with PutTrigger first, or
   * use another name.
   */
  public static final String TRIGGER_NOT_FOUND = "TRIGGER_NOT_FOUND";

  /**
   * INVALID_ARGUMENT. The mapping of a trigger fails for this body or run, or its result is not
   * a valid request; the message says where. Change the mapping, or the body that is sent.
   */
  public static final String MAPPING_FAILED = "MAPPING_FAILED";

  /**
   * NOT_FOUND. The namespace has no agent of this session, or no longer has it: the server
   * forgets agents that have not called for 10 minutes. ListAgents lists the agents.
   */
  public static final String AGENT_NOT_FOUND = "AGENT_NOT_FOUND";

  /**
   * ALREADY_EXISTS. There is a namespace of this name in another region; metadata has {@code
   * region}. A namespace cannot change its region: use another name.
   */
  public static final String NAMESPACE_EXISTS = "NAMESPACE_EXISTS";

  /**
   * RESOURCE_EXHAUSTED, with RetryInfo. The namespace has reached its maximum number of runs
   * that have not ended, of runs started or calls made per second, or of bytes that its runs
   * take; metadata has {@code limit}, which of them, {@code most}, and {@code used} where it is
   * counted. Nothing was stored: repeat the call after the delay, with the same key if you like.
   */
  public static final String NAMESPACE_LIMIT = "NAMESPACE_LIMIT";

  /**
   * UNAUTHENTICATED. The server requires an API token, and the call has none, or one that is
   * unknown, revoked or expired; metadata has {@code why}: missing, malformed, unknown, revoked,
   * expired. Send one as {@code authorization: Bearer drover_...}. Where the server accepts JWT,
   * {@code why} may also be invalid, early, issuer, audience, claims or unnamed.
   */
  public static final String TOKEN_REQUIRED = "TOKEN_REQUIRED";

  /**
   * PERMISSION_DENIED. The API token, JWT or client certificate is valid, but does not allow
   * this call: metadata has {@code token} (its name), {@code role}, and the missing permission
   * as {@code needs}. Use another token, or ask an administrator for one.
   */
  public static final String NOT_ALLOWED = "NOT_ALLOWED";

  /**
   * NOT_FOUND. There is no API token of this id, or it belongs to another namespace. ListTokens
   * lists the tokens.
   */
  public static final String TOKEN_NOT_FOUND = "TOKEN_NOT_FOUND";

  /**
   * UNAVAILABLE, with RetryInfo. The server cannot read the keys of the identity provider, so it
   * cannot verify the JWT of the call. The call did not take effect: repeat it after the delay.
   */
  public static final String KEYS_UNAVAILABLE = "KEYS_UNAVAILABLE";

  private Reason() {}
}
