package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.drover.v1.ErrorReason;
import dev.drover.v1.Outcome;
import java.io.IOException;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class OutcomesTest {
  private static final PayloadFormat FORMAT =
      new PayloadFormat(PayloadFormat.defaultMapper(), PayloadFormat.PLAIN);

  @Test
  void anExceptionOfNoKnownClassIsAnUnknown() {
    Outcome outcome = Outcomes.ofError(new IOException("reset"), null);
    assertEquals("unexpected-error", outcome.getUnknown().getCode());
    assertEquals("reset", outcome.getUnknown().getMessage());
  }

  @Test
  void aKnownExceptionIsFoundAmongTheCauses() {
    TaskException known = TaskException.permanent("no-such-city", "It is not there.").noEffect();
    Outcome outcome = Outcomes.ofError(new IllegalStateException(known), null);
    assertEquals("no-such-city", outcome.getFailed().getCode());
    assertTrue(outcome.getFailed().getNoEffect());
  }

  @Test
  void anInterruptOfAHandlerThatHasToStopIsItsReason() {
    Exception interrupted = new IllegalStateException(new InterruptedException());
    assertTrue(Outcomes.ofError(interrupted, StopReason.CANCELLED).hasCancelled());
    assertEquals("lease-ended",
        Outcomes.ofError(interrupted, StopReason.LEASE_ENDED).getUnknown().getCode());
    assertEquals("unexpected-error",
        Outcomes.ofError(interrupted, null).getUnknown().getCode(), "nobody has stopped it");
  }

  @Test
  void aVerifyHasToAnswer() {
    assertEquals("no-answer",
        Outcomes.ofResult(FORMAT, null, TaskKind.VERIFY).getUnknown().getCode());
    assertTrue(Outcomes.ofResult(FORMAT, Answer.didNotHappen(), TaskKind.VERIFY)
        .getFailed().getNoEffect());
    assertTrue(Outcomes.ofResult(FORMAT, Answer.happened(7), TaskKind.VERIFY).hasSuccess());
  }

  @Test
  void anOutputThatCannotBeSentIsDoneAndLost() {
    Object endless = new Object[1];
    ((Object[]) endless)[0] = endless;
    Outcome outcome = Outcomes.ofResult(FORMAT, endless, TaskKind.PERFORM);
    assertFalse(outcome.getSuccess().getOutputProblem().isEmpty());
    Outcome large =
        Outcomes.ofResult(FORMAT, "x".repeat(2 * 1024 * 1024), TaskKind.PERFORM);
    assertTrue(large.getSuccess().getOutputProblem().contains("2097154 bytes"));
  }

  @Test
  void codesAndMessagesOfAnywhereAreSuchThatTheServerTakesThem() {
    assertEquals("drover-lost", TidyText.code("drover.lost"));
    assertEquals("a-b-", TidyText.code("a b\n"));
    assertEquals("error", TidyText.code(""));
    assertEquals("a \uFFFDb", TidyText.message("a\0\ud800b"));
    assertEquals(4_096, TidyText.message("x".repeat(5_000)).length());
    assertEquals("ä", TidyText.bytes("äää", 3));
  }

  @Test
  void eachReasonOfTheContractIsAConstant() {
    Set<String> ofContract = Arrays.stream(ErrorReason.values())
        .map(Enum::name)
        .filter(name -> name.startsWith("ERROR_REASON_") && !name.endsWith("_UNSPECIFIED"))
        .map(name -> name.substring("ERROR_REASON_".length()))
        .collect(Collectors.toCollection(TreeSet::new));
    Set<String> constants = Arrays.stream(Reason.class.getFields())
        .map(field -> field.getName())
        .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(ofContract, constants);
  }
}
