package dev.drover;

import dev.drover.v1.ScheduleBatchRequest;
import dev.drover.v1.ScheduleBatchResponse;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.ScheduleResponse;
import dev.drover.v1.ScheduleResult;
import dev.drover.v1.SchedulerServiceGrpc.SchedulerServiceBlockingStub;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Starts runs: those of concurrent calls share a request. */
final class Starts implements Gatherer.Sort<Starts.Starting> {
  /** Of one request. */
  private static final int ITEMS_MAX = 100;

  /**
   * After this time a start that is sent alone counts as a call under way no more. It may be
   * repeated for long, as its shard does not answer, and would keep back the starts of others.
   */
  private static final Duration YIELDS_AFTER = Duration.ofSeconds(1);

  /** A run on its way. */
  record Starting(ScheduleRequest request, CompletableFuture<Started> started) {}

  final Gatherer<Starting> gatherer;
  private final SchedulerServiceBlockingStub scheduler;
  private final Executor calls;

  Starts(
      SchedulerServiceBlockingStub scheduler, Executor calls, ScheduledExecutorService timers) {
    this.scheduler = scheduler;
    this.calls = calls;
    gatherer = new Gatherer<>(this, calls, timers);
  }

  @Override
  public int itemsMax() {
    return ITEMS_MAX;
  }

  @Override
  public int size(Starting one) {
    return one.request.getSerializedSize();
  }

  @Override
  public Supplier<Gatherer.Sent<Starting>> prepare(List<Starting> batch) {
    return () -> call(batch);
  }

  CompletableFuture<Started> start(ScheduleRequest request) {
    CompletableFuture<Started> started = new CompletableFuture<>();
    gatherer.add(new Starting(request, started));
    return started;
  }

  private Gatherer.Sent<Starting> call(List<Starting> batch) {
    if (batch.size() == 1) {
      Starting one = batch.get(0);
      calls.execute(() -> alone(one));
      awaitAtMost(one.started, YIELDS_AFTER);
      return Gatherer.Sent.done();
    }
    ScheduleBatchRequest.Builder request = ScheduleBatchRequest.newBuilder();
    batch.forEach(one -> request.addRuns(one.request));
    ScheduleBatchResponse answer;
    try {
      answer = scheduler.scheduleBatch(request.build());
    } catch (StatusRuntimeException error) {
      CallException failed = CallException.of(error);
      if (failed.outcome() == CallException.Outcome.DEFINITE) {
        return new Gatherer.Sent<>(batch, false, null, true);
      }
      batch.forEach(one -> one.started.completeExceptionally(failed));
      return Gatherer.Sent.done();
    }
    for (int at = 0; at < batch.size(); at++) {
      Starting one = batch.get(at);
      try {
        one.started.complete(startedOf(one.request, answer, at));
      } catch (CallException refusal) {
        if (refusal.outcome() == CallException.Outcome.DEFINITE) {
          one.started.completeExceptionally(refusal);
        } else {
          // What may pass is repeated as any call is.
          calls.execute(() -> alone(one));
        }
      }
    }
    return Gatherer.Sent.done();
  }

  private static void awaitAtMost(CompletableFuture<?> done, Duration time) {
    CompletableFuture<?> ended = done.handle((started, failed) -> null);
    try {
      ended.get(time.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException late) {
      // It goes on, and its result reaches whoever has started it.
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private void alone(Starting one) {
    try {
      ScheduleResponse answer = scheduler.schedule(one.request);
      one.started.complete(new Started(
          new RunName.Id(answer.getRunId()), one.request.getKey(), answer.getCreated()));
    } catch (StatusRuntimeException error) {
      one.started.completeExceptionally(CallException.of(error));
    }
  }

  /** Throws CallException if the run was refused. */
  static Started startedOf(ScheduleRequest request, ScheduleBatchResponse answer, int at) {
    if (at >= answer.getResultsCount()) {
      throw CallException.of(Status.Code.INTERNAL, "The server left out a result.");
    }
    ScheduleResult result = answer.getResults(at);
    if (result.getStatus().getCode() != Status.Code.OK.value()) {
      throw CallException.of(result.getStatus());
    }
    return new Started(
        new RunName.Id(result.getRunId()), request.getKey(), result.getCreated());
  }
}
