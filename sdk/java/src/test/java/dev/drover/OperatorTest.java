package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.drover.v1.ApprovalExpiry;
import dev.drover.v1.ClaimEscalationRequest;
import dev.drover.v1.ClaimEscalationResponse;
import dev.drover.v1.DecideRequest;
import dev.drover.v1.DecideResponse;
import dev.drover.v1.DecisionKind;
import dev.drover.v1.EscalationAnswer;
import dev.drover.v1.GetEscalationRequest;
import dev.drover.v1.GetEscalationResponse;
import dev.drover.v1.ListApprovalsRequest;
import dev.drover.v1.ListApprovalsResponse;
import dev.drover.v1.ListEscalationsRequest;
import dev.drover.v1.ListEscalationsResponse;
import dev.drover.v1.OperatorServiceGrpc.OperatorServiceImplBase;
import dev.drover.v1.ReleaseEscalationRequest;
import dev.drover.v1.ReleaseEscalationResponse;
import dev.drover.v1.ResolveEscalationRequest;
import dev.drover.v1.ResolveEscalationResponse;
import dev.drover.v1.RunRef;
import dev.drover.v1.SchedulerServiceGrpc.SchedulerServiceImplBase;
import dev.drover.v1.Step;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Escalations and approvals, against a server whose answers the test gives. */
@Timeout(120)
class OperatorTest {
  private static final RunName RUN = RunName.id("r");
  private static final RunRef REF = RunRef.newBuilder().setRunId("r").build();
  private static final Instant TIME = Instant.ofEpochSecond(1_700_000_000);

  private final List<Message> asked = new ArrayList<>();

  private static dev.drover.v1.Escalation.Builder escalation(String id) {
    return dev.drover.v1.Escalation.newBuilder()
        .setId(id).setRunId("r").setWorkflow("trip").setStepId("pay").setReason("unknown")
        .setCode("drover.lost").setMessage("It may be paid.")
        .setOpenedTime(Times.toProto(TIME));
  }

  private final class Operator extends OperatorServiceImplBase {
    @Override
    public void listEscalations(
        ListEscalationsRequest request, StreamObserver<ListEscalationsResponse> observer) {
      asked.add(request);
      ListEscalationsResponse.Builder page = ListEscalationsResponse.newBuilder();
      if (request.getPageToken().isEmpty()) {
        page.addEscalations(escalation("1")).setNextPageToken("2");
      } else {
        page.addEscalations(escalation("2"));
      }
      answer(observer, page.build());
    }

    @Override
    public void getEscalation(
        GetEscalationRequest request, StreamObserver<GetEscalationResponse> observer) {
      asked.add(request);
      answer(observer, GetEscalationResponse.newBuilder()
          .setEscalation(escalation(request.getEscalationId()).addAnswers("retry")
              .setClaimedBy("bob").setClaimedTime(Times.toProto(TIME)))
          .setRun(dev.drover.v1.Run.newBuilder().setRunId("r").setInput(Payload.of(7).message))
          .setStep(Step.newBuilder().setId("pay"))
          .addAttempts(dev.drover.v1.Attempt.newBuilder().setStepId("pay").setAttempt(2))
          .setEffectKey("e-1")
          .build());
    }

    @Override
    public void resolveEscalation(
        ResolveEscalationRequest request, StreamObserver<ResolveEscalationResponse> observer) {
      asked.add(request);
      if (request.getAnswer().equals("skip")) {
        observer.onError(StatusProto.toStatusRuntimeException(ScriptedServer.statusOf(
            Status.Code.FAILED_PRECONDITION, Reason.ANSWER_NOT_ALLOWED, Duration.ZERO)));
        return;
      }
      answer(observer, ResolveEscalationResponse.newBuilder()
          .setEscalation(escalation(request.getEscalationId())
              .setClosedBy(request.getBy()).setClosedTime(Times.toProto(TIME))
              .setAnswer(EscalationAnswer.newBuilder().setAnswer(request.getAnswer())
                  .setBy(request.getBy()).setByVerified(true).setWhy(request.getWhy())))
          .setRun(dev.drover.v1.Run.newBuilder()
              .setRunId("r").setState(dev.drover.v1.RunState.RUN_STATE_RUNNING))
          .setRepeated(true)
          .build());
    }

    @Override
    public void claimEscalation(
        ClaimEscalationRequest request, StreamObserver<ClaimEscalationResponse> observer) {
      asked.add(request);
      answer(observer, ClaimEscalationResponse.newBuilder()
          .setEscalation(escalation("1").setClaimedBy(request.getBy())).build());
    }

    @Override
    public void releaseEscalation(
        ReleaseEscalationRequest request, StreamObserver<ReleaseEscalationResponse> observer) {
      asked.add(request);
      answer(observer, ReleaseEscalationResponse.newBuilder()
          .setEscalation(escalation("1")).build());
    }

    @Override
    public void listApprovals(
        ListApprovalsRequest request, StreamObserver<ListApprovalsResponse> observer) {
      asked.add(request);
      ListApprovalsResponse.Builder page = ListApprovalsResponse.newBuilder();
      if (request.getPageToken().isEmpty()) {
        // A page may have none, and a next one.
        page.setNextPageToken("2");
      } else {
        page.addApprovals(dev.drover.v1.Approval.newBuilder()
            .setRunId("r").setRunKey("k").setWorkflow("trip").setVersion(3)
            .putLabels("tenant", "acme").setStepId("release").addApprovers("finance")
            .setNotRequester(true).setNeed(2).addApprovedBy("ada")
            .setForm(Payload.of(Map.of("type", "object")).message)
            .setSinceTime(Times.toProto(TIME))
            .setOnExpiry(ApprovalExpiry.APPROVAL_EXPIRY_REJECT));
      }
      answer(observer, page.build());
    }
  }

  private final class Scheduler extends SchedulerServiceImplBase {
    @Override
    public void decide(DecideRequest request, StreamObserver<DecideResponse> observer) {
      asked.add(request);
      answer(observer, DecideResponse.newBuilder().setRepeated(true).build());
    }
  }

  private static <A> void answer(StreamObserver<A> observer, A answer) {
    observer.onNext(answer);
    observer.onCompleted();
  }

  private final ScriptedServer server = new ScriptedServer(new Operator(), new Scheduler());
  private final Client client =
      Client.builder("127.0.0.1:1").channel(server.channel).namespace("trips").build();

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  @Test
  void openEscalationsAreListedPageByPage() {
    List<Escalation> found = client.escalations().list().toList();
    assertEquals(List.of("1", "2"), found.stream().map(Escalation::id).toList());
    assertEquals(
        new Escalation("1", "r", "trip", "pay", "unknown", "drover.lost", "It may be paid.",
            TIME, Optional.empty(), "", "", Optional.empty(), Optional.empty(), List.of(),
            Optional.empty()),
        found.get(0));
    ListEscalationsRequest open =
        ListEscalationsRequest.newBuilder().setNamespace("trips").build();
    assertEquals(List.of(open, open.toBuilder().setPageToken("2").build()), asked);
    client.escalations().listWithClosed().findFirst();
    assertEquals(open.toBuilder().setIncludeClosed(true).build(), asked.get(2));
  }

  @Test
  void oneEscalationHasItsHistoryAndTheAnswersThatItAccepts() {
    EscalationDetails details = client.escalations().get(RUN, "1");
    assertEquals(List.of("retry"), details.escalation().answers());
    assertEquals("bob", details.escalation().claimedBy());
    assertEquals(Optional.of(TIME), details.escalation().claimedTime());
    assertEquals(Optional.of(7), details.run().input(Integer.class));
    assertEquals("pay", details.step().orElseThrow().id());
    assertEquals(2, details.attempts().get(0).attempt());
    assertEquals("e-1", details.effectKey());
    assertEquals(List.of(GetEscalationRequest.newBuilder()
        .setNamespace("trips").setRun(REF).setEscalationId("1").build()), asked);
  }

  @Test
  void anAnswerIsSentWithItsPersonItsReasonAndItsPayload() {
    Resolved resolved = client.escalations().resolve(
        RUN, "1", Resolution.succeed("ada", Map.of("paid", 7)).why("The bank says so."));
    assertTrue(resolved.isRepeated());
    assertEquals(RunState.RUNNING, resolved.run().state());
    assertEquals(
        Optional.of(new Escalation.Given("succeed", "ada", true, "The bank says so.")),
        resolved.escalation().answer());
    assertEquals(Optional.of(TIME), resolved.escalation().closedTime());
    assertEquals(List.of(ResolveEscalationRequest.newBuilder()
        .setNamespace("trips").setRun(REF).setEscalationId("1").setAnswer("succeed")
        .setBy("ada").setWhy("The bank says so.")
        .setPayload(Payload.of(Map.of("paid", 7)).message).build()), asked);
  }

  @Test
  void eachAnswerHasItsName() {
    List<Resolution> answers = List.of(
        Resolution.retry("ada"), Resolution.retryChanged("ada", 7),
        Resolution.compensate("ada"), Resolution.fail("ada"), Resolution.acknowledge("ada"),
        Resolution.of("escalate-higher", "ada"));
    answers.forEach(answer -> client.escalations().resolve(RUN, "1", answer));
    assertEquals(
        List.of("retry", "retry-changed", "compensate", "fail", "acknowledge",
            "escalate-higher"),
        asked.stream().map(one -> ((ResolveEscalationRequest) one).getAnswer()).toList());
  }

  @Test
  void anAnswerThatIsNotAcceptedIsRefused() {
    CallException error = assertThrows(CallException.class,
        () -> client.escalations().resolve(RUN, "1", Resolution.skip("ada")));
    assertTrue(error.is(Reason.ANSWER_NOT_ALLOWED));
  }

  @Test
  void anEscalationIsClaimedAndReleased() {
    assertEquals("ada", client.escalations().claim(RUN, "1", "ada").claimedBy());
    client.escalations().claimAnyway(RUN, "1", "ada");
    assertEquals("", client.escalations().release(RUN, "1", "ada").claimedBy());
    client.escalations().releaseAnyway(RUN, "1", "ada");
    ClaimEscalationRequest claim = ClaimEscalationRequest.newBuilder()
        .setNamespace("trips").setRun(REF).setEscalationId("1").setBy("ada").build();
    ReleaseEscalationRequest release = ReleaseEscalationRequest.newBuilder()
        .setNamespace("trips").setRun(REF).setEscalationId("1").setBy("ada").build();
    assertEquals(List.of(
        claim, claim.toBuilder().setAnyway(true).build(),
        release, release.toBuilder().setAnyway(true).build()), asked);
  }

  @Test
  void approvalsAreListedForAPersonOrARun() {
    List<Approval> found = client.approvals().listFor("ada", "finance").toList();
    Approval approval = found.get(0);
    assertEquals(1, found.size());
    assertEquals(RUN, approval.run());
    assertEquals("k", approval.key());
    assertEquals("trip", approval.workflow());
    assertEquals(3, approval.workflowVersion());
    assertEquals(Map.of("tenant", "acme"), approval.labels());
    assertEquals("release", approval.stepId());
    assertEquals(List.of("finance"), approval.approvers());
    assertTrue(approval.isNotRequester());
    assertEquals(2, approval.need());
    assertEquals(List.of("ada"), approval.approvedBy());
    assertEquals(Optional.of(Map.of("type", "object")), approval.form(Map.class));
    assertEquals(TIME, approval.sinceTime());
    assertEquals(Optional.empty(), approval.deadlineTime());
    assertEquals(Approval.Expiry.REJECT, approval.onExpiry());
    ListApprovalsRequest request = ListApprovalsRequest.newBuilder()
        .setNamespace("trips").setApprover("ada").addRoles("finance").build();
    assertEquals(List.of(request, request.toBuilder().setPageToken("2").build()), asked);
    asked.clear();
    assertEquals(1, client.approvals().listOf(RUN).count());
    assertEquals(REF, ((ListApprovalsRequest) asked.get(0)).getRun());
    asked.clear();
    assertEquals(1, client.approvals().list().count());
    assertEquals(
        ListApprovalsRequest.newBuilder().setNamespace("trips").build(), asked.get(0));
  }

  @Test
  void anApprovalIsDecided() {
    assertTrue(client.approvals().decide(
        RUN, "release", Decision.reject("ada").roles("finance").comment("too much")));
    assertEquals(List.of(DecideRequest.newBuilder()
        .setNamespace("trips").setRun(REF).setStepId("release")
        .setDecision(DecisionKind.DECISION_KIND_REJECT).setApprover("ada").addRoles("finance")
        .setComment("too much").build()), asked);
  }
}
