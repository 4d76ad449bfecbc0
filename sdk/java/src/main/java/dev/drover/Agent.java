package dev.drover;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The runtime of an agent: it polls for tasks, runs their handlers in parallel, renews their leases
 * with heartbeats, reports their outcomes, and drains when it is stopped.
 *
 * <pre>made -> running -> draining -> stopped</pre>
 *
 * <p>The agent survives restarts of the server: it polls again, continues its heartbeats, and
 * repeats reports until they are answered. It ends only when it is stopped, or when a handler
 * ignores that it must stop. An agent runs once.
 *
 * <pre>{@code
 * Agent.builder("127.0.0.1:7420", "hello-agent")
 *     .handle(BOOK_FLIGHT, (trip, task) -> new Booking("flight-to-" + trip.to()))
 *     .build()
 *     .run();
 * }</pre>
 */
public final class Agent implements AutoCloseable {
  private final AgentRuntime runtime;

  private Agent(AgentRuntime runtime) {
    this.runtime = runtime;
  }

  /**
   * Begins an agent.
   *
   * @param address host:port of the server, or several with commas
   * @param id a name for people, which need not be unique: 1 to 128 characters of {@code
   *     [A-Za-z0-9._-]}
   * @return a builder, to which handlers are added
   */
  public static Builder builder(String address, String id) {
    return new Builder(address, id);
  }

  /**
   * Performs tasks until the agent is stopped, by {@link #stop()}, SIGTERM or an interrupt of the
   * process; the second signal ends the process. Returns when the agent has drained.
   *
   * @throws HandlerLostException if a handler ignored that it must stop: end the process
   */
  public void run() {
    Signals.onStop(this::stop);
    start();
    awaitStopped();
  }

  /**
   * Performs tasks, in threads of its own, until the agent is stopped.
   *
   * @throws IllegalStateException if it was started before
   */
  public void start() {
    runtime.start();
  }

  /**
   * Asks the agent to drain: it takes no further task, releases tasks that were not started, lets
   * handlers finish within the grace and then stops them, reports, and closes. Returns at once.
   */
  public void stop() {
    runtime.stop();
  }

  /**
   * Waits until the agent has drained. An interrupt of the thread stops the agent.
   *
   * @throws HandlerLostException if a handler ignored that it must stop: end the process
   */
  public void awaitStopped() {
    runtime.awaitStopped();
  }

  /** Stops the agent and waits until it has drained; may be called twice. */
  @Override
  public void close() {
    stop();
    awaitStopped();
  }

  /** The settings of an agent. Each has the default that its method states. */
  public static final class Builder extends ConnectionBuilder<Builder> {
    private final AgentSettings settings;
    private Logger log = LoggerFactory.getLogger(Agent.class);

    private Builder(String address, String id) {
      super(address);
      settings = new AgentSettings(Objects.requireNonNull(id, "id"));
    }

    @Override
    Builder self() {
      return this;
    }

    /**
     * Adds the handler of a task.
     *
     * @param task the definition of the task
     * @param handler returns the output
     * @param <I> the input
     * @param <O> the output
     * @return this builder
     */
    public <I, O> Builder handle(Task<I, O> task, Handlers.Perform<I, O> handler) {
      settings.addHandler(task.name(), Handlers.bind(task, handler));
      return this;
    }

    /**
     * Adds the handler of a task that need not be done when its handler ends.
     *
     * @param task the definition of the task
     * @param handler returns an answer
     * @param <I> the input
     * @param <O> the output
     * @return this builder
     */
    public <I, O> Builder respond(Task<I, O> task, Handlers.Respond<I, O> handler) {
      settings.addHandler(task.name(), Handlers.bindAnswers(task, handler));
      return this;
    }

    /**
     * Adds the handler of a task that finds out whether a lost attempt took effect.
     *
     * @param task the definition of the task
     * @param handler returns an answer
     * @param <I> the input of the verified task
     * @param <O> the output of the verified task
     * @return this builder
     */
    public <I, O> Builder verify(VerifyTask<I, O> task, Handlers.Verify<I, O> handler) {
      settings.addHandler(task.name(), Handlers.bind(task, handler));
      return this;
    }

    /**
     * Adds the handler of a task that undoes a step.
     *
     * @param task the definition of the task
     * @param handler undoes it
     * @param <I> the input of the task that is undone
     * @param <O> the output of the task that is undone
     * @return this builder
     */
    public <I, O> Builder compensate(
        CompensateTask<I, O> task, Handlers.Compensate<I, O> handler) {
      settings.addHandler(task.name(), Handlers.bind(task, handler));
      return this;
    }

    /**
     * Adds the handler of a task by its name, which reads what it needs from the context.
     *
     * @param task the name of the task
     * @param handler returns an output or an answer
     * @return this builder
     */
    public Builder handle(String task, Handlers.Untyped handler) {
      settings.addHandler(task, handler::handle);
      return this;
    }

    /**
     * Polls a queue.
     *
     * @param name default: only the queue {@code default}
     * @param weight 1 to 1,000: how often the server takes from it first, relative to the others
     * @return this builder
     */
    public Builder queue(String name, int weight) {
      settings.addQueue(name, weight);
      return this;
    }

    /**
     * Polls a queue with weight 1.
     *
     * @param name default: only the queue {@code default}
     * @return this builder
     */
    public Builder queue(String name) {
      return queue(name, 1);
    }

    /**
     * Sets the maximum number of tasks at a time.
     *
     * @param slots 1 to 10,000; default 10
     * @return this builder
     */
    public Builder slots(int slots) {
      settings.slots = slots;
      return this;
    }

    /**
     * Sets how long running handlers may take to finish when the agent stops.
     *
     * @param grace up to a day; default 15 s
     * @return this builder
     */
    public Builder grace(Duration grace) {
      settings.grace = Objects.requireNonNull(grace, "grace");
      return this;
    }

    /**
     * Sets how long a handler may ignore that it must stop, before it is reported as lost and the
     * agent ends.
     *
     * @param grace up to a day; default 10 s
     * @return this builder
     */
    public Builder stopGrace(Duration grace) {
      settings.stopGrace = Objects.requireNonNull(grace, "grace");
      return this;
    }

    /**
     * Sets how long a poll waits for a task.
     *
     * @param wait 1 to 60 s; default 30 s
     * @return this builder
     */
    public Builder pollWait(Duration wait) {
      settings.pollWait = Objects.requireNonNull(wait, "wait");
      return this;
    }

    /**
     * Sets the version of the program, for people.
     *
     * @param version at most 128 characters; default: none
     * @return this builder
     */
    public Builder version(String version) {
      settings.version = Objects.requireNonNull(version, "version");
      return this;
    }

    /**
     * Sets labels, for people.
     *
     * @param labels at most 64; default: none
     * @return this builder
     */
    public Builder labels(Map<String, String> labels) {
      settings.labels = Map.copyOf(labels);
      return this;
    }

    /**
     * Sets the logger of the agent and its handlers.
     *
     * @param own default: that of this class
     * @return this builder
     */
    public Builder logger(Logger own) {
      log = Objects.requireNonNull(own, "own");
      return this;
    }

    /**
     * Makes the agent. It connects when it is started.
     *
     * @return the agent
     * @throws IllegalArgumentException names the settings that are wrong
     */
    public Agent build() {
      settings.namespace = namespace;
      settings.log = log;
      settings.check();
      return new Agent(new AgentRuntime(settings, format(), connection()));
    }
  }
}
