package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.drover.v1.BulkActionRequest;
import dev.drover.v1.BulkActionResponse;
import dev.drover.v1.GetRunRequest;
import dev.drover.v1.GetRunResponse;
import dev.drover.v1.ListRunsRequest;
import dev.drover.v1.ListRunsResponse;
import dev.drover.v1.RegisterWorkflowRequest;
import dev.drover.v1.RegisterWorkflowResponse;
import dev.drover.v1.ScheduleBatchRequest;
import dev.drover.v1.ScheduleBatchResponse;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.ScheduleResponse;
import dev.drover.v1.ScheduleResult;
import dev.drover.v1.SchedulerServiceGrpc.SchedulerServiceImplBase;
import dev.drover.v1.SignalRequest;
import dev.drover.v1.SignalResponse;
import dev.drover.v1.Step;
import dev.drover.v1.WatchRunRequest;
import dev.drover.v1.WatchRunResponse;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The rules of the client, against a server whose answers the test gives. */
@Timeout(120)
class ClientTest {
  private static final RunName RUN = RunName.id("r");

  /** Refuses as often as it is told. */
  private static final class Scheduler extends SchedulerServiceImplBase {
    final List<ScheduleRequest> schedules = new ArrayList<>();
    final List<ScheduleBatchRequest> batches = new ArrayList<>();
    final List<SignalRequest> signals = new ArrayList<>();
    final List<Long> watches = new ArrayList<>();
    final List<ListRunsRequest> lists = new ArrayList<>();
    final List<BulkActionRequest> bulks = new ArrayList<>();
    final List<com.google.rpc.Status> refusals = new ArrayList<>();
    final CountDownLatch holding = new CountDownLatch(1);
    /** A permit for each call of schedule that has come. */
    final Semaphore seen = new Semaphore(0);
    boolean isHolding;
    Codec codec = PayloadFormat.PLAIN;

    private synchronized boolean refuses(StreamObserver<?> observer) {
      if (refusals.isEmpty()) {
        return false;
      }
      observer.onError(StatusProto.toStatusRuntimeException(refusals.remove(0)));
      return true;
    }

    private void hold() {
      try {
        if (isHolding) {
          holding.await();
        }
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void schedule(ScheduleRequest request, StreamObserver<ScheduleResponse> observer) {
      synchronized (this) {
        schedules.add(request);
      }
      seen.release();
      hold();
      if (!refuses(observer)) {
        observer.onNext(ScheduleResponse.newBuilder()
            .setRunId("run-" + request.getKey()).setCreated(true).build());
        observer.onCompleted();
      }
    }

    @Override
    public void scheduleBatch(
        ScheduleBatchRequest request, StreamObserver<ScheduleBatchResponse> observer) {
      synchronized (this) {
        batches.add(request);
      }
      ScheduleBatchResponse.Builder answer = ScheduleBatchResponse.newBuilder();
      for (ScheduleRequest one : request.getRunsList()) {
        ScheduleResult.Builder result =
            ScheduleResult.newBuilder().setRunId("run-" + one.getKey()).setCreated(true);
        if (one.getKey().equals("taken")) {
          result.setStatus(ScriptedServer.statusOf(
              Status.Code.ALREADY_EXISTS, Reason.KEY_REUSED, Duration.ZERO));
        }
        answer.addResults(result);
      }
      observer.onNext(answer.build());
      observer.onCompleted();
    }

    @Override
    public void signal(SignalRequest request, StreamObserver<SignalResponse> observer) {
      signals.add(request);
      if (!refuses(observer)) {
        observer.onNext(SignalResponse.newBuilder().setRepeated(signals.size() > 1).build());
        observer.onCompleted();
      }
    }

    @Override
    public void getRun(GetRunRequest request, StreamObserver<GetRunResponse> observer) {
      hold();
      try {
        observer.onNext(GetRunResponse.newBuilder()
            .setRun(dev.drover.v1.Run.newBuilder().setRunId("r"))
            .addSteps(Step.newBuilder().setId("flight")
                .setOutput(codec.encode(Payload.of(new Booking("b-1"))).message))
            .build());
        observer.onCompleted();
      } catch (GeneralSecurityException error) {
        observer.onError(error);
      }
    }

    @Override
    public void listRuns(ListRunsRequest request, StreamObserver<ListRunsResponse> observer) {
      lists.add(request);
      int page = request.getPageToken().isEmpty() ? 1 : Integer.parseInt(request.getPageToken());
      observer.onNext(ListRunsResponse.newBuilder()
          .addRuns(dev.drover.v1.Run.newBuilder().setRunId("r-" + page))
          .setNextPageToken(page == 3 ? "" : Integer.toString(page + 1))
          .build());
      observer.onCompleted();
    }

    @Override
    public void registerWorkflow(
        RegisterWorkflowRequest request, StreamObserver<RegisterWorkflowResponse> observer) {
      observer.onNext(RegisterWorkflowResponse.newBuilder()
          .setName(request.getText()).setVersion(3).setCreated(true).build());
      observer.onCompleted();
    }

    /** Two pages; the run of the second one is refused. */
    @Override
    public void bulkAction(
        BulkActionRequest request, StreamObserver<BulkActionResponse> observer) {
      bulks.add(request);
      BulkActionResponse.Builder answer = BulkActionResponse.newBuilder().setCount(2);
      if (request.getPageToken().isEmpty()) {
        answer.setNextPageToken("2").addResultsBuilder().setRunId("r-1").setNewRunId("r-7");
      } else {
        answer.addResultsBuilder().setRunId("r-2").setStatus(ScriptedServer.statusOf(
            Status.Code.FAILED_PRECONDITION, Reason.RUN_STATE, Duration.ZERO));
      }
      observer.onNext(answer.build());
      observer.onCompleted();
    }

    /** Breaks after the first version, and ends with the third. */
    @Override
    public void watchRun(WatchRunRequest request, StreamObserver<WatchRunResponse> observer) {
      long version = request.getAfterVersion() + 1;
      watches.add(request.getAfterVersion());
      dev.drover.v1.Run.Builder run = dev.drover.v1.Run.newBuilder().setVersion(version);
      if (version == 3) {
        run.setState(dev.drover.v1.RunState.RUN_STATE_COMPLETED);
      }
      observer.onNext(WatchRunResponse.newBuilder().setRun(run).build());
      observer.onError(Status.UNAVAILABLE.asRuntimeException());
    }
  }

  record Booking(String code) {}

  private static final Task<String, Booking> BOOK =
      Task.of("book-flight", String.class, Booking.class);

  private final Scheduler scheduler = new Scheduler();
  private final ScriptedServer server = new ScriptedServer(scheduler);
  private final Client client = builder().build();

  private Client.Builder builder() {
    return Client.builder("127.0.0.1:1").channel(server.channel).namespace("trips");
  }

  @AfterEach
  void stop() {
    scheduler.holding.countDown();
    client.close();
    server.close();
  }

  private void refuse(Status.Code code, String reason) {
    scheduler.refusals.add(ScriptedServer.statusOf(code, reason, Duration.ZERO));
  }

  @Test
  void aStartIsRepeatedUnderTheSameKeyWhileItsOutcomeIsUnknown() {
    refuse(Status.Code.UNAVAILABLE, "");
    refuse(Status.Code.INTERNAL, Reason.INTERNAL);
    Started started = client.schedule(NewRun.of("trip", Map.of("to", "Lisbon")));
    assertEquals(3, scheduler.schedules.size());
    ScheduleRequest first = scheduler.schedules.get(0);
    assertEquals(List.of(first, first, first), scheduler.schedules);
    assertFalse(first.getKey().isEmpty());
    assertEquals("trips", first.getNamespace());
    assertEquals("{\"to\":\"Lisbon\"}", first.getInput().getJson());
    assertEquals(new RunName.Id("run-" + first.getKey()), started.id());
  }

  @Test
  void aRefusalIsAnErrorAtOnceWithItsReason() {
    refuse(Status.Code.ALREADY_EXISTS, Reason.KEY_REUSED);
    CallException error = assertThrows(CallException.class,
        () -> client.schedule(NewRun.of("trip", null).key("k")));
    assertTrue(error.is(Reason.KEY_REUSED));
    assertEquals(1, scheduler.schedules.size());
  }

  @Test
  void patienceEnds() {
    for (int at = 0; at < 100; at++) {
      refuse(Status.Code.UNAVAILABLE, "");
    }
    try (Client hasty = builder().patience(Duration.ofMillis(300)).build()) {
      CallException error = assertThrows(CallException.class,
          () -> hasty.signal(RUN, "paid", null));
      assertEquals(Status.Code.UNAVAILABLE, error.code());
    }
    assertTrue(scheduler.signals.size() > 1);
  }

  @Test
  void startsThatAreNotAnsweredKeepBackNoOtherForLongerThanASecond() throws Exception {
    scheduler.isHolding = true;
    List<CompletableFuture<Started>> started = new ArrayList<>();
    for (int at = 0; at < 5; at++) {
      started.add(client.scheduleAsync(NewRun.of("trip", null).key("k" + at)));
      scheduler.seen.acquire();
    }
    scheduler.holding.countDown();
    for (int at = 0; at < 5; at++) {
      assertEquals("run-k" + at, started.get(at).join().id().value());
    }
    assertEquals(List.of(), scheduler.batches);
  }

  @Test
  void runsThatAreStartedAtTheSameTimeShareARequest() {
    scheduler.isHolding = true;
    List<CompletableFuture<Started>> started = new ArrayList<>();
    for (int at = 0; at < 10; at++) {
      started.add(client.scheduleAsync(NewRun.of("trip", null).key("k" + at)));
    }
    scheduler.holding.countDown();
    for (int at = 0; at < 10; at++) {
      assertEquals("run-k" + at, started.get(at).join().id().value());
    }
    assertTrue(scheduler.schedules.size() + scheduler.batches.size() < 10);
  }

  @Test
  void aBatchHasAResultForEachRun() {
    List<BatchResult> results = client.scheduleBatch(
        List.of(NewRun.of("trip", null).key("a"), NewRun.of("trip", null).key("taken")));
    assertEquals("run-a", results.get(0).started().orElseThrow().id().value());
    assertTrue(results.get(1).refusal().orElseThrow().is(Reason.KEY_REUSED));
  }

  @Test
  void aSignalIsSentOnceUnderAnIdOfItsOwn() {
    refuse(Status.Code.UNAVAILABLE, "");
    client.signal(RUN, "paid", 7);
    assertEquals(scheduler.signals.get(0), scheduler.signals.get(1));
    client.signal(RUN, "paid", 7);
    assertNotEquals(
        scheduler.signals.get(0).getSignalId(), scheduler.signals.get(2).getSignalId());
  }

  @Test
  void anOutputHasTheTypeOfItsTaskAlsoThroughACodec() {
    assertEquals(
        Optional.of(new Booking("b-1")), client.getRun(RUN).step("flight").output(BOOK));
    Codec codec = new AesGcmCodec(new byte[32]);
    scheduler.codec = codec;
    try (Client sealed = builder().codec(codec).build()) {
      assertEquals(
          Optional.of(new Booking("b-1")), sealed.getRun(RUN).step("flight").output(BOOK));
    }
  }

  @Test
  void aListIsReadPageByPage() {
    List<String> ids = client.listRuns(RunFilter.all())
        .map(run -> run.id().value()).toList();
    assertEquals(List.of("r-1", "r-2", "r-3"), ids);
  }

  @Test
  void aFilterSendsItsConditions() {
    RunFilter failed = RunFilter.all().workflow("trip").labels(Map.of("tenant", "acme"))
        .states(RunState.FAILED, RunState.COMPENSATED).substates(RunSubstate.HELD)
        .parent(new RunName.Id("p")).createdAfter(Instant.ofEpochSecond(5))
        .createdBefore(Instant.ofEpochSecond(9)).query("error:sold-out");
    client.listRuns(failed).findFirst();
    dev.drover.v1.RunFilter sent = scheduler.lists.get(0).getFilter();
    assertEquals(dev.drover.v1.RunFilter.newBuilder()
        .setWorkflow("trip").putLabels("tenant", "acme")
        .addStates(dev.drover.v1.RunState.RUN_STATE_FAILED)
        .addStates(dev.drover.v1.RunState.RUN_STATE_COMPENSATED)
        .addSubstates(dev.drover.v1.RunSubstate.RUN_SUBSTATE_HELD)
        .setParentRunId("p").setCreatedAfter(Times.toProto(Instant.ofEpochSecond(5)))
        .setCreatedBefore(Times.toProto(Instant.ofEpochSecond(9))).setQuery("error:sold-out")
        .build(), sent);
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class,
        () -> RunFilter.all().states(RunState.UNRECOGNIZED));
    assertTrue(error.getMessage().contains("name another RunState"), error.getMessage());
  }

  @Test
  void aBulkActionIsOneActionOverAllItsPagesWithAResultForEachRun() {
    BulkAction retry = BulkAction.retry().newest().filter(RunFilter.all().workflow("trip"));
    assertEquals(2, client.countForBulk(retry));
    List<BulkResult> results = client.bulk(retry.expectedCount(2)).toList();
    assertEquals(Optional.of(new RunName.Id("r-7")), results.get(0).newRun());
    assertTrue(results.get(1).refusal().orElseThrow().is(Reason.RUN_STATE));
    assertTrue(scheduler.bulks.get(0).getDryRun());
    BulkActionRequest first = scheduler.bulks.get(1);
    assertEquals(2, first.getExpectedCount());
    assertFalse(first.getRequestId().isEmpty());
    assertEquals(first.toBuilder().setPageToken("2").build(), scheduler.bulks.get(2));
  }

  @Test
  void aRegisteredWorkflowHasItsVersion() {
    assertEquals(new Registered("trip", 3, true), client.registerWorkflow("trip"));
  }

  @Test
  void theGeneratedClientsMakeTheOtherCalls() {
    GeneratedClients generated = client.generated();
    BulkActionRequest request =
        BulkActionRequest.newBuilder().setDryRun(true).setPayload(generated.payload(7)).build();
    assertEquals(2, generated.scheduler().bulkAction(request).getCount());
    assertEquals("trips", scheduler.bulks.get(0).getNamespace());
    assertEquals("r", generated.ref(RUN).getRunId());
    assertEquals("k", generated.ref(RunName.key("k")).getKey());
  }

  @Test
  void aWatchGoesOnAfterABreakFromTheLastVersionThatItSaw() {
    List<Long> versions = new ArrayList<>();
    try (RunWatch watch = client.watchRun(RUN)) {
      watch.forEachRemaining(snapshot -> versions.add(snapshot.run().version()));
    }
    assertEquals(List.of(1L, 2L, 3L), versions);
    assertEquals(List.of(0L, 1L, 2L), scheduler.watches);
  }

  @Test
  void anInterruptGivesUpTheCall() {
    scheduler.isHolding = true;
    Thread.currentThread().interrupt();
    CallException error = assertThrows(CallException.class, () -> client.getRun(RUN));
    assertEquals(Status.Code.CANCELLED, error.code());
    assertTrue(Thread.interrupted());
  }
}
