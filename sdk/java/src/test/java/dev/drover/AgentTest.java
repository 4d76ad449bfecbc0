package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.drover.v1.CompleteAnswer;
import dev.drover.v1.CompleteRequest;
import dev.drover.v1.CompleteResponse;
import dev.drover.v1.HeartbeatAnswer;
import dev.drover.v1.HeartbeatRequest;
import dev.drover.v1.HeartbeatResponse;
import dev.drover.v1.Outcome;
import dev.drover.v1.PollTaskRequest;
import dev.drover.v1.PollTaskResponse;
import dev.drover.v1.Task;
import dev.drover.v1.TaskResult;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The rules of the agent, against a server whose answers the test gives. */
@Timeout(120)
class AgentTest {
  private static final dev.drover.Task<JsonNode, String> WORK =
      dev.drover.Task.of("work", JsonNode.class, String.class);

  private final ScriptedServer server = new ScriptedServer();
  private Agent agent;

  @AfterEach
  void stop() {
    server.completes.always(call -> call.answer(ScriptedServer.accepted(call.request())));
    server.heartbeats.always(call -> call.answer(ScriptedServer.carriedOn(call.request())));
    server.polls.always(call -> call.answer(ScriptedServer.tasks()));
    if (agent != null) {
      agent.close();
    }
    server.close();
  }

  private Agent.Builder builder() {
    return Agent.builder("127.0.0.1:1", "tested").channel(server.channel).slots(4)
        .grace(Duration.ofSeconds(30)).pollWait(Duration.ofSeconds(60));
  }

  private void start(Handlers.Perform<JsonNode, String> handler) {
    agent = builder().handle(WORK, handler).build();
    agent.start();
  }

  private void grant(Task.Builder... tasks) {
    server.polls.next().answer(ScriptedServer.tasks(tasks));
  }

  @Test
  void theOutputOfAHandlerIsReportedWithAPollForTheFreedSlot() {
    start((input, task) -> "done by " + task.attempt());
    grant(ScriptedServer.task("t"));
    ScriptedServer.Call<CompleteRequest, CompleteResponse> report = server.completes.next();
    CompleteRequest request = report.request();
    report.answer(ScriptedServer.accepted(request));
    TaskResult result = request.getResults(0);
    assertEquals("t", result.getTaskToken());
    assertEquals("\"done by 1\"", result.getOutcome().getSuccess().getOutput().getJson());
    assertTrue(request.getNext().getPollSeq() > 1, "polls of both kinds share one count");
  }

  @Test
  void aReportIsRepeatedWithTheSameOutcomeUntilItIsAnswered() {
    start((input, task) -> "done");
    grant(ScriptedServer.task("t"));
    ScriptedServer.Call<CompleteRequest, CompleteResponse> first = server.completes.next();
    first.fail(Status.Code.UNAVAILABLE, "");
    ScriptedServer.Call<CompleteRequest, CompleteResponse> second = server.completes.next();
    assertEquals(first.request().getResults(0), second.request().getResults(0));
    second.answer(CompleteResponse.newBuilder()
        .addAnswers(CompleteAnswer.newBuilder().setStatus(ScriptedServer.statusOf(
            Status.Code.RESOURCE_EXHAUSTED, Reason.OVERLOADED, Duration.ofMillis(1))))
        .build());
    ScriptedServer.Call<CompleteRequest, CompleteResponse> third = server.completes.next();
    assertEquals(first.request().getResults(0), third.request().getResults(0));
    // Or none, if the agent polls for the slot already.
    assertNotEquals(
        first.request().getNext().getPollSeq(), third.request().getNext().getPollSeq(),
        "a repeated call repeats its poll");
  }

  @Test
  void aCallThatIsRefusedForItsTokenLosesNoReport() {
    start((input, task) -> "done");
    grant(ScriptedServer.task("t"));
    server.completes.next().fail(Status.Code.UNAUTHENTICATED, Reason.TOKEN_REQUIRED);
    CompleteRequest again = server.completes.next().request();
    assertTrue(again.getResults(0).getOutcome().hasSuccess());
  }

  @Test
  void anOutputThatTheServerRefusesIsReportedAsLost() {
    start((input, task) -> "done");
    grant(ScriptedServer.task("t"));
    server.completes.next().answer(CompleteResponse.newBuilder()
        .addAnswers(CompleteAnswer.newBuilder().setStatus(ScriptedServer.statusOf(
            Status.Code.INVALID_ARGUMENT, Reason.PAYLOAD_TOO_LARGE, Duration.ZERO)))
        .build());
    Outcome instead = server.completes.next().request().getResults(0).getOutcome();
    assertTrue(instead.getSuccess().getOutputProblem().startsWith("The output was refused"));
  }

  @Test
  void aPollWhoseAnswerWasLostIsNamedAndOneThatWasRefusedIsNot() {
    start((input, task) -> "done");
    ScriptedServer.Call<PollTaskRequest, PollTaskResponse> first = server.polls.next();
    assertEquals(1, first.request().getPollSeq());
    assertEquals(4, first.request().getMaxTasks());
    first.fail(Status.Code.UNAVAILABLE, "");
    ScriptedServer.Call<PollTaskRequest, PollTaskResponse> second = server.polls.next();
    assertEquals(List.of(1L), second.request().getLostPollsList());
    second.fail(
        Status.Code.RESOURCE_EXHAUSTED, Reason.OVERLOADED, Duration.ofMillis(1));
    PollTaskRequest third = server.polls.next().request();
    assertEquals(List.of(1L), third.getLostPollsList());
    assertEquals(3, third.getPollSeq());
  }

  @Test
  void aHeartbeatCarriesProgressOnceAndRenewsLeases() throws InterruptedException {
    CountDownLatch end = new CountDownLatch(1);
    start((input, task) -> {
      task.progress(Progress.fraction(0.4));
      end.await();
      return null;
    });
    grant(ScriptedServer.task("t")
        .setHeartbeatInterval(Times.toProto(Duration.ofMillis(200))));
    ScriptedServer.Call<HeartbeatRequest, HeartbeatResponse> noting = server.heartbeats.next();
    while (!noting.request().getReports(0).hasProgress()) {
      noting.answer(ScriptedServer.carriedOn(noting.request()));
      noting = server.heartbeats.next();
    }
    assertEquals(0.4, noting.request().getReports(0).getProgress().getFraction());
    noting.answer(ScriptedServer.carriedOn(noting.request()));
    ScriptedServer.Call<HeartbeatRequest, HeartbeatResponse> next = server.heartbeats.next();
    while (next.request().getReports(0).hasProgress()) {
      // It was sent while the first one was under way.
      next.answer(ScriptedServer.carriedOn(next.request()));
      next = server.heartbeats.next();
    }
    assertEquals(1, next.request().getListsAllTo(), "the second poll is under way");
    end.countDown();
  }

  @Test
  void aCancelOfTheServerInterruptsTheHandler() {
    start((input, task) -> {
      new CountDownLatch(1).await();
      return null;
    });
    grant(ScriptedServer.task("t")
        .setHeartbeatInterval(Times.toProto(Duration.ofMillis(100))));
    server.heartbeats.always(call -> call.answer(HeartbeatResponse.newBuilder()
        .addAnswers(HeartbeatAnswer.newBuilder().setCancel(HeartbeatAnswer.Cancel.newBuilder()
            .setWithin(Times.toProto(Duration.ofSeconds(5)))))
        .build()));
    assertTrue(server.completes.next().request().getResults(0).getOutcome().hasCancelled());
  }

  @Test
  void whenNoHeartbeatIsAnsweredTheLeaseEndsByTheClockOfTheAgent() {
    start((input, task) -> {
      new CountDownLatch(1).await();
      return null;
    });
    grant(ScriptedServer.task("t").setLeaseFor(Times.toProto(Duration.ofMillis(600)))
        .setHeartbeatInterval(Times.toProto(Duration.ofMillis(200))));
    Outcome outcome = server.completes.next().request().getResults(0).getOutcome();
    assertEquals("lease-ended", outcome.getUnknown().getCode());
  }

  @Test
  void aTaskOfAKindThatTheAgentDoesNotKnowIsReleased() {
    start((input, task) -> "done");
    grant(ScriptedServer.task("t").setKindValue(77));
    assertTrue(server.completes.next().request().getResults(0).getOutcome().hasReleased());
  }

  @Test
  void anAgentThatStopsGivesUpItsPollNamesItAndLetsItsHandlersFinish()
      throws InterruptedException {
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    start((input, task) -> {
      started.countDown();
      end.await();
      return "done";
    });
    grant(ScriptedServer.task("t"));
    assertTrue(started.await(60, TimeUnit.SECONDS));
    ScriptedServer.Call<PollTaskRequest, PollTaskResponse> parked = server.polls.next();
    assertEquals(3, parked.request().getMaxTasks());
    agent.stop();
    HeartbeatRequest naming = server.heartbeats.next().request();
    assertEquals(List.of(parked.request().getPollSeq()), naming.getLostPollsList());
    assertTrue(parked.isGivenUp());
    end.countDown();
    ScriptedServer.Call<CompleteRequest, CompleteResponse> report = server.completes.next();
    assertTrue(report.request().getResults(0).getOutcome().hasSuccess());
    assertFalse(report.request().hasNext(), "an agent that stops takes no further task");
    report.answer(ScriptedServer.accepted(report.request()));
    server.heartbeats.always(call -> call.answer(ScriptedServer.carriedOn(call.request())));
    agent.awaitStopped();
  }

  @Test
  void aHandlerThatIgnoresItsStopEndsTheAgent() throws InterruptedException {
    CountDownLatch end = new CountDownLatch(1);
    agent = builder().grace(Duration.ZERO).stopGrace(Duration.ofMillis(50))
        .handle(WORK, (input, task) -> {
          while (end.getCount() > 0) {
            Thread.onSpinWait();
          }
          return null;
        })
        .build();
    agent.start();
    server.heartbeats.always(call -> call.answer(HeartbeatResponse.newBuilder()
        .addAnswers(HeartbeatAnswer.newBuilder()
            .setLeaseLost(HeartbeatAnswer.LeaseLost.getDefaultInstance()))
        .build()));
    grant(ScriptedServer.task("t")
        .setHeartbeatInterval(Times.toProto(Duration.ofMillis(50))));
    ScriptedServer.Call<CompleteRequest, CompleteResponse> report = server.completes.next();
    assertEquals("handler-lost",
        report.request().getResults(0).getOutcome().getUnknown().getCode());
    report.answer(ScriptedServer.accepted(report.request()));
    Agent lost = agent;
    agent = null;
    assertThrows(HandlerLostException.class, lost::awaitStopped);
    end.countDown();
  }

  @Test
  void linesOfAHandlerAreSentOnlyWhereTheServerStoresThem() {
    start((input, task) -> {
      task.log().atWarn().addKeyValue("card", "visa").log("charged {}", 7);
      return "done";
    });
    grant(ScriptedServer.task("quiet"), ScriptedServer.task("t").setStoreLogs(true));
    var request = server.logs.next().request();
    assertEquals(1, request.getLogsCount());
    assertEquals("t", request.getLogs(0).getTaskToken());
    assertEquals("charged 7", request.getLogs(0).getLines(0).getMessage());
    assertEquals("visa", request.getLogs(0).getLines(0).getFieldsOrThrow("card"));
  }

  @Test
  void settingsThatAreWrongAreAllNamedAtTheStart() {
    IllegalArgumentException error = assertThrows(
        IllegalArgumentException.class,
        () -> Agent.builder("127.0.0.1:1", "no name").slots(0).build());
    for (String text : List.of("\"no name\"", "number of slots is 0", "number of handlers is 0")) {
      assertTrue(error.getMessage().contains(text), error.getMessage());
    }
    assertThrows(IllegalArgumentException.class,
        () -> Agent.builder("nowhere", "a").handle("work", task -> null).build());
  }
}
