package dev.drover;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import dev.drover.v1.Payload;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.SignalRequest;
import dev.drover.v1.WaitRunRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Deadline;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A channel on which each unary call is repeated, with growing and jittered waits, as long as it is
 * unknown whether it took effect, or the server asks for a later repeat. That is safe because each
 * is idempotent: by its key or its request id, which are made here if the caller gives none, by its
 * token, or by what it does. Any other refusal ends the call at once. A stream is not repeated.
 *
 * <p>Payloads of answers are decoded.
 */
final class RepeatingChannel extends Channel {
  /** The time for one try. */
  static final Duration TRY_FOR = Duration.ofSeconds(10);

  private final Channel next;
  private final String namespace;
  private final Duration patience;
  private final PayloadFormat format;
  private final ScheduledExecutorService timers;

  RepeatingChannel(
      Channel next, String namespace, Duration patience, PayloadFormat format,
      ScheduledExecutorService timers) {
    this.next = next;
    this.namespace = namespace;
    this.patience = patience;
    this.format = format;
    this.timers = timers;
  }

  @Override
  public String authority() {
    return next.authority();
  }

  @Override
  public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
    return method.getType() == MethodDescriptor.MethodType.UNARY
        ? new Repeated<>(method, options)
        : new Streamed<>(next.newCall(method, options));
  }

  /** Sets the namespace of a request, and the caller's own name for it, where they are left out. */
  @SuppressWarnings("unchecked") // A changed request is of the same type.
  private <Q> Q fill(Q request) {
    if (!(request instanceof Message message)) {
      return request;
    }
    Message.Builder filled = message.toBuilder();
    setIfEmpty(filled, "namespace", namespace);
    FieldDescriptor dry = message.getDescriptorForType().findFieldByName("dry_run");
    if (dry == null || !(Boolean) message.getField(dry)) {
      setIfEmpty(filled, "request_id", RandomNames.next());
    }
    if (message instanceof ScheduleRequest) {
      setIfEmpty(filled, "key", RandomNames.next());
    }
    if (message instanceof SignalRequest) {
      setIfEmpty(filled, "signal_id", RandomNames.next());
    }
    return (Q) filled.build();
  }

  private static void setIfEmpty(Message.Builder message, String name, String text) {
    FieldDescriptor field = message.getDescriptorForType().findFieldByName(name);
    if (field != null && message.getField(field).equals("")) {
      message.setField(field, text);
    }
  }

  @SuppressWarnings("unchecked") // A decoded answer is of the same type.
  private <A> A decode(A answer) {
    if (format.isPlain() || !(answer instanceof Message message)) {
      return answer;
    }
    return (A) decoded(message);
  }

  /** Each payload in it, at any depth. */
  private Message decoded(Message message) {
    if (message instanceof Payload payload) {
      return format.decodePayload(payload);
    }
    Message.Builder changed = message.toBuilder();
    for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
      FieldDescriptor field = entry.getKey();
      if (field.getJavaType() != FieldDescriptor.JavaType.MESSAGE || field.isMapField()) {
        continue;
      }
      if (field.isRepeated()) {
        List<?> list = (List<?>) entry.getValue();
        for (int at = 0; at < list.size(); at++) {
          changed.setRepeatedField(field, at, decoded((Message) list.get(at)));
        }
      } else {
        changed.setField(field, decoded((Message) entry.getValue()));
      }
    }
    return changed.build();
  }

  private final class Streamed<Q, A>
      extends ForwardingClientCall.SimpleForwardingClientCall<Q, A> {
    Streamed(ClientCall<Q, A> delegate) {
      super(delegate);
    }

    @Override
    public void start(Listener<A> listener, Metadata headers) {
      super.start(
          new ForwardingClientCallListener.SimpleForwardingClientCallListener<A>(listener) {
            @Override
            public void onMessage(A message) {
              super.onMessage(decode(message));
            }
          },
          headers);
    }

    @Override
    public void sendMessage(Q message) {
      super.sendMessage(fill(message));
    }
  }

  /** A call of several tries, one at a time. */
  private final class Repeated<Q, A> extends ClientCall<Q, A> {
    private final MethodDescriptor<Q, A> method;
    private final CallOptions options;
    private final Backoff backoff = new Backoff();
    private Listener<A> listener;
    private Metadata headers;
    private Q request;
    private ClientCall<Q, A> current;
    private Future<?> timer;
    private boolean cancelled;
    private long failingSince;
    private boolean isFailing;

    Repeated(MethodDescriptor<Q, A> method, CallOptions options) {
      this.method = method;
      this.options = options;
    }

    @Override
    public synchronized void start(Listener<A> caller, Metadata metadata) {
      listener = caller;
      headers = metadata;
    }

    @Override
    public void request(int messages) {
      // Each try asks for its answer.
    }

    @Override
    public synchronized void sendMessage(Q message) {
      request = fill(message);
    }

    @Override
    public void halfClose() {
      attempt();
    }

    @Override
    public void cancel(String message, Throwable cause) {
      ClientCall<Q, A> call;
      synchronized (this) {
        if (cancelled) {
          return;
        }
        cancelled = true;
        call = current;
        if (timer != null) {
          timer.cancel(false);
        }
      }
      if (call == null) {
        Status status = Status.CANCELLED.withDescription(message).withCause(cause);
        close(status, new Metadata());
      } else {
        call.cancel(message, cause);
      }
    }

    private void attempt() {
      ClientCall<Q, A> call;
      synchronized (this) {
        if (cancelled) {
          return;
        }
        timer = null;
        call = next.newCall(method, options.withDeadline(deadline()));
        current = call;
      }
      Metadata copy = new Metadata();
      copy.merge(headers);
      call.start(new Answer(), copy);
      call.request(2);
      call.sendMessage(request);
      call.halfClose();
    }

    private Deadline deadline() {
      Duration limit = TRY_FOR;
      if (request instanceof WaitRunRequest waiting) {
        limit = limit.plus(Times.fromProto(waiting.getWait()));
      }
      Deadline made = Deadline.after(limit.toNanos(), TimeUnit.NANOSECONDS);
      return options.getDeadline() == null ? made : made.minimum(options.getDeadline());
    }

    private final class Answer extends Listener<A> {
      private A answer;

      @Override
      public void onMessage(A message) {
        answer = message;
      }

      @Override
      public void onClose(Status status, Metadata trailers) {
        if (status.isOk()) {
          succeed(answer, trailers);
          return;
        }
        Duration wait = waitAfter(status, trailers);
        if (wait == null) {
          listener.onClose(status, trailers);
        }
      }
    }

    private void succeed(A answer, Metadata trailers) {
      try {
        A clear = decode(answer);
        listener.onHeaders(new Metadata());
        listener.onMessage(clear);
        listener.onClose(Status.OK, trailers);
      } catch (PayloadException error) {
        listener.onClose(
            Status.DATA_LOSS.withDescription(error.getMessage()).withCause(error), trailers);
      }
    }

    /** Null: it is not tried again. */
    private synchronized Duration waitAfter(Status status, Metadata trailers) {
      current = null;
      CallException failed = CallException.of(status.asRuntimeException(trailers));
      Duration wait = backoff.next(failed);
      long now = System.nanoTime();
      if (!isFailing) {
        isFailing = true;
        failingSince = now;
      }
      boolean isOver = options.getDeadline() != null && options.getDeadline().isExpired();
      boolean isLate = Duration.ofNanos(now - failingSince).plus(wait).compareTo(patience) > 0;
      boolean isDefinite = failed.outcome() == CallException.Outcome.DEFINITE;
      if (cancelled || isOver || isLate || isDefinite) {
        return null;
      }
      timer = timers.schedule(this::attempt, wait.toNanos(), TimeUnit.NANOSECONDS);
      return wait;
    }

    /** In the executor of the caller, who may wait for work of it. */
    private void close(Status status, Metadata trailers) {
      Executor executor = options.getExecutor();
      Runnable closing = () -> listener.onClose(status, trailers);
      if (executor == null) {
        closing.run();
      } else {
        executor.execute(closing);
      }
    }
  }
}
