package dev.drover.workflow;

import dev.drover.v1.Fallback;
import dev.drover.v1.RunStep;
import dev.drover.v1.StepDefinition;

/** A step that waits for a time, for an event, or for a run of another workflow. */
public final class OtherStep extends Step<Object, OtherStep> {
  OtherStep(StepDefinition.Builder message) {
    super(message);
  }

  @Override
  OtherStep self() {
    return this;
  }

  /**
   * Sets the input of the run that the step starts.
   *
   * @param input has a JSON form; its strings may contain expressions. Default: the run's input
   * @return this step
   */
  public OtherStep input(Object input) {
    message.setInput(Messages.payload(input));
    return this;
  }

  /**
   * Adds another workflow to run, if the run fails.
   *
   * @param workflow its name
   * @param version 0: the default version
   * @return this step
   */
  public OtherStep fallbackRun(String workflow, int version) {
    RunStep run = RunStep.newBuilder().setWorkflow(workflow).setVersion(version).build();
    message.addFallback(Fallback.newBuilder().setRun(run));
    return this;
  }
}
