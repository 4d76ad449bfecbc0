package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
      assertTrue(details.message().getAttemptsCount() >= 3);

      Started atlantis = client.schedule(trip(), new Trip("Atlantis"));
      approve(client, atlantis.id());
      assertEquals(RunState.COMPENSATED, client.waitRun(atlantis.id()).state());
    }
  }

  private static void approve(Client client, RunName run) {
    try (RunWatch watch = client.watchRun(run)) {
      while (watch.hasNext()) {
        List<RunStep> steps = watch.next().steps();
        boolean isWaiting = steps.stream()
            .anyMatch(step -> step.id().equals("release") && step.state() == StepState.WAITING);
        if (isWaiting) {
          client.decide(run, "release", Decision.approve("ada").comment("goes"));
          return;
        }
      }
    }
  }
}
