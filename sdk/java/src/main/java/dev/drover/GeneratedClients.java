package dev.drover;

import dev.drover.v1.OperatorServiceGrpc.OperatorServiceBlockingStub;
import dev.drover.v1.Payload;
import dev.drover.v1.RunRef;
import dev.drover.v1.SchedulerServiceGrpc.SchedulerServiceBlockingStub;
import java.util.Objects;

/**
 * The generated clients, for calls that have no method of their own here: schedules, hooks,
 * triggers, queues, agents. They have the namespace, the repeats and the codec of their {@link
 * Client}, and throw StatusRuntimeException, of which {@link CallException#of} reads the reason.
 *
 * <p>This class alone has messages of package {@code dev.drover.v1} in its methods.
 */
public final class GeneratedClients {
  private final SchedulerServiceBlockingStub scheduler;
  private final OperatorServiceBlockingStub operator;
  private final PayloadFormat format;

  GeneratedClients(
      SchedulerServiceBlockingStub scheduler, OperatorServiceBlockingStub operator,
      PayloadFormat format) {
    this.scheduler = scheduler;
    this.operator = operator;
    this.format = format;
  }

  /**
   * The client of SchedulerService.
   *
   * @return for programs that start and read runs
   */
  public SchedulerServiceBlockingStub scheduler() {
    return scheduler;
  }

  /**
   * The client of OperatorService.
   *
   * @return for programs that operate
   */
  public OperatorServiceBlockingStub operator() {
    return operator;
  }

  /**
   * The name of a run in a request.
   *
   * @param run its name
   * @return the message
   */
  public RunRef ref(RunName run) {
    return Contract.ref(run);
  }

  /**
   * A payload in a request, made with the codec.
   *
   * @param value has a JSON form, or is a payload
   * @return the message
   * @throws PayloadException if it has none
   */
  public Payload payload(Object value) {
    return format.encode(Objects.requireNonNull(value, "value"));
  }
}
