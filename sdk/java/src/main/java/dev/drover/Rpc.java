package dev.drover;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** One call of the agent: it blocks, and another thread can give it up. */
final class Rpc<A> {
  private final ClientCall<?, A> call;
  private final ListenableFuture<A> answer;

  private Rpc(ClientCall<?, A> call, ListenableFuture<A> answer) {
    this.call = call;
    this.answer = answer;
  }

  static <Q, A> Rpc<A> start(
      Channel channel, MethodDescriptor<Q, A> method, Q request, Duration limit) {
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS);
    ClientCall<Q, A> call = channel.newCall(method, options);
    return new Rpc<>(call, ClientCalls.futureUnaryCall(call, request));
  }

  /** Throws CallException. */
  static <Q, A> A call(
      Channel channel, MethodDescriptor<Q, A> method, Q request, Duration limit) {
    return start(channel, method, request, limit).answer();
  }

  /** Throws CallException. */
  A answer() {
    try {
      return answer.get();
    } catch (ExecutionException error) {
      throw CallException.of(error.getCause());
    } catch (java.util.concurrent.CancellationException error) {
      throw CallException.of(Status.Code.CANCELLED, "The call was given up.");
    } catch (InterruptedException error) {
      giveUp();
      Thread.currentThread().interrupt();
      throw CallException.of(Status.Code.CANCELLED, "The thread of the call was interrupted.");
    }
  }

  void giveUp() {
    call.cancel("given up", null);
  }
}
