// A whole Drover agent with nothing but generated code; proto/drover/v1/agent_service.proto has the
// rules that it follows. Its handler is Script.java: put your own in its place.
import static com.google.protobuf.util.Durations.*;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import dev.drover.v1.*;
import io.grpc.*;
import java.security.SecureRandom;
import java.util.*;
import java.util.concurrent.*;

final class Agent {
  static final Metadata TOKEN = new Metadata(); // open servers ignore it
  static { TOKEN.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
      "Bearer " + System.getenv("DROVER_TOKEN")); }
  static final ManagedChannel CHANNEL = Grpc.newChannelBuilder(
      System.getenv("DROVER_ADDRESS"), InsecureChannelCredentials.create())
      .intercept(io.grpc.stub.MetadataUtils.newAttachHeadersInterceptor(TOKEN))
      .maxInboundMessageSize(8 << 20).build(); // a task may exceed gRPC's usual 4 MiB
  static final PollTaskRequest.Builder ASKED = PollTaskRequest.newBuilder()
      .setNamespace(System.getenv("DROVER_NAMESPACE")).setWait(fromMillis(setting("POLL_WAIT_MS")))
      .addAllTasks(List.of("work", "check", "undo"));
  static final Map<Long, Long> LOST = new ConcurrentHashMap<>(); // poll: until when it is named
  static final Context.CancellableContext DRAIN = Context.ROOT.withCancellation();
  static volatile long graceEnds = Long.MAX_VALUE; // sooner once it drains
  static long setting(String name) { return Long.parseLong(System.getenv("DROVER_" + name)); }
  static long now() { return System.nanoTime() / 1_000_000; } // the wall clock may jump

  static AgentServiceGrpc.AgentServiceBlockingStub server(long timeoutMs) {
    return AgentServiceGrpc.newBlockingStub(CHANNEL).withDeadlineAfter(timeoutMs, MILLISECONDS);
  }

  static HeartbeatResponse heartbeat(HeartbeatReport... reports) {
    return server(3_000).heartbeat(HeartbeatRequest.newBuilder().setNamespace(ASKED.getNamespace())
        .setAgent(ASKED.getAgent()).addAllReports(List.of(reports))
        .addAllLostPolls(LOST.keySet()).build());
  }

  static <T> Optional<T> answer(Callable<T> call) throws Exception { // empty: repeat it
    try {
      return Optional.of(call.call());
    } catch (StatusRuntimeException error) { // of the call, it proves nothing about what is in it
      CHANNEL.resetConnectBackoff();
      Thread.sleep(200);
      return Optional.empty();
    }
  }

  static final class Held { // a task that the agent holds, until its report is answered
    final Task task;
    final ScheduledExecutorService heartbeats = Executors.newScheduledThreadPool(1);
    final HeartbeatReport.Builder news = HeartbeatReport.newBuilder();
    volatile long ends, over;
    volatile String why;

    Held(Task given, long granted) {
      task = given;
      ends = granted + toMillis(task.getLeaseFor());
      over = granted + toMillis(task.getAttemptFor());
      long every = toMillis(task.getHeartbeatInterval());
      heartbeats.scheduleWithFixedDelay(this::sendHeartbeat, 0, every, MILLISECONDS);
    }

    String stopped() { // why the work must end, or null
      if (why == null && now() > ends) why = "lease-ended";
      if (why == null && now() > over) why = "attempt-over";
      return why == null && now() > graceEnds ? why = "agent-stopped" : why;
    }

    synchronized void sendHeartbeat() {
      long sent = now();
      try {
        var answer = heartbeat(news.setTaskToken(task.getTaskToken()).build()).getAnswers(0);
        news.clear();
        if (answer.hasCarryOn()) ends = sent + toMillis(answer.getCarryOn().getLeaseFor());
        if (answer.hasCancel() && why == null) why = "cancelled";
        if (answer.hasLeaseLost() && why == null) why = "lease-lost";
      } catch (StatusRuntimeException error) { /* the next one sends the news */ }
    }

    void report(Outcome outcome, boolean refused) throws Exception { // until the server answers it
      if (news.hasProgress() || news.hasDetails()) sendHeartbeat(); // the next attempt reads it
      var request = CompleteRequest.newBuilder().setNamespace(ASKED.getNamespace());
      request.setAgent(ASKED.getAgent()).addResultsBuilder()
          .setTaskToken(task.getTaskToken()).setOutcome(outcome);
      var answer = Optional.<CompleteAnswer>empty();
      while (answer.isEmpty()) answer = answer(() -> {
        var got = server(5_000).complete(request.build()).getAnswers(0);
        if (List.of(0, 3, 5, 9).contains(got.getStatus().getCode())) return got;
        throw Status.UNAVAILABLE.asRuntimeException(); // all else may pass later
      });
      if (answer.get().getStatus().getCode() == 3 && !refused) // it is still held
        report(Script.instead(outcome, answer.get().getStatus().getMessage()), true);
      heartbeats.shutdownNow();
    }
  }

  public static void main(String[] args) throws Exception {
    sun.misc.Signal.handle(new sun.misc.Signal("TERM"), signal -> {
      graceEnds = now() + setting("GRACE_MS");
      DRAIN.cancel(null);
    });
    ASKED.addQueuesBuilder().setName(System.getenv("DROVER_QUEUE"));
    ASKED.getAgentBuilder().setId(System.getenv("DROVER_AGENT"))
        .setSession(com.google.protobuf.ByteString.copyFrom(new SecureRandom().generateSeed(16)));
    answer(() -> heartbeat()); // loads classes and connects, which would be taken from a lease
    Script.emit("ready");
    for (long seq = 1, sent = now(); !DRAIN.isCancelled(); seq++, sent = now()) {
      LOST.values().removeIf(until -> now() > until);
      ASKED.setPollSeq(seq).clearLostPolls().addAllLostPolls(LOST.keySet());
      long waitMs = toMillis(ASKED.getWait());
      var poll = answer(() -> DRAIN.call(() -> server(waitMs + 10_000).pollTask(ASKED.build())));
      if (poll.isEmpty()) LOST.put(seq, sent + waitMs + 30_000);
      for (var task : poll.map(PollTaskResponse::getTasksList).orElse(List.of())) {
        var held = new Held(task, sent + toMillis(poll.get().getWaited()));
        boolean known = List.of(1, 2, 3).contains(task.getKindValue());
        boolean start = known && !DRAIN.isCancelled() && held.stopped() == null;
        held.report(start ? Script.perform(held) : Script.outcomeOf("released"), false);
      }
    }
    try { heartbeat(); } finally { System.exit(0); }
  }
}
