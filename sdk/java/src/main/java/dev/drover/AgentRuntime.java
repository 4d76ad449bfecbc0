package dev.drover;

import com.google.protobuf.ByteString;
import dev.drover.v1.Agent;
import dev.drover.v1.HeartbeatReport;
import dev.drover.v1.HeartbeatResponse;
import dev.drover.v1.Outcome;
import dev.drover.v1.Task;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Phaser;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;

/**
 * What an agent does while it runs. It has the tasks that it holds and their slots; its parts poll,
 * send heartbeats and report.
 */
final class AgentRuntime implements HeldTask.Owner, AgentCalls.Lost {
  private enum State {
    MADE,
    RUNNING,
    DRAINING
  }

  /** Reports may wait for their answer before no further task is taken. */
  private static final int REPORTS_WAITING_MAX = 1_000;

  /** What reports get to be answered at the end, even if their leases have ended. */
  private static final Duration FLUSH_FOR = Duration.ofSeconds(5);

  /** For the lines of handlers that wait when the agent stops. */
  private static final Duration LAST_LINES_FOR = Duration.ofSeconds(2);

  /** How long a report waits for the details that are sent before it. */
  private static final Duration DETAILS_FOR = Duration.ofSeconds(2);

  private final AgentSettings settings;
  private final Logger log;
  private final ExecutorService calls;
  private final ExecutorService handlerThreads;
  private final ScheduledExecutorService timers;
  private final Connection connection;
  private final Polls polls = new Polls(System::nanoTime);
  private final AgentCalls rpc;
  private final Polling polling;
  private final Heartbeats heartbeats;
  private final Reports reports;
  private final TaskLogs logs;
  private final PayloadFormat format;
  private final Attempts attempts;
  private final HeldTask.Shared shared;

  private final CountDownLatch stopAsked = new CountDownLatch(1);
  private final CompletableFuture<Void> stopped = new CompletableFuture<>();
  private final CompletableFuture<Void> idle = new CompletableFuture<>();

  /** Of tasks that are started, until their reports are queued; and the agent itself. */
  private final Phaser handlers = new Phaser(1);

  private State state = State.MADE;

  /** Until their reports are answered. */
  private final Set<HeldTask> held = new LinkedHashSet<>();

  private final Set<HeldTask> running = new LinkedHashSet<>();

  /** Of those that run: they ignore that they must stop. */
  private final Set<HeldTask> lost = new HashSet<>();

  private boolean isHandlerLost;

  AgentRuntime(AgentSettings settings, PayloadFormat format, Connection.Settings connection) {
    this.settings = settings;
    log = settings.log;
    timers = Threads.timers("drover-timers");
    try {
      this.connection = Connection.open(connection, timers);
    } catch (RuntimeException error) {
      timers.shutdownNow();
      throw error;
    }
    calls = Threads.pool("drover-agent");
    handlerThreads = Threads.handlers("drover-handler");
    byte[] session = new byte[16];
    new SecureRandom().nextBytes(session);
    Agent me = Agent.newBuilder().setId(settings.id).setSession(ByteString.copyFrom(session))
        .setVersion(settings.version).putAllLabels(settings.labels).build();
    rpc = new AgentCalls(this.connection.channel(), settings, me, this);
    polling = new Polling(
        log, polls, new PollingHost(), settings.pollWait, settings.queues,
        List.copyOf(settings.handlers.keySet()));
    heartbeats = new Heartbeats(log, new HeartbeatsHost(), calls);
    reports = new Reports(log, new ReportsHost(), calls, timers);
    logs = new TaskLogs(log, rpc::appendLogs, calls, timers);
    this.format = format;
    attempts = new Attempts(format, Tracing.find(), log);
    shared = new HeldTask.Shared(System::nanoTime, timers, settings.stopGrace, this);
  }

  void start() {
    synchronized (this) {
      if (state != State.MADE) {
        throw new IllegalStateException("an agent runs once; make another one");
      }
      state = State.RUNNING;
    }
    log.info("agent started: id={} tasks={} slots={}",
        settings.id, settings.handlers.keySet(), settings.slots);
    Thread main = new Thread(this::run, "drover-agent-" + settings.id);
    main.start();
  }

  void stop() {
    synchronized (this) {
      if (state == State.MADE) {
        state = State.DRAINING;
        close();
      }
    }
    stopAsked.countDown();
  }

  void awaitStopped() {
    while (true) {
      try {
        stopped.get();
        break;
      } catch (InterruptedException error) {
        stop();
        Thread.currentThread().interrupt();
        break;
      } catch (ExecutionException error) {
        throw new IllegalStateException("the agent has ended by a defect", error.getCause());
      }
    }
    synchronized (this) {
      if (isHandlerLost) {
        throw new HandlerLostException();
      }
    }
  }

  private void run() {
    WarmUp.run(connection.channel(), format);
    Future<?> heartbeating = calls.submit(heartbeats::run);
    Future<?> polled = calls.submit(polling::run);
    try {
      awaitStop();
      drain(polled);
      heartbeats.stop();
      await(heartbeating, Duration.ofSeconds(1));
    } catch (RuntimeException | Error error) {
      log.error("the agent has ended by a defect", error);
      stopped.completeExceptionally(error);
    } finally {
      close();
    }
  }

  private void awaitStop() {
    while (true) {
      try {
        stopAsked.await();
        return;
      } catch (InterruptedException error) {
        // The thread is the agent's own.
        continue;
      }
    }
  }

  private void close() {
    connection.close().run();
    timers.shutdownNow();
    calls.shutdown();
    handlerThreads.shutdown();
    log.info("agent stopped: id={}", settings.id);
    stopped.complete(null);
  }

  private void drain(Future<?> polled) {
    int count;
    synchronized (this) {
      state = State.DRAINING;
      checkIdle();
      count = running.size();
    }
    log.info("agent draining: running={}", count);
    polling.stop();
    await(polled, null);
    rpc.nameLostPolls();
    finishHandlers();
    reportLost();
    lastReports();
    rpc.nameLostPolls();
    logs.stop(LAST_LINES_FOR);
    reports.gatherer.stop();
    synchronized (this) {
      held.forEach(HeldTask::close);
    }
  }

  /** Finished work is given up with its leases and not before; heartbeats continue meanwhile. */
  private void lastReports() {
    CompletableFuture<Void> flushed = reports.gatherer.flushed();
    long least = System.nanoTime() + FLUSH_FOR.toNanos();
    while (true) {
      Duration left = Duration.ofNanos(least - System.nanoTime());
      Duration leases = leasesFor();
      Duration wait = leases.compareTo(left) > 0 ? leases : left;
      if (wait.isNegative() || wait.isZero()) {
        log.error("agent stops with reports unanswered: their leases have ended");
        return;
      }
      if (await(flushed, wait)) {
        return;
      }
    }
  }

  /** How long the longest lease of a held task still lasts. */
  private synchronized Duration leasesFor() {
    return held.stream().map(HeldTask::left).max(Duration::compareTo).orElse(Duration.ZERO);
  }

  private void finishHandlers() {
    if (await(idle, settings.grace)) {
      return;
    }
    List<HeldTask> left;
    synchronized (this) {
      left = List.copyOf(running);
    }
    log.warn("grace is over, the agent stops its handlers: running={}", left.size());
    left.forEach(task -> task.stop(StopReason.AGENT_STOPPED));
    // Each has ended by then, or is lost when its own grace is over.
    await(idle, null);
  }

  /** Whether it was done within the time; null: however long it takes. */
  private static boolean await(Future<?> done, Duration limit) {
    while (true) {
      try {
        if (limit == null) {
          done.get();
        } else {
          done.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        }
        return true;
      } catch (TimeoutException error) {
        return false;
      } catch (InterruptedException error) {
        // The thread is the agent's own.
        continue;
      } catch (ExecutionException error) {
        throw new IllegalStateException("a part of the agent has failed", error.getCause());
      }
    }
  }

  @Override
  public List<Long> lostPolls() {
    return polls.lostNow();
  }

  @Override
  public void noted() {
    heartbeats.wake();
  }

  /**
   * A handler ignores that it must stop. It still occupies its slot: the agent cannot know what it
   * does, and without that limit any number of them could run. Its thread cannot be ended but with
   * the process, so the agent drains, and reports it once no other handler runs.
   */
  @Override
  public void stuck(HeldTask task) {
    synchronized (this) {
      if (task.hasEnded()) {
        return;
      }
      log.error("handler lost, {}: it has to stop and does not; the agent drains, and its process"
          + " should end", task.name());
      lost.add(task);
      isHandlerLost = true;
      checkIdle();
    }
    stopAsked.countDown();
  }

  /** With the lock, when a handler has ended or is lost. */
  private void checkIdle() {
    if (state == State.DRAINING && running.size() == lost.size()) {
      idle.complete(null);
    }
  }

  /**
   * Reports the handlers that are lost. Not sooner: the server verifies or retries a reported task
   * at once, and until the process ends a lost handler may still act.
   */
  private void reportLost() {
    List<HeldTask> tasks;
    synchronized (this) {
      tasks = List.copyOf(lost);
    }
    for (HeldTask task : tasks) {
      if (task.end()) {
        Outcome outcome = Outcomes.unknown(
            "handler-lost", "The handler did not end although it had to stop.");
        calls.execute(() -> report(task, outcome));
      }
    }
    handlers.arriveAndAwaitAdvance();
  }

  private void perform(HeldTask task, Handlers.Bound handler) {
    Outcome outcome = attempts.run(
        task.message, handler, task, task.stop, task.lines == null ? null : task.lines::add);
    if (task.end()) {
      report(task, outcome);
    } else {
      log.warn("a handler that was lost has ended, {}", task.name());
    }
  }

  private void report(HeldTask task, Outcome outcome) {
    // After a success no later attempt needs the details.
    if (!outcome.hasSuccess() && task.notes().details() != null) {
      heartbeats.sendDetails(task, DETAILS_FOR);
    }
    if (task.lines != null) {
      task.lines.end();
    }
    reports.gatherer.add(new Reports.Report(task, outcome));
    handlers.arriveAndDeregister();
    polling.wake();
  }

  /** What polling asks. */
  private final class PollingHost implements Polling.Host {
    @Override
    public int freeSlots() {
      synchronized (AgentRuntime.this) {
        boolean isFull = held.size() - running.size() > REPORTS_WAITING_MAX;
        return isFull ? 0 : settings.slots - running.size();
      }
    }

    @Override
    public void decide(java.util.function.IntConsumer with) {
      reports.gatherer.decide(with);
    }

    @Override
    public Rpc<dev.drover.v1.PollTaskResponse> poll(long seq, int most, Duration wait) {
      return rpc.poll(seq, most, wait);
    }

    @Override
    public Runnable accept(List<Task> tasks, long sent, Duration waited) {
      // It cannot be longer than the call itself took; a server that reports more is not trusted.
      long took = System.nanoTime() - sent;
      long granted = sent + Math.min(Math.max(Times.nanos(waited), 0), took);
      List<Runnable> starts = new ArrayList<>();
      synchronized (AgentRuntime.this) {
        tasks.forEach(task -> starts.add(take(task, granted)));
      }
      return () -> starts.forEach(Runnable::run);
    }
  }

  /** With the lock: gives a task its slot, and returns what starts it. */
  private Runnable take(Task message, long granted) {
    StopSignal stop = new StopSignal(calls);
    HeldTask task = new HeldTask(message, granted, stop, logs.begin(message), shared);
    held.add(task);
    Handlers.Bound handler = settings.handlers.get(message.getTask());
    boolean isInTime = !task.left().isZero() && state == State.RUNNING;
    if (handler == null || !isInTime || !isKnown(message.getKind())) {
      // Another agent can take it at once.
      task.end();
      return () -> {
        heartbeats.add(task);
        reports.gatherer.add(new Reports.Report(task, Outcomes.released()));
      };
    }
    running.add(task);
    handlers.register();
    task.begin();
    return () -> {
      heartbeats.add(task);
      handlerThreads.execute(() -> perform(task, handler));
    };
  }

  /** A newer server may have others, for newer agents. */
  private static boolean isKnown(dev.drover.v1.TaskKind kind) {
    return switch (kind) {
      case TASK_KIND_PERFORM, TASK_KIND_VERIFY, TASK_KIND_COMPENSATE -> true;
      default -> false;
    };
  }

  /** What heartbeats ask. */
  private final class HeartbeatsHost implements Heartbeats.Host {
    @Override
    public HeartbeatResponse heartbeat(List<HeartbeatReport> listed, long listsAllTo) {
      return rpc.heartbeat(listed, listsAllTo);
    }

    @Override
    public long endedTo() {
      return polls.endedTo();
    }
  }

  /** What reports ask. */
  private final class ReportsHost implements Reports.Host {
    @Override
    public void reporting(HeldTask task) {
      // When its report is queued, so that the call can carry a poll for the slot.
      synchronized (AgentRuntime.this) {
        running.remove(task);
        lost.remove(task);
        checkIdle();
      }
    }

    @Override
    public Polling.Carried carry(int count) {
      return polling.carry(count);
    }

    @Override
    public dev.drover.v1.CompleteResponse complete(
        List<dev.drover.v1.TaskResult> results, dev.drover.v1.Next next) {
      return rpc.complete(results, next);
    }

    @Override
    public void answered(HeldTask task) {
      synchronized (AgentRuntime.this) {
        held.remove(task);
      }
      task.close();
      heartbeats.remove(task);
      polling.wake();
    }
  }
}
