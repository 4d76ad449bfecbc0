package dev.drover.workflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.util.JsonFormat;
import dev.drover.CompensateTask;
import dev.drover.PayloadException;
import dev.drover.Task;
import dev.drover.v1.WorkflowDefinition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The messages in testdata are those that the server reads from the texts, in protobuf's JSON; a
 * test of the repository checks that.
 */
class WorkflowTest {
  private static final Path DATA = Path.of("../go/workflow/testdata");

  private static Task<JsonNode, JsonNode> named(String name) {
    return Task.untyped(name);
  }

  private static void assertIsTextOf(String name, Workflow<JsonNode> workflow)
      throws IOException {
    WorkflowDefinition.Builder wanted = WorkflowDefinition.newBuilder();
    JsonFormat.parser().merge(Files.readString(DATA.resolve(name + ".json")), wanted);
    assertEquals(wanted.build(),
        WorkflowDefinition.parseFrom(workflow.definition().orElseThrow().encoded()));
  }

  @Test
  void everySettingIsThatOfTheText() throws IOException {
    Task<JsonNode, JsonNode> charge = named("charge");
    assertIsTextOf("everything", Workflow.builder("everything", JsonNode.class)
        .timeout(Duration.ofDays(1))
        .inputSchema(Map.of("type", "object"))
        .step(Step.task("pay", charge).queue("money")
            .template(Map.of("amount", "${input.amount}"))
            .retry(Retry.on("busy").attempts(3).initial(Duration.ofSeconds(1)).factor(3)
                .max(Duration.ofSeconds(10)).jitter(0))
            .timeouts(Timeouts.defaults().pickup(Duration.ofMinutes(1))
                .attempt(Duration.ofMinutes(1)).heartbeat(Duration.ofSeconds(9))
                .stall(Duration.ofSeconds(5)).total(Duration.ofHours(1))
                .cancel(Duration.ZERO).settle(Duration.ZERO).callback(Duration.ofHours(2)))
            .logs(false)
            .verify(charge.verifiedBy("find-charge"), new Beside().queue("lookups")
                .retry(Retry.defaults().attempts(9))
                .timeouts(Timeouts.defaults().attempt(Duration.ofSeconds(3))))
            .compensate(charge.compensatedBy("refund"), new Beside().attempted()
                .timeouts(Timeouts.defaults().attempt(Duration.ofMinutes(2))))
            .fallbackInput(Map.of("card", "second"))
            .fallback("charge-eu", "money-eu", null)
            .onPickup(OnPickup.FALLBACK).onFailure(OnFailure.ESCALATE)
            .remind(Duration.ofHours(2))
            .escalationDeadline(Duration.ofDays(1), DeadlineAnswer.FAIL)
            .outputSchema(Map.of("type", "object")))
        .step(Step.wait("cool", Duration.ofMinutes(30)).needs("pay"))
        .step(Step.waitUntil("open", "2026-03-01T08:00:00Z").when("input.waits"))
        .step(Step.signal("paid", "paid").needs("cool", "open").runIf(RunIf.ANY_OK))
        .step(Step.signal("sent", "sent", Duration.ofDays(2), SignalExpiry.SKIP).pivot())
        .step(Step.approval("release").approvers("finance").need(2).notRequester().form(true)
            .within(Duration.ofDays(1), ApprovalExpiry.REJECT))
        .step(Step.run("bill", "billing").fallbackRun("billing-eu", 2))
        .step(Step.map("deploy", "input.hosts", named("deploy")).queue("deploy-${item}")
            .concurrency(5).tolerate(Amount.percent(5)).waves(Amount.percent(25))
            .wavePause(Duration.ofMinutes(10))
            .waveGate(named("check"), Map.of("deep", true), new Beside()
                .timeouts(Timeouts.defaults().attempt(Duration.ofMinutes(1)))))
        .step(Step.map("few", "3", named("count")).tolerate(Amount.count(0))
            .waves(Amount.count(2)).effects(Effects.ONCE))
        .step(Step.task("notify", named("send-mail")).always().onFailure(OnFailure.CONTINUE)
            .retry(Retry.defaults().attempts(2), Retry.defaults().factor(1.5)))
        .build());
  }

  private static Retry[] travelRetry() {
    return new Retry[] {
      Retry.on("busy").attempts(10).initial(Duration.ofMillis(500)).max(Duration.ofSeconds(5)),
      Retry.defaults().attempts(6).initial(Duration.ofMillis(200)).factor(2)
          .max(Duration.ofSeconds(2)).jitter(0.2),
    };
  }

  private static Beside travelBeside() {
    return new Beside()
        .retry(Retry.defaults().attempts(10).initial(Duration.ofMillis(200))
            .max(Duration.ofSeconds(2)))
        .timeouts(Timeouts.defaults().attempt(Duration.ofSeconds(10))
            .heartbeat(Duration.ofSeconds(2)));
  }

  private static Timeouts travelTimes() {
    return Timeouts.defaults().pickup(Duration.ofSeconds(20)).attempt(Duration.ofSeconds(10))
        .heartbeat(Duration.ofSeconds(2)).total(Duration.ofMinutes(1));
  }

  private static TaskStep<JsonNode, JsonNode, JsonNode> booking(String thing) {
    Task<JsonNode, JsonNode> task = named("book-" + thing);
    CompensateTask<JsonNode, JsonNode> cancel = task.compensatedBy("cancel-" + thing);
    return Step.task(thing, task).queue("travel").retry(travelRetry()).timeouts(travelTimes())
        .compensate(cancel, travelBeside());
  }

  @Test
  void theHolidayOfTheExamplesIsThatOfItsText() throws IOException {
    assertIsTextOf("holiday", Workflow.builder("book-holiday", JsonNode.class)
        .timeout(Duration.ofMinutes(5))
        .step(booking("flight")
            .verify(named("book-flight").verifiedBy("find-flight"), travelBeside()))
        .step(booking("hotel").needs("flight")
            .timeouts(travelTimes().settle(Duration.ofSeconds(2)))
            .fallbackInput(Map.of("hotel", "${input.second_hotel}")))
        .step(booking("car").needs("flight"))
        .build());
  }

  @Test
  void anInputWithoutAJsonFormIsRefusedAtOnce() {
    TaskStep<JsonNode, JsonNode, JsonNode> step = Step.task("a", named("a"));
    Object[] endless = new Object[1];
    endless[0] = endless;
    assertThrows(PayloadException.class, () -> step.template(endless));
  }
}
