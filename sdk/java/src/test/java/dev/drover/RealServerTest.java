package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.drover.workflow.OnFailure;
import dev.drover.workflow.Retry;
import dev.drover.workflow.Step;
import dev.drover.workflow.Workflow;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Against a real server, whose address the environment gives; a test of the repository does. */
@EnabledIfEnvironmentVariable(named = "DROVER_TEST_ADDRESS", matches = ".+")
@Timeout(240)
class RealServerTest {
  record Trip(String to) {}

  record Booking(String code) {}

  record Nothing() {}

  private static final Task<Trip, Booking> BOOK =
      Task.of("book-flight", Trip.class, Booking.class);
  private static final CompensateTask<Trip, Booking> CANCEL = BOOK.compensatedBy("cancel-flight");
  private static final Task<Trip, Nothing> PAY = Task.of("pay", Trip.class, Nothing.class);

  private static final String ADDRESS =
      Optional.ofNullable(System.getenv("DROVER_TEST_ADDRESS")).orElse("");

  private final String queue = "java-" + UUID.randomUUID();

  private Workflow<Trip> trip() {
    return Workflow.builder("java-trip", Trip.class)
        .step(Step.task("flight", BOOK).queue(queue).compensate(CANCEL)
            .retry(Retry.defaults().attempts(3).initial(Duration.ofMillis(50))))
        .step(Step.approval("release").needs("flight"))
        .step(Step.task("payment", PAY).queue(queue).needs("release"))
        .build();
  }

  @Test
  void aRunGoesFromItsStartThroughAnApprovalToItsEnd() {
    Agent.Builder agents = Agent.builder(ADDRESS, "java-agent").queue(queue)
        .handle(BOOK, (trip, task) -> {
          if (task.attempt() < 2) {
            throw TaskException.transientFailure("busy", "All lines are busy.");
          }
          return new Booking("flight-to-" + trip.to());
        })
        .handle(PAY, (trip, task) -> {
          if (trip.to().equals("Atlantis")) {
            throw TaskException.permanent("no-card", "There is no card.");
          }
          return null;
        })
        .compensate(CANCEL, task -> task.log().info("cancels {}", task.output().orElseThrow()));
    try (Agent agent = agents.build(); Client client = Client.builder(ADDRESS).build()) {
      agent.start();
      Started lisbon = client.schedule(NewRun.of(trip(), new Trip("Lisbon")).key(queue));
      assertEquals(lisbon.id(), client.schedule(
          NewRun.of(trip(), new Trip("Lisbon")).key(queue)).id(), "one key starts one run");
      approve(client, lisbon.id());
      assertEquals(RunState.COMPLETED, client.waitRun(lisbon.id()).state());
      RunDetails details = client.getRun(RunName.key(queue), RunDetails.Include.ATTEMPTS);
      assertEquals(
          Optional.of(new Booking("flight-to-Lisbon")), details.step("flight").output(BOOK));
      assertTrue(details.attempts().size() >= 3);

      Started atlantis = client.schedule(trip(), new Trip("Atlantis"));
      approve(client, atlantis.id());
      assertEquals(RunState.COMPENSATED, client.waitRun(atlantis.id()).state());
    }
  }

  @Test
  void aPersonFindsAnEscalationAndAnswersIt() {
    Workflow<Trip> paid = Workflow.builder("java-paid", Trip.class)
        .step(Step.task("payment", PAY).queue(queue).onFailure(OnFailure.ESCALATE))
        .step(Step.approval("release").needs("payment").approvers("finance"))
        .build();
    Agent.Builder agents = Agent.builder(ADDRESS, "java-agent").queue(queue)
        .handle(PAY, (trip, task) -> {
          throw TaskException.permanent("no-card", "There is no card.");
        });
    try (Agent agent = agents.build(); Client client = Client.builder(ADDRESS).build()) {
      agent.start();
      RunName run = client.schedule(paid, new Trip("Atlantis")).id();
      awaitState(client, run, "payment", StepState.ESCALATED);
      Escalation open = client.escalations().list()
          .filter(one -> RunName.id(one.runId()).equals(run)).findFirst().orElseThrow();
      assertEquals("no-card", open.code());
      EscalationDetails details = client.escalations().get(run, open.id());
      assertTrue(details.escalation().answers().contains("succeed"));
      assertEquals(Optional.of(new Trip("Atlantis")), details.run().input(Trip.class));
      assertEquals(Optional.of(Attempt.Outcome.FAILURE), details.attempts().get(0).outcome());
      assertEquals("ada", client.escalations().claim(run, open.id(), "ada").claimedBy());
      Resolved resolved = client.escalations().resolve(
          run, open.id(), Resolution.succeed("ada", new Nothing()).why("Paid in cash."));
      assertEquals("Paid in cash.", resolved.escalation().answer().orElseThrow().why());

      awaitState(client, run, "release", StepState.WAITING);
      RunExplanation explanation = client.explainRun(run);
      assertEquals(RunWait.For.APPROVAL, explanation.waitsFor().waitingFor());
      Approval approval =
          client.approvals().listOf(run).findFirst().orElseThrow();
      assertEquals(List.of("finance"), approval.approvers());
      client.approvals().decide(
          approval.run(), approval.stepId(), Decision.approve("bob").roles("finance"));
      assertEquals(RunState.COMPLETED, client.waitRun(run).state());
      assertEquals(List.of(run), client.listRuns(RunFilter.all().workflow("java-paid"))
          .map(Run::id).filter(run::equals).toList());
    }
  }

  private static void approve(Client client, RunName run) {
    awaitState(client, run, "release", StepState.WAITING);
    client.approvals().decide(run, "release", Decision.approve("ada").comment("goes"));
  }

  private static void awaitState(Client client, RunName run, String stepId, StepState state) {
    try (RunWatch watch = client.watchRun(run)) {
      while (watch.hasNext()) {
        boolean isReached = watch.next().steps().stream()
            .anyMatch(step -> step.id().equals(stepId) && step.state() == state);
        if (isReached) {
          return;
        }
      }
    }
    throw new AssertionError("the run ended, and step " + stepId + " was never " + state);
  }
}
