package dev.drover.workflow;

import dev.drover.Definition;
import dev.drover.Startable;
import dev.drover.v1.WorkflowDefinition;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * A graph of steps without cycles. A run that is started of it gets its definition; {@link
 * #registered()} names the registered one instead.
 *
 * @param <I> the input of a run
 */
public final class Workflow<I> implements Startable<I> {
  private final String name;
  private final Definition definition;
  private final Class<I> input;

  private Workflow(WorkflowDefinition message, Class<I> input) {
    name = message.getWorkflow();
    definition = Definition.decode(message.toByteArray());
    this.input = input;
  }

  /**
   * Begins a workflow.
   *
   * @param name 1 to 128 characters of {@code [A-Za-z0-9._-]}
   * @param input the type of the input of a run
   * @param <I> the input of a run
   * @return a builder, to which steps are added
   */
  public static <I> Builder<I> builder(String name, Class<I> input) {
    return new Builder<>(name, input);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Optional<Definition> definition() {
    return Optional.of(definition);
  }

  /**
   * The workflow as it is registered under its name.
   *
   * @return its default version
   */
  public Startable<I> registered() {
    return Startable.registered(name(), input);
  }

  /**
   * Builds a workflow.
   *
   * @param <I> the input of a run
   */
  public static final class Builder<I> {
    private final WorkflowDefinition.Builder message = WorkflowDefinition.newBuilder();
    private final Class<I> input;

    private Builder(String name, Class<I> input) {
      message.setWorkflow(Objects.requireNonNull(name, "name"));
      this.input = Objects.requireNonNull(input, "input");
    }

    /**
     * Adds a step. One without an input of its own gets the input of the run, so that its task must
     * take that.
     *
     * @param step is read now: changing it later has no effect
     * @return this builder
     */
    public Builder<I> step(Step<? super I, ?> step) {
      message.addSteps(step.build());
      return this;
    }

    /**
     * Sets the maximum duration of a run.
     *
     * @param limit default 7 days
     * @return this builder
     */
    public Builder<I> timeout(Duration limit) {
      message.setTimeout(Messages.duration(limit));
      return this;
    }

    /**
     * Sets the JSON Schema for the input of a run.
     *
     * @param schema has a JSON form
     * @return this builder
     */
    public Builder<I> inputSchema(Object schema) {
      message.setInputSchema(Messages.payload(schema));
      return this;
    }

    /**
     * Builds the workflow. The server checks what the steps mean together.
     *
     * @return the workflow
     */
    public Workflow<I> build() {
      return new Workflow<>(message.build(), input);
    }
  }
}
