package dev.drover;

import dev.drover.v1.ExplainRunRequest;
import dev.drover.v1.GetRunRequest;
import dev.drover.v1.ListItemsRequest;
import dev.drover.v1.ListItemsResponse;
import dev.drover.v1.ListRunsRequest;
import dev.drover.v1.ListRunsResponse;
import dev.drover.v1.OperatorServiceGrpc;
import dev.drover.v1.OperatorServiceGrpc.OperatorServiceBlockingStub;
import dev.drover.v1.RegisterWorkflowRequest;
import dev.drover.v1.ScheduleBatchRequest;
import dev.drover.v1.ScheduleBatchResponse;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.SchedulerServiceGrpc;
import dev.drover.v1.WaitRunRequest;
import dev.drover.v1.WaitRunResponse;
import dev.drover.v1.WatchRunRequest;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Stream;

/**
 * For services that start work and want to know how it ended.
 *
 * <p>Calls block, and are repeated, with growing and jittered waits, as long as it is unknown
 * whether they took effect, or the server asks for a later repeat, for {@link Builder#patience}.
 * That is safe because each is idempotent: by its key or its request id, which are made here if the
 * caller gives none. Any other refusal is a {@link CallException} at once. An interrupt of the
 * thread gives up the call; what was sent may take effect all the same.
 *
 * <pre>{@code
 * try (Client client = Client.builder("127.0.0.1:7420").build()) {
 *   Started started = client.schedule(TRIP, new Trip("Lisbon"));
 *   Run run = client.waitRun(started.id());
 * }
 * }</pre>
 */
public final class Client extends RunCommands implements AutoCloseable {
  /** Of one call of WaitRun. */
  private static final Duration WAIT_FOR = Duration.ofSeconds(30);

  /** A server that drains answers at once: it is not asked again too fast. */
  private static final Duration WAIT_SPACING = Duration.ofMillis(100);

  private final Duration patience;
  private final String namespace;
  private final ScheduledExecutorService timers;
  private final ExecutorService calls = Threads.pool("drover-client");
  private final Connection connection;
  private final RepeatingChannel channel;
  private final Escalations escalations;
  private final Approvals approvals;
  private final GeneratedClients generated;
  private final Starts starts;
  private final Tracing tracing = Tracing.find();

  private Client(
      Builder builder, PayloadFormat format, Connection connection, RepeatingChannel channel,
      ScheduledExecutorService timers) {
    super(SchedulerServiceGrpc.newBlockingStub(channel), format);
    patience = builder.patience;
    namespace = builder.namespace;
    this.connection = connection;
    this.channel = channel;
    this.timers = timers;
    OperatorServiceBlockingStub operator = OperatorServiceGrpc.newBlockingStub(channel);
    escalations = new Escalations(operator, format);
    approvals = new Approvals(operator, this, format);
    generated = new GeneratedClients(scheduler, operator, format);
    starts = new Starts(scheduler, calls, timers);
  }

  /**
   * Begins a client. It connects when it is first used.
   *
   * @param address host:port of the server, or several with commas
   * @return a builder
   */
  public static Builder builder(String address) {
    return new Builder(address);
  }

  /** Closes the connection; may be called twice. */
  @Override
  public void close() {
    starts.gatherer.stop();
    connection.close().run();
    timers.shutdownNow();
    calls.shutdown();
  }

  /**
   * The questions that only a person can answer.
   *
   * @return lists and answers them
   */
  public Escalations escalations() {
    return escalations;
  }

  /**
   * The steps that wait until people approve or reject.
   *
   * @return lists and answers them
   */
  public Approvals approvals() {
    return approvals;
  }

  /**
   * The generated clients, for calls that have no method of their own.
   *
   * @return with messages of package {@code dev.drover.v1}
   */
  public GeneratedClients generated() {
    return generated;
  }

  /**
   * Registers a definition; the new version becomes the default.
   *
   * @param workflow with a definition, as {@code dev.drover.workflow.Workflow} builds it
   * @return the name and the version; created false: this content was registered before
   */
  public Registered registerWorkflow(Startable<?> workflow) {
    RegisterWorkflowRequest request = RegisterWorkflowRequest.newBuilder()
        .setDefinition(workflow.definition().orElseThrow(() -> new IllegalArgumentException(
            workflow.name() + " has no definition: it is the name of a registered workflow"))
            .message)
        .build();
    return Registered.of(ask(() -> scheduler.registerWorkflow(request)));
  }

  /**
   * Registers a definition in YAML or JSON; the new version becomes the default.
   *
   * @param text at most 1 MiB
   * @return the name and the version; created false: this content was registered before
   */
  public Registered registerWorkflow(String text) {
    return Registered.of(ask(() -> scheduler.registerWorkflow(
        RegisterWorkflowRequest.newBuilder().setText(text).build())));
  }

  /**
   * Starts a run, under a random key.
   *
   * @param workflow a registered one, or a definition for this run only
   * @param input has a JSON form, or is a payload; null: none
   * @param <I> the input of a run
   * @return the run
   */
  public <I> Started schedule(Startable<I> workflow, I input) {
    return schedule(NewRun.of(workflow, input));
  }

  /**
   * Starts a run. Concurrent calls share a request, up to 100 runs each, so many threads may call
   * it; a single call is sent at once.
   *
   * @param run what to start
   * @return the run
   */
  public Started schedule(NewRun run) {
    try {
      return scheduleAsync(run).get();
    } catch (ExecutionException error) {
      if (error.getCause() instanceof CallException refusal) {
        throw refusal;
      }
      throw new CompletionException(error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw CallException.of(Status.Code.CANCELLED, "The thread of the call was interrupted.");
    }
  }

  /**
   * Starts a run and returns at once.
   *
   * @param run what to start
   * @return completes with the run, or with a CallException
   */
  public CompletableFuture<Started> scheduleAsync(NewRun run) {
    return starts.start(run.toRequest(namespace, format, tracing));
  }

  /**
   * Starts runs in one call. A run that was refused with the code UNAVAILABLE may have started:
   * start it again under its key.
   *
   * @param runs up to 500
   * @return a result for each, in the same order
   */
  public List<BatchResult> scheduleBatch(List<NewRun> runs) {
    List<ScheduleRequest> requests =
        runs.stream().map(run -> run.toRequest(namespace, format, tracing)).toList();
    ScheduleBatchResponse answer = ask(() -> scheduler.scheduleBatch(
        ScheduleBatchRequest.newBuilder().addAllRuns(requests).build()));
    List<BatchResult> results = new ArrayList<>();
    for (int at = 0; at < requests.size(); at++) {
      try {
        Started started = Starts.startedOf(requests.get(at), answer, at);
        results.add(new BatchResult(Optional.of(started), Optional.empty()));
      } catch (CallException refusal) {
        results.add(new BatchResult(Optional.empty(), Optional.of(refusal)));
      }
    }
    return results;
  }

  /**
   * Reads a run with its steps.
   *
   * @param run its name
   * @param include what else to read
   * @return the run
   */
  public RunDetails getRun(RunName run, RunDetails.Include... include) {
    Set<RunDetails.Include> all = EnumSet.noneOf(RunDetails.Include.class);
    all.addAll(List.of(include));
    GetRunRequest request = GetRunRequest.newBuilder()
        .setRun(Contract.ref(run))
        .setIncludeAttempts(all.contains(RunDetails.Include.ATTEMPTS))
        .setIncludeInterventions(all.contains(RunDetails.Include.INTERVENTIONS))
        .setIncludeEscalations(all.contains(RunDetails.Include.ESCALATIONS))
        .setIncludeSignals(all.contains(RunDetails.Include.SIGNALS))
        .setIncludeDecisions(all.contains(RunDetails.Include.DECISIONS))
        .setIncludeSettings(all.contains(RunDetails.Include.SETTINGS))
        .build();
    return new RunDetails(ask(() -> scheduler.getRun(request)), format);
  }

  /**
   * Reads the runs that match a filter, newest first, page by page.
   *
   * @param filter which
   * @return throws CallException as it is read
   */
  public Stream<Run> listRuns(RunFilter filter) {
    return Pages.stream(token -> {
      ListRunsResponse page = ask(() -> scheduler.listRuns(
          ListRunsRequest.newBuilder().setFilter(filter.message).setPageToken(token).build()));
      List<Run> runs = page.getRunsList().stream().map(run -> new Run(run, format)).toList();
      return new Pages.Page<>(runs, page.getNextPageToken());
    });
  }

  /**
   * Reads the items of a map that have started, in the order of its list, page by page.
   *
   * @param run its name
   * @param stepId the step
   * @return each as a step; throws CallException as it is read
   */
  public Stream<RunStep> listItems(RunName run, String stepId) {
    return Pages.stream(token -> {
      ListItemsResponse page = ask(() -> scheduler.listItems(ListItemsRequest.newBuilder()
          .setRun(Contract.ref(run)).setStepId(stepId).setPageToken(token).build()));
      List<RunStep> items =
          page.getItemsList().stream().map(item -> new RunStep(item, format)).toList();
      return new Pages.Page<>(items, page.getNextPageToken());
    });
  }

  /**
   * Explains why a run is not moving, what happens next, and what a person can do.
   *
   * @param run its name
   * @return the explanation
   */
  public RunExplanation explainRun(RunName run) {
    ExplainRunRequest request =
        ExplainRunRequest.newBuilder().setRun(Contract.ref(run)).build();
    return RunExplanation.of(ask(() -> scheduler.explainRun(request)), format);
  }

  /**
   * Waits without a limit until the run has ended.
   *
   * @param run its name
   * @return the run
   */
  public Run waitRun(RunName run) {
    while (true) {
      Optional<Run> ended = waitRun(run, Duration.ofDays(1));
      if (ended.isPresent()) {
        return ended.get();
      }
    }
  }

  /**
   * Waits until the run has ended.
   *
   * @param run its name
   * @param limit how long
   * @return the run; empty: it has not ended within the time
   */
  public Optional<Run> waitRun(RunName run, Duration limit) {
    long until = System.nanoTime() + Times.nanos(limit);
    while (true) {
      long asked = System.nanoTime();
      Duration left = Duration.ofNanos(Math.max(0, until - asked));
      Duration wait = left.compareTo(WAIT_FOR) < 0 ? left : WAIT_FOR;
      WaitRunRequest request = WaitRunRequest.newBuilder()
          .setRun(Contract.ref(run)).setWait(Times.toProto(wait)).build();
      WaitRunResponse answer = ask(() -> scheduler.waitRun(request));
      if (answer.getEnded()) {
        return Optional.of(new Run(answer.getRun(), format));
      }
      long now = System.nanoTime();
      if (until - now <= 0) {
        return Optional.empty();
      }
      pause(asked + WAIT_SPACING.toNanos() - now);
    }
  }

  private static void pause(long nanos) {
    try {
      Thread.sleep(Math.max(0, nanos / 1_000_000));
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw CallException.of(Status.Code.CANCELLED, "The thread of the call was interrupted.");
    }
  }

  /**
   * Follows a run: its current state and each change, until its end. Close what this returns.
   *
   * @param run its name
   * @return waits for each state
   */
  public RunWatch watchRun(RunName run) {
    WatchRunRequest request = WatchRunRequest.newBuilder().setRun(Contract.ref(run)).build();
    return new RunWatch(channel, request, format, patience);
  }

  /** The settings of a client. */
  public static final class Builder extends ConnectionBuilder<Builder> {
    private Duration patience = Duration.ofSeconds(30);

    private Builder(String address) {
      super(address);
    }

    @Override
    Builder self() {
      return this;
    }

    /**
     * Sets how long a call is repeated while it is unknown whether it took effect.
     *
     * @param limit default 30 s
     * @return this builder
     */
    public Builder patience(Duration limit) {
      patience = Objects.requireNonNull(limit, "limit");
      return this;
    }

    /**
     * Makes the client.
     *
     * @return the client
     * @throws IllegalArgumentException for settings that are wrong
     */
    public Client build() {
      ScheduledExecutorService timers = Threads.timers("drover-client-timers");
      Connection connection;
      try {
        connection = Connection.open(connection(), timers);
      } catch (RuntimeException error) {
        timers.shutdownNow();
        throw error;
      }
      PayloadFormat format = format();
      RepeatingChannel channel = new RepeatingChannel(
          connection.channel(), namespace, patience, format, timers);
      return new Client(this, format, connection, channel, timers);
    }
  }
}
