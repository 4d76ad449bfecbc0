package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Timestamp;
import dev.drover.v1.Concurrency;
import dev.drover.v1.ConcurrencyPolicy;
import dev.drover.v1.EffectiveSetting;
import dev.drover.v1.ExplainRunResponse;
import dev.drover.v1.GetRunResponse;
import dev.drover.v1.ItemCounts;
import dev.drover.v1.LaneWait;
import dev.drover.v1.NextKind;
import dev.drover.v1.OutcomeKind;
import dev.drover.v1.ParentRun;
import dev.drover.v1.RunSubstateCount;
import dev.drover.v1.SettingSource;
import dev.drover.v1.Step;
import dev.drover.v1.Tried;
import dev.drover.v1.Wait;
import dev.drover.v1.WaitKind;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Runs, their history and their explanation, as programs read them. */
class RunDetailsTest {
  private static final PayloadFormat FORMAT =
      new PayloadFormat(PayloadFormat.defaultMapper(), PayloadFormat.PLAIN);
  private static final Instant TIME = Instant.ofEpochSecond(1_700_000_000, 5);
  private static final Timestamp WIRE_TIME = Times.toProto(TIME);

  private static dev.drover.v1.Payload json(Object value) {
    return Payload.of(value).message;
  }

  @Test
  void aRunHasWhatIsKnownOfIt() {
    Run run = new Run(dev.drover.v1.Run.newBuilder()
        .setRunId("r").setNamespace("trips").setKey("k").setPriority(3).setVersion(7)
        .setState(dev.drover.v1.RunState.RUN_STATE_RUNNING)
        .setReason(dev.drover.v1.RunReason.RUN_REASON_TIMED_OUT)
        .setCreatedTime(WIRE_TIME).setDeadlineTime(WIRE_TIME).setCancelReason("late")
        .setWarnings(2).setInput(json("in"))
        .addSubstates(RunSubstateCount.newBuilder()
            .setSubstate(dev.drover.v1.RunSubstate.RUN_SUBSTATE_RETRYING).setSteps(4))
        .setParent(ParentRun.newBuilder().setRunId("p").setStepId("bill"))
        .setConcurrency(Concurrency.newBuilder().setKey("c").setLimit(5)
            .setPolicy(ConcurrencyPolicy.CONCURRENCY_POLICY_REFUSE))
        .build(), FORMAT);
    assertEquals("trips", run.namespace());
    assertEquals(3, run.priority());
    assertEquals(7, run.version());
    assertEquals(Optional.of(RunReason.TIMED_OUT), run.reason());
    assertEquals(TIME, run.createdTime());
    assertEquals(Optional.of(TIME), run.deadlineTime());
    assertEquals(Optional.empty(), run.endedTime());
    assertEquals(Optional.empty(), run.startTime());
    assertEquals("late", run.cancelReason());
    assertEquals(2, run.warnings());
    assertEquals(Optional.of("in"), run.input(String.class));
    assertEquals(List.of(new Run.SubstateCount(RunSubstate.RETRYING, 4)), run.substates());
    assertEquals(Optional.of(new Run.Parent(new RunName.Id("p"), "bill")), run.parent());
    assertEquals(Optional.of(
        new Run.Concurrency("c", 5, Optional.of(NewRun.WhenBusy.REFUSE))), run.concurrency());
  }

  @Test
  void aStepHasWhatIsKnownOfIt() {
    RunStep step = new RunStep(Step.newBuilder()
        .setId("deploy").setState(dev.drover.v1.StepState.STEP_STATE_WAITING)
        .setKind(dev.drover.v1.StepKind.STEP_KIND_MAP)
        .setUndoState(dev.drover.v1.UndoState.UNDO_STATE_NONE)
        .setWaitingOn(dev.drover.v1.WaitingOn.WAITING_ON_ITEMS)
        .setTask("deploy").setQueue("hosts").setStrategy(1).setVerifies(2).setApprovals(3)
        .setFence(4).setAgentId("a").setNextTime(WIRE_TIME).addNeeds("build")
        .setChildRunId("c").setSignalName("paid")
        .setError(dev.drover.v1.Failure.newBuilder().setCode("busy").setMessage("Busy.")
            .setFailureClass(dev.drover.v1.FailureClass.FAILURE_CLASS_TRANSIENT))
        .setItems(ItemCounts.newBuilder().setTotal(9).setStarted(8).setOpen(1).setSucceeded(5)
            .setFailed(1).setSkipped(1))
        .build(), FORMAT);
    assertEquals(StepKind.MAP, step.kind());
    assertEquals(UndoState.NONE, step.undoState());
    assertEquals(Optional.of(WaitingOn.ITEMS), step.waitingOn());
    assertEquals(List.of("deploy", "hosts", "a", "paid"),
        List.of(step.task(), step.queue(), step.agentId(), step.signalName()));
    assertEquals(List.of(1, 2, 3, 4),
        List.of(step.strategy(), step.verifies(), step.approvals(), step.fence()));
    assertEquals(Optional.of(TIME), step.nextTime());
    assertEquals(Optional.empty(), step.suspectTime());
    assertEquals(List.of("build"), step.needs());
    assertEquals(Optional.of(new RunName.Id("c")), step.childRun());
    assertEquals(
        Optional.of(new Failure("busy", "Busy.", Failure.Kind.TRANSIENT)), step.failure());
    assertEquals(Optional.of(new RunStep.ItemCounts(9, 8, 1, 5, 1, 1)), step.items());
  }

  @Test
  void theHistoryHasTheTypesOfTheProgram() {
    RunDetails details = new RunDetails(GetRunResponse.newBuilder()
        .addWarnings(dev.drover.v1.RunWarning.newBuilder()
            .setStepId("mail").setCode("drover.timeout").setMessage("Late."))
        .addAttempts(dev.drover.v1.Attempt.newBuilder()
            .setStepId("pay").setKind(dev.drover.v1.TaskKind.TASK_KIND_VERIFY)
            .setFence(2).setAttempt(1).setN(3).setAgentId("a").setStartedTime(WIRE_TIME)
            .setOutcome(OutcomeKind.OUTCOME_KIND_SUCCESS).setOutput(json(7)).setLate(true)
            .setSource(dev.drover.v1.AttemptSource.ATTEMPT_SOURCE_TASK))
        .addAttempts(dev.drover.v1.Attempt.newBuilder().setStepId("pay"))
        .addInterventions(dev.drover.v1.Intervention.newBuilder()
            .setStepId("pay").setRule("lease").setSaw("silence").setDid("took it back")
            .setDueTime(WIRE_TIME).setActedTime(WIRE_TIME).setSupervisor("s").setPartition(1)
            .setEpoch(2).setFence(3).setAttempt(4))
        .addEscalations(dev.drover.v1.Escalation.newBuilder().setId("1").addAnswers("retry"))
        .addSignals(dev.drover.v1.ReceivedSignal.newBuilder()
            .setSeq(1).setSignalId("s-1").setName("paid").setPayload(json("yes"))
            .setReceivedTime(WIRE_TIME).setTakenBy("wait"))
        .addDecisions(dev.drover.v1.Decision.newBuilder()
            .setStepId("release").setApprover("ada").setApproved(true).setComment("checked")
            .setForm(json(9)).setDecidedTime(WIRE_TIME))
        .addSettings(EffectiveSetting.newBuilder().setStepId("pay").setField("timeouts.pickup")
            .setValue("5m").setSource(SettingSource.SETTING_SOURCE_NAMESPACE))
        .build(), FORMAT);
    assertEquals(List.of(new RunWarning("mail", "drover.timeout", "Late.")), details.warnings());
    Attempt ended = details.attempts().get(0);
    assertEquals(Optional.of(TaskKind.VERIFY), ended.kind());
    assertEquals(Optional.of(Attempt.Outcome.SUCCESS), ended.outcome());
    assertEquals(Optional.of(7), ended.output(Integer.class));
    assertEquals(Attempt.Source.TASK, ended.source());
    assertEquals(List.of(2, 1, 3), List.of(ended.fence(), ended.attempt(), ended.n()));
    assertTrue(ended.isLate());
    assertEquals(TIME, ended.startedTime());
    assertEquals(Optional.empty(), details.attempts().get(1).outcome());
    assertEquals(Optional.empty(), details.attempts().get(1).failure());
    assertEquals(
        List.of(new Intervention(
            "pay", "lease", "silence", "took it back", TIME, TIME, "s", 1, 2, 3, 4)),
        details.interventions());
    assertEquals(List.of("retry"), details.escalations().get(0).answers());
    ReceivedSignal signal = details.signals().get(0);
    assertEquals(Optional.of("yes"), signal.payload(String.class));
    assertEquals(List.of("s-1", "paid", "wait"),
        List.of(signal.id(), signal.name(), signal.takenBy()));
    MadeDecision decision = details.decisions().get(0);
    assertTrue(decision.isApproval());
    assertEquals(Optional.of(9), decision.form(Integer.class));
    assertEquals(List.of("release", "ada", "checked"),
        List.of(decision.stepId(), decision.approver(), decision.comment()));
    assertEquals(
        List.of(new Setting("pay", "timeouts.pickup", "5m", Setting.Source.NAMESPACE)),
        details.settings());
  }

  @Test
  void anExplanationSaysWhatTheRunWaitsForAndWhatCanBeDone() {
    Wait lane = Wait.newBuilder()
        .setStepId("pay").setWaitingFor(WaitKind.WAIT_KIND_AGENT_TO_POLL)
        .setSentence("No agent polls.").setSinceTime(WIRE_TIME)
        .setNext(NextKind.NEXT_KIND_ALARM).setNextTime(WIRE_TIME)
        .setTaskKind(dev.drover.v1.TaskKind.TASK_KIND_PERFORM)
        .setTried(Tried.newBuilder().setAttempts(2).setStrategies(1))
        .setLane(LaneWait.newBuilder().setQueue("money").setTask("charge"))
        .addActions(dev.drover.v1.PersonAction.newBuilder()
            .setKind(dev.drover.v1.ActionKind.ACTION_KIND_START_AGENT)
            .setQueue("money").setTask("charge"))
        .build();
    RunExplanation explanation = RunExplanation.of(ExplainRunResponse.newBuilder()
        .setRun(dev.drover.v1.Run.newBuilder().setRunId("r"))
        .setWait(lane.toBuilder().addWaitsOn("pay")).addSteps(lane).setNow(WIRE_TIME)
        .addUntakenSignals(dev.drover.v1.UntakenSignal.newBuilder()
            .setName("paid").setSignalId("s-1").setReceivedTime(WIRE_TIME)
            .setSentence("No step takes it."))
        .build(), FORMAT);
    assertEquals("r", explanation.run().id().value());
    assertEquals(TIME, explanation.now());
    assertEquals(
        List.of(new RunExplanation.UntakenSignal("paid", "s-1", TIME, "No step takes it.")),
        explanation.untakenSignals());
    assertEquals(List.of("pay"), explanation.waitsFor().waitsOn());
    RunWait wait = explanation.steps().get(0);
    assertEquals(RunWait.For.AGENT_TO_POLL, wait.waitingFor());
    assertEquals(Optional.of(RunWait.Next.ALARM), wait.next());
    assertEquals(Optional.of(TIME), wait.nextTime());
    assertEquals(Optional.of(TaskKind.PERFORM), wait.taskKind());
    assertEquals("money", wait.lane().orElseThrow().queue());
    assertEquals(Optional.empty(), wait.agent());
    assertEquals(2, wait.tried().orElseThrow().attempts());
    assertEquals(Optional.empty(), wait.tried().orElseThrow().lastOutcome());
    assertEquals(PersonAction.Kind.START_AGENT, wait.actions().get(0).kind());
  }
}
