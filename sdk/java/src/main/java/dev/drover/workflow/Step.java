package dev.drover.workflow;

import dev.drover.Task;
import dev.drover.v1.Escalate;
import dev.drover.v1.RunStep;
import dev.drover.v1.SignalStep;
import dev.drover.v1.StepDefinition;
import dev.drover.v1.StepLogs;
import dev.drover.v1.WaitStep;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * One node of the graph: a builder, which {@link Workflow.Builder#step} reads. The server refuses
 * settings that mean nothing for a kind of step.
 *
 * @param <T> what the step takes from the run, without an input of its own
 * @param <S> the kind of step
 */
public abstract class Step<T, S extends Step<T, S>> {
  final StepDefinition.Builder message;

  Step(StepDefinition.Builder message) {
    this.message = message;
  }

  abstract S self();

  StepDefinition build() {
    return message.build();
  }

  static StepDefinition.Builder begin(String id) {
    return StepDefinition.newBuilder().setId(Objects.requireNonNull(id, "id"));
  }

  /**
   * A step that an agent performs.
   *
   * @param id of the step
   * @param task the definition of its task
   * @param <I> the input of the task
   * @param <O> the output of the task
   * @return the step; without an input of its own it gets the input of the run
   */
  public static <I, O> TaskStep<I, O, I> task(String id, Task<I, O> task) {
    return new TaskStep<>(id, task);
  }

  /**
   * A step that performs a task for each item of a list.
   *
   * @param id of the step
   * @param over an expression that gives a list, or a number of items
   * @param task the definition of the task; an item is its input
   * @return the step
   */
  public static MapStep map(String id, String over, Task<?, ?> task) {
    return new MapStep(id, over, task);
  }

  /**
   * A step that waits for people.
   *
   * @param id of the step
   * @return the step
   */
  public static ApprovalStep approval(String id) {
    return new ApprovalStep(id);
  }

  /**
   * A timer.
   *
   * @param id of the step
   * @param duration how long it waits
   * @return the step
   */
  public static OtherStep wait(String id, Duration duration) {
    WaitStep wait = WaitStep.newBuilder().setFor(Messages.duration(duration)).build();
    return new OtherStep(begin(id).setWait(wait));
  }

  /**
   * A timer until a time.
   *
   * @param id of the step
   * @param time RFC 3339, or an expression
   * @return the step
   */
  public static OtherStep waitUntil(String id, String time) {
    return new OtherStep(begin(id).setWait(WaitStep.newBuilder().setUntil(time)));
  }

  /**
   * A step that waits for an event from outside, for 7 days; then a person is asked.
   *
   * @param id of the step
   * @param name of the signal
   * @return the step
   */
  public static OtherStep signal(String id, String name) {
    return new OtherStep(begin(id).setSignal(SignalStep.newBuilder().setName(name)));
  }

  /**
   * A step that waits for an event from outside.
   *
   * @param id of the step
   * @param name of the signal
   * @param within how long
   * @param onExpiry what happens then
   * @return the step
   */
  public static OtherStep signal(
      String id, String name, Duration within, SignalExpiry onExpiry) {
    SignalStep signal = SignalStep.newBuilder().setName(name)
        .setWithin(Messages.duration(within)).setOnExpiry(onExpiry.toProto()).build();
    return new OtherStep(begin(id).setSignal(signal));
  }

  /**
   * A step that starts a run of a registered workflow, and waits for its end.
   *
   * @param id of the step
   * @param workflow its name
   * @return the step
   */
  public static OtherStep run(String id, String workflow) {
    return run(id, workflow, 0);
  }

  /**
   * A step that starts a run of a version of a registered workflow, and waits for its end.
   *
   * @param id of the step
   * @param workflow its name
   * @param version 0: the default version at the time at which the run starts
   * @return the step
   */
  public static OtherStep run(String id, String workflow, int version) {
    RunStep run = RunStep.newBuilder().setWorkflow(workflow).setVersion(version).build();
    return new OtherStep(begin(id).setRun(run));
  }

  /**
   * Sets the steps that must have ended before this one starts.
   *
   * @param ids of steps; default: none
   * @return this step
   */
  public S needs(String... ids) {
    message.addAllNeeds(List.of(ids));
    return self();
  }

  /**
   * Sets a condition: if it is false, the step is skipped.
   *
   * @param expression of CEL
   * @return this step
   */
  public S when(String expression) {
    message.setWhen(expression);
    return self();
  }

  /**
   * Sets how the steps that this one needs must have ended.
   *
   * @param how default: {@link RunIf#ENDED}
   * @return this step
   */
  public S runIf(RunIf how) {
    message.setRunIf(how.toProto());
    return self();
  }

  /**
   * Runs the step once, last, however the run ends.
   *
   * @return this step
   */
  public S always() {
    message.setAlways(true);
    return self();
  }

  /**
   * Once the step has succeeded, the run is no longer undone; later failures ask a person.
   *
   * @return this step
   */
  public S pivot() {
    message.setPivot(true);
    return self();
  }

  /**
   * Sets the retry policies: the first one that matches the code of a failure applies.
   *
   * @param policies up to 16
   * @return this step
   */
  public S retry(Retry... policies) {
    for (Retry policy : policies) {
      message.addRetry(policy.message);
    }
    return self();
  }

  /**
   * Sets the timeouts.
   *
   * @param times of the task of the step
   * @return this step
   */
  public S timeouts(Timeouts times) {
    message.setTimeouts(times.message);
    return self();
  }

  /**
   * Sets what a repeated attempt does to the remote service.
   *
   * @param effects default: {@link Effects#IDEMPOTENT}
   * @return this step
   */
  public S effects(Effects effects) {
    message.setEffects(effects.toProto());
    return self();
  }

  /**
   * Sets what happens when no agent polls for the task.
   *
   * @param what default: {@link OnPickup#ALARM}
   * @return this step
   */
  public S onPickup(OnPickup what) {
    message.setOnPickup(what.toProto());
    return self();
  }

  /**
   * Sets what happens to the run when the step has failed for good.
   *
   * @param what default: compensate if an effect that can be undone exists by then, otherwise fail
   * @return this step
   */
  public S onFailure(OnFailure what) {
    message.setOnFailure(what.toProto());
    return self();
  }

  /**
   * Sets how often people are reminded of an escalation of the step.
   *
   * @param every default 1 hour
   * @return this step
   */
  public S remind(Duration every) {
    message.getEscalationBuilder().setRemind(Messages.duration(every));
    return self();
  }

  /**
   * Sets how long an escalation of the step stays open, and what follows then.
   *
   * @param deadline from its opening
   * @param then the answer that it gets
   * @return this step
   */
  public S escalationDeadline(Duration deadline, DeadlineAnswer then) {
    Escalate.Builder escalation = message.getEscalationBuilder();
    escalation.setDeadline(Messages.duration(deadline)).setThen(then.toProto());
    return self();
  }

  /**
   * Sets the JSON Schema for the output of the step.
   *
   * @param schema has a JSON form
   * @return this step
   */
  public S outputSchema(Object schema) {
    message.setOutputSchema(Messages.payload(schema));
    return self();
  }

  /**
   * Sets whether the lines that handlers log are stored with their attempt.
   *
   * @param stored false for tasks that handle secrets; default true
   * @return this step
   */
  public S logs(boolean stored) {
    message.setLogs(stored ? StepLogs.STEP_LOGS_ON : StepLogs.STEP_LOGS_OFF);
    return self();
  }
}
