package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.drover.v1.ActionKind;
import dev.drover.v1.ApprovalExpiry;
import dev.drover.v1.AttemptSource;
import dev.drover.v1.ConcurrencyPolicy;
import dev.drover.v1.FailureClass;
import dev.drover.v1.NextKind;
import dev.drover.v1.OutcomeKind;
import dev.drover.v1.SettingSource;
import dev.drover.v1.Step;
import dev.drover.v1.StopCause;
import dev.drover.v1.WaitKind;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The values of enums, which a newer server may have more of. */
class ContractTest {
  /** Far beyond the numbers of the contract. */
  private static final int NEWER = 9_999;

  static Stream<Arguments> enums() {
    return Stream.of(
        Arguments.of(dev.drover.v1.RunState.class, "RUN_STATE_", RunState.class),
        Arguments.of(dev.drover.v1.RunReason.class, "RUN_REASON_", RunReason.class),
        Arguments.of(dev.drover.v1.RunSubstate.class, "RUN_SUBSTATE_", RunSubstate.class),
        Arguments.of(dev.drover.v1.StepState.class, "STEP_STATE_", StepState.class),
        Arguments.of(dev.drover.v1.StepKind.class, "STEP_KIND_", StepKind.class),
        Arguments.of(dev.drover.v1.UndoState.class, "UNDO_STATE_", UndoState.class),
        Arguments.of(dev.drover.v1.WaitingOn.class, "WAITING_ON_", WaitingOn.class),
        Arguments.of(FailureClass.class, "FAILURE_CLASS_", Failure.Kind.class),
        Arguments.of(OutcomeKind.class, "OUTCOME_KIND_", Attempt.Outcome.class),
        Arguments.of(AttemptSource.class, "ATTEMPT_SOURCE_", Attempt.Source.class),
        Arguments.of(SettingSource.class, "SETTING_SOURCE_", Setting.Source.class),
        Arguments.of(ApprovalExpiry.class, "APPROVAL_EXPIRY_", Approval.Expiry.class),
        Arguments.of(WaitKind.class, "WAIT_KIND_", RunWait.For.class),
        Arguments.of(NextKind.class, "NEXT_KIND_", RunWait.Next.class),
        Arguments.of(StopCause.class, "STOP_CAUSE_", RunWait.StopCause.class),
        Arguments.of(ActionKind.class, "ACTION_KIND_", PersonAction.Kind.class),
        Arguments.of(ConcurrencyPolicy.class, "CONCURRENCY_POLICY_", NewRun.WhenBusy.class),
        Arguments.of(dev.drover.v1.TaskKind.class, "TASK_KIND_", TaskKind.class));
  }

  private static List<String> names(Class<? extends Enum<?>> type) {
    return Arrays.stream(type.getEnumConstants()).map(Enum::name)
        .filter(name -> !name.equals("UNRECOGNIZED")).sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("enums")
  void eachValueOfTheContractHasAConstant(
      Class<? extends Enum<?>> wire, String prefix, Class<? extends Enum<?>> plain) {
    List<String> wanted = names(wire).stream()
        .filter(name -> !name.equals(prefix + "UNSPECIFIED"))
        .map(name -> name.substring(prefix.length())).sorted().toList();
    assertEquals(wanted, names(plain));
  }

  @Test
  void aValueOfANewerServerIsReadAsUnrecognized() {
    RunStep step = new RunStep(
        Step.newBuilder().setId("a").setStateValue(NEWER).setKindValue(NEWER)
            .setUndoStateValue(NEWER).setWaitingOnValue(NEWER).build(), null);
    assertEquals(StepState.UNRECOGNIZED, step.state());
    assertEquals(StepKind.UNRECOGNIZED, step.kind());
    assertEquals(UndoState.UNRECOGNIZED, step.undoState());
    assertEquals(Optional.of(WaitingOn.UNRECOGNIZED), step.waitingOn());
    Run run = new Run(dev.drover.v1.Run.newBuilder().setStateValue(NEWER).setReasonValue(NEWER)
        .setConcurrency(dev.drover.v1.Concurrency.newBuilder().setPolicyValue(NEWER))
        .build(), null);
    assertEquals(RunState.UNRECOGNIZED, run.state());
    assertEquals(Optional.of(RunReason.UNRECOGNIZED), run.reason());
    assertEquals(Optional.empty(), run.concurrency().orElseThrow().whenBusy());
    Attempt attempt =
        new Attempt(dev.drover.v1.Attempt.newBuilder().setKindValue(NEWER).build(), null);
    assertEquals(Optional.empty(), attempt.kind());
  }

  @Test
  void whatIsNotSetIsEmptyWhereThatMeansSomething() {
    assertEquals(Optional.empty(),
        new Run(dev.drover.v1.Run.getDefaultInstance(), null).reason());
    assertEquals(Optional.empty(), new RunStep(Step.getDefaultInstance(), null).waitingOn());
  }

  @Test
  void whatIsUnrecognizedIsNotSent() {
    assertThrows(IllegalArgumentException.class, RunState.UNRECOGNIZED::toProto);
  }
}
