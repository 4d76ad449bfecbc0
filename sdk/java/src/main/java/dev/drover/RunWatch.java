package dev.drover;

import dev.drover.v1.SchedulerServiceGrpc;
import dev.drover.v1.WatchRunRequest;
import dev.drover.v1.WatchRunResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The state of a run with its steps: the current state and each change, until the end of the run.
 * It continues after a broken stream. It may skip states, and never goes back. For one thread;
 * another one may close it.
 */
public final class RunWatch implements Iterator<RunSnapshot>, AutoCloseable {
  private final Channel channel;
  private final PayloadFormat format;
  private final Duration patience;
  private final Backoff backoff = new Backoff();
  private WatchRunRequest request;
  private volatile Stream stream;
  private volatile boolean closed;
  private long opened;
  private long failingSince = System.nanoTime();
  private RunSnapshot ahead;
  private boolean hasEnded;

  RunWatch(
      Channel channel, WatchRunRequest request, PayloadFormat format, Duration patience) {
    this.channel = channel;
    this.request = request;
    this.format = format;
    this.patience = patience;
  }

  /** What a stream brings: a snapshot, or its end. */
  private record Event(WatchRunResponse snapshot, Status status, Metadata trailers) {}

  private static final class Stream extends ClientCall.Listener<WatchRunResponse> {
    final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    final ClientCall<WatchRunRequest, WatchRunResponse> call;

    Stream(Channel channel, WatchRunRequest request) {
      call = channel.newCall(SchedulerServiceGrpc.getWatchRunMethod(), CallOptions.DEFAULT);
      call.start(this, new Metadata());
      call.request(1);
      call.sendMessage(request);
      call.halfClose();
    }

    @Override
    public void onMessage(WatchRunResponse message) {
      events.add(new Event(message, null, null));
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      events.add(new Event(null, status, trailers));
    }
  }

  /**
   * Waits for the next state.
   *
   * @return false: the run has ended, and its last state was returned; or the watch is closed
   * @throws CallException if the server refuses the call, or cannot be reached for too long
   */
  @Override
  public boolean hasNext() {
    while (ahead == null && !hasEnded && !closed) {
      if (stream == null) {
        opened = System.nanoTime();
        stream = new Stream(channel, request);
      }
      Event event = take();
      if (event == null) {
        return false;
      }
      if (event.snapshot != null) {
        received(event.snapshot);
      } else {
        broken(event);
      }
    }
    return ahead != null;
  }

  /** Null: it was interrupted, or closed. */
  private Event take() {
    try {
      return stream.events.take();
    } catch (InterruptedException error) {
      close();
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private void received(WatchRunResponse snapshot) {
    stream.call.request(1);
    backoff.reset();
    failingSince = System.nanoTime();
    request = request.toBuilder().setAfterVersion(snapshot.getRun().getVersion()).build();
    ahead = new RunSnapshot(snapshot, format);
    if (ahead.run().state().isEnded()) {
      hasEnded = true;
      stream.call.cancel("the run has ended", null);
    }
  }

  private void broken(Event event) {
    stream = null;
    if (closed) {
      return;
    }
    long now = System.nanoTime();
    // A stream that was open for long without a change had reached the server.
    if (now - opened > RepeatingChannel.TRY_FOR.toNanos()) {
      backoff.reset();
      failingSince = now;
    }
    CallException failed = event.status.isOk()
        ? null
        : CallException.of(event.status.asRuntimeException(event.trailers));
    if (failed != null) {
      boolean isLate = now - failingSince > patience.toNanos();
      if (isLate || failed.outcome() == CallException.Outcome.DEFINITE) {
        close();
        throw failed;
      }
    }
    try {
      Thread.sleep(backoff.next(failed).toMillis());
    } catch (InterruptedException error) {
      close();
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public RunSnapshot next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the run has ended");
    }
    RunSnapshot next = ahead;
    ahead = null;
    return next;
  }

  /** Ends the call; may be called twice. */
  @Override
  public void close() {
    closed = true;
    Stream open = stream;
    if (open != null) {
      open.call.cancel("the watch is closed", null);
    }
  }
}
