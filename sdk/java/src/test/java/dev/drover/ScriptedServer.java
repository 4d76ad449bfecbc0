package dev.drover;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.drover.v1.AgentServiceGrpc;
import dev.drover.v1.AppendLogsRequest;
import dev.drover.v1.AppendLogsResponse;
import dev.drover.v1.CompleteAnswer;
import dev.drover.v1.CompleteRequest;
import dev.drover.v1.CompleteResponse;
import dev.drover.v1.HeartbeatAnswer;
import dev.drover.v1.HeartbeatRequest;
import dev.drover.v1.HeartbeatResponse;
import dev.drover.v1.PollTaskRequest;
import dev.drover.v1.PollTaskResponse;
import dev.drover.v1.Task;
import dev.drover.v1.TaskKind;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * A server without an engine: every answer is given by the test. A test takes a call with next and
 * answers it, or sets once with always the answer to each.
 */
final class ScriptedServer extends AgentServiceGrpc.AgentServiceImplBase implements AutoCloseable {
  final Inbox<PollTaskRequest, PollTaskResponse> polls = new Inbox<>();
  final Inbox<HeartbeatRequest, HeartbeatResponse> heartbeats = new Inbox<>();
  final Inbox<CompleteRequest, CompleteResponse> completes = new Inbox<>();
  final Inbox<AppendLogsRequest, AppendLogsResponse> logs = new Inbox<>();
  final ManagedChannel channel;
  private final Server server;

  ScriptedServer(BindableService... others) {
    String name = UUID.randomUUID().toString();
    InProcessServerBuilder builder = InProcessServerBuilder.forName(name).addService(this);
    for (BindableService other : others) {
      builder.addService(other);
    }
    try {
      server = builder.build().start();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    channel = InProcessChannelBuilder.forName(name).build();
  }

  /** A call that waits for its answer. */
  record Call<Q, A>(Q request, StreamObserver<A> observer, AtomicBoolean isAnswered) {
    void answer(A answer) {
      isAnswered.set(true);
      observer.onNext(answer);
      observer.onCompleted();
    }

    void fail(Status.Code code, String reason, Duration retryAfter) {
      isAnswered.set(true);
      observer.onError(StatusProto.toStatusRuntimeException(statusOf(code, reason, retryAfter)));
    }

    void fail(Status.Code code, String reason) {
      fail(code, reason, Duration.ZERO);
    }

    boolean isGivenUp() {
      return ((ServerCallStreamObserver<A>) observer).isCancelled();
    }
  }

  static com.google.rpc.Status statusOf(Status.Code code, String reason, Duration retryAfter) {
    com.google.rpc.Status.Builder status = com.google.rpc.Status.newBuilder()
        .setCode(code.value()).setMessage(reason + " by the script");
    if (!reason.isEmpty()) {
      status.addDetails(Any.pack(ErrorInfo.newBuilder().setReason(reason).build()));
    }
    if (!retryAfter.isZero()) {
      status.addDetails(Any.pack(
          RetryInfo.newBuilder().setRetryDelay(Times.toProto(retryAfter)).build()));
    }
    return status.build();
  }

  static final class Inbox<Q, A> {
    private final BlockingQueue<Call<Q, A>> calls = new LinkedBlockingQueue<>();
    private final List<Call<Q, A>> taken = new CopyOnWriteArrayList<>();
    private volatile Consumer<Call<Q, A>> always;

    /** Waits for the next call. */
    Call<Q, A> next() {
      try {
        Call<Q, A> call = calls.poll(60, TimeUnit.SECONDS);
        if (call == null) {
          throw new AssertionError("no call came");
        }
        taken.add(call);
        return call;
      } catch (InterruptedException error) {
        throw new AssertionError(error);
      }
    }

    /** Answers each call from now on, and those that have no answer. */
    void always(Consumer<Call<Q, A>> answer) {
      always = answer;
      taken.stream().filter(call -> !call.isAnswered.get() && !call.isGivenUp()).forEach(answer);
      calls.forEach(call -> {
        if (calls.remove(call)) {
          answer.accept(call);
        }
      });
    }

    private void add(Q request, StreamObserver<A> observer) {
      // Without a handler a call that was given up may not be answered.
      ((ServerCallStreamObserver<A>) observer).setOnCancelHandler(() -> {});
      Call<Q, A> call = new Call<>(request, observer, new AtomicBoolean());
      Consumer<Call<Q, A>> answer = always;
      if (answer == null) {
        calls.add(call);
      } else {
        answer.accept(call);
      }
    }
  }

  @Override
  public void pollTask(PollTaskRequest request, StreamObserver<PollTaskResponse> observer) {
    polls.add(request, observer);
  }

  @Override
  public void heartbeat(HeartbeatRequest request, StreamObserver<HeartbeatResponse> observer) {
    heartbeats.add(request, observer);
  }

  @Override
  public void complete(CompleteRequest request, StreamObserver<CompleteResponse> observer) {
    completes.add(request, observer);
  }

  @Override
  public void appendLogs(AppendLogsRequest request, StreamObserver<AppendLogsResponse> observer) {
    logs.add(request, observer);
  }

  /** A task whose lease is long. */
  static Task.Builder task(String token) {
    return Task.newBuilder()
        .setTaskToken(token).setRunId("run-" + token).setStepId("step").setAttempt(1).setFence(1)
        .setKind(TaskKind.TASK_KIND_PERFORM).setTask("work").setQueue("default")
        .setLeaseFor(Times.toProto(Duration.ofSeconds(30)))
        .setAttemptFor(Times.toProto(Duration.ofMinutes(5)))
        .setHeartbeatInterval(Times.toProto(Duration.ofSeconds(10)));
  }

  static PollTaskResponse tasks(Task.Builder... tasks) {
    // The time that the test took is not of the leases.
    PollTaskResponse.Builder answer = PollTaskResponse.newBuilder()
        .setWaited(Times.toProto(Duration.ofHours(1)));
    for (Task.Builder task : tasks) {
      answer.addTasks(task);
    }
    return answer.build();
  }

  static CompleteResponse accepted(CompleteRequest request) {
    CompleteResponse.Builder answer = CompleteResponse.newBuilder();
    request.getResultsList().forEach(
        result -> answer.addAnswers(CompleteAnswer.getDefaultInstance()));
    return answer.build();
  }

  static HeartbeatResponse carriedOn(HeartbeatRequest request) {
    HeartbeatResponse.Builder answer = HeartbeatResponse.newBuilder();
    request.getReportsList().forEach(report -> answer.addAnswers(HeartbeatAnswer.newBuilder()
        .setCarryOn(HeartbeatAnswer.CarryOn.newBuilder()
            .setLeaseFor(Times.toProto(Duration.ofSeconds(30))))));
    return answer.build();
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.shutdownNow();
  }
}
