package dev.drover;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The servers of several addresses: which one gets the next call, and which ones cannot be reached.
 *
 * <pre>
 * up -> down (a call could not reach it, or it answered no check) -> up (it answered a check)
 * </pre>
 *
 * <p>Calls go to the servers in turn, so that the polls of many agents spread over them. A server
 * that is down gets no call unless all are; meanwhile it is checked, with growing waits. A server
 * where an outcome remained unknown is passed over for a moment: the repeat goes to another one.
 *
 * <p>A server that freezes, or a network that swallows packets, gives no sign, and a poll may wait
 * for long. So while calls wait for a silent server, it is sent checks. If it does not answer one,
 * its calls end with UNAVAILABLE, as if the connection had broken. That is not done to the last
 * server that is up: a busy one is better than none.
 */
final class Servers extends Channel {
  /** How long a server is silent before a check is sent; then the time grows. */
  private static final long SILENT_FOR = Duration.ofMillis(500).toNanos();

  private static final long SILENT_FOR_MAX = Duration.ofSeconds(2).toNanos();

  /** The time for the answer to a check. */
  private static final Duration CHECK_FOR = Duration.ofSeconds(1);

  /** That of a check over a new connection, of a server that is down. */
  private static final Duration CONNECT_FOR = Duration.ofSeconds(5);

  /** A server where an outcome remained unknown. */
  private static final long PASSED_OVER_FOR = Duration.ofSeconds(1).toNanos();

  interface Dial {
    ManagedChannel to(String address);
  }

  private final Dial dial;
  private final ScheduledExecutorService timers;
  private final List<Server> all = new ArrayList<>();
  private int turn;
  private boolean closed;

  Servers(List<String> addresses, Dial dial, ScheduledExecutorService timers) {
    this.dial = dial;
    this.timers = timers;
    // Spread, so that agents which started together do not begin at the same server.
    turn = ThreadLocalRandom.current().nextInt(addresses.size());
    long now = System.nanoTime();
    addresses.forEach(address -> all.add(new Server(address, new Link(dial.to(address)), now)));
  }

  /** A connection. Calls that were sent go on after it was replaced; it closes with the last. */
  private static final class Link {
    final ManagedChannel channel;
    int calls;
    boolean replaced;

    Link(ManagedChannel channel) {
      this.channel = channel;
    }

    void end() {
      calls--;
      closeIfDone();
    }

    void closeIfDone() {
      if (replaced && calls == 0) {
        channel.shutdownNow();
      }
    }
  }

  /** Its fields are guarded by the lock of the servers. */
  private static final class Server {
    final String address;
    final Set<Call<?, ?>> calls = new HashSet<>();
    Link link;
    boolean isUp = true;
    long passedOver;
    long answered;

    /** From the last sign to the next check. */
    long interval = SILENT_FOR;

    /** When the next check is sent, unless the server answers before. */
    long due;

    boolean checking;
    Future<?> timer;

    Server(String address, Link link, long now) {
      this.address = address;
      this.link = link;
      passedOver = now;
      answered = now;
      due = now;
    }

    void stopTimer() {
      if (timer != null) {
        timer.cancel(false);
      }
    }
  }

  synchronized void close() {
    closed = true;
    for (Server one : all) {
      one.stopTimer();
      one.link.channel.shutdownNow();
    }
  }

  @Override
  public String authority() {
    return all.get(0).link.channel.authority();
  }

  @Override
  public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
    synchronized (this) {
      Server at = next();
      Link link = at.link;
      link.calls++;
      Call<Q, A> call = new Call<>(this, at, link, link.channel.newCall(method, options));
      long due = System.nanoTime() + SILENT_FOR;
      // Many calls in a row do not delay the check of those before them.
      if (at.calls.isEmpty() || due - at.due < 0) {
        at.due = due;
      }
      at.interval = SILENT_FOR;
      at.calls.add(call);
      planCheck(at);
      return call;
    }
  }

  /** A call under way at one server. */
  private static final class Call<Q, A>
      extends ForwardingClientCall.SimpleForwardingClientCall<Q, A> {
    private final Servers of;
    private final Server at;
    private final Link link;
    private boolean isAbandoned;
    private boolean hasEnded;

    Call(Servers of, Server at, Link link, ClientCall<Q, A> delegate) {
      super(delegate);
      this.of = of;
      this.at = at;
      this.link = link;
    }

    @Override
    public void start(Listener<A> listener, Metadata headers) {
      super.start(
          new ForwardingClientCallListener.SimpleForwardingClientCallListener<A>(listener) {
            @Override
            public void onMessage(A message) {
              of.received(at);
              super.onMessage(message);
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
              super.onClose(ended(status, trailers), trailers);
            }
          },
          headers);
    }

    /** The status of the call as its caller gets it. */
    private Status ended(Status status, Metadata trailers) {
      synchronized (of) {
        if (!hasEnded) {
          hasEnded = true;
          link.end();
          // One that was abandoned says nothing about the server as it is now.
          if (at.calls.remove(this)) {
            of.noteEnd(at, status, trailers);
          }
        }
        return isAbandoned && !status.isOk()
            ? Status.UNAVAILABLE.withDescription("the server at " + at.address
                + " does not answer; repeat the call at another one")
            : status;
      }
    }

    /** Not with the lock: the listener may be called at once. */
    void abandon() {
      cancel("the server does not answer", null);
    }
  }

  private Server next() {
    List<Server> inTurn = new ArrayList<>(all.subList(turn, all.size()));
    inTurn.addAll(all.subList(0, turn));
    long now = System.nanoTime();
    Predicate<Server> isUp = one -> one.isUp;
    Server next = inTurn.stream()
        .filter(isUp.and(one -> now - one.passedOver >= 0)).findFirst()
        .or(() -> inTurn.stream().filter(isUp).findFirst())
        .orElse(inTurn.get(0));
    turn = (all.indexOf(next) + 1) % all.size();
    return next;
  }

  /** The server has sent a part of the answer. */
  private synchronized void received(Server at) {
    noteAnswer(at);
  }

  private void noteEnd(Server at, Status status, Metadata trailers) {
    if (status.isOk()) {
      noteAnswer(at);
      return;
    }
    CallException failed = CallException.of(status.asRuntimeException(trailers));
    boolean isUnclear = failed.outcome() == CallException.Outcome.UNCLEAR;
    // A Drover server, or a proxy before it, has made the error.
    boolean isAnswer = !failed.reason().isEmpty() || !isUnclear;
    if (isAnswer) {
      noteAnswer(at);
    }
    if (!isUnclear || failed.code() == Status.Code.CANCELLED) {
      return;
    }
    at.passedOver = System.nanoTime() + PASSED_OVER_FOR;
    if (failed.code() == Status.Code.UNAVAILABLE && !isAnswer) {
      takeDown(at);
    }
  }

  private void noteAnswer(Server at) {
    boolean wasUp = at.isUp;
    at.answered = System.nanoTime();
    at.isUp = true;
    at.due = at.answered + at.interval;
    if (!wasUp) {
      planCheck(at);
    }
  }

  private void planCheck(Server at) {
    if (!at.isUp) {
      return;
    }
    at.stopTimer();
    if (!closed && !at.checking && !at.calls.isEmpty()) {
      at.timer = after(at.due - System.nanoTime(), () -> checkSilent(at));
    }
  }

  private Future<?> after(long nanos, Runnable work) {
    try {
      return timers.schedule(work, Math.max(nanos, 0), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException error) {
      // The program closes.
      return null;
    }
  }

  private void checkSilent(Server at) {
    long started = System.nanoTime();
    ManagedChannel channel;
    synchronized (this) {
      if (started - at.due < 0) {
        // The server has answered since then.
        planCheck(at);
        return;
      }
      if (closed || at.checking || !at.isUp || at.calls.isEmpty()) {
        return;
      }
      at.checking = true;
      channel = at.link.channel;
    }
    HealthCheck.send(channel, CHECK_FOR, result -> checked(at, started, result));
  }

  private void checked(Server at, long started, HealthCheck.Result result) {
    List<Call<?, ?>> abandoned = List.of();
    synchronized (this) {
      at.checking = false;
      if (result == HealthCheck.Result.ANSWERED || at.answered - started > 0) {
        at.interval = Math.min(at.interval * 2, SILENT_FOR_MAX);
        noteAnswer(at);
      } else if (at.isUp && result != HealthCheck.Result.UNCLEAR && hasOther(at)) {
        takeDown(at);
        if (result == HealthCheck.Result.SILENT) {
          abandoned = takeCalls(at);
        }
      } else {
        at.due = System.nanoTime() + at.interval;
      }
      planCheck(at);
    }
    abandoned.forEach(Call::abandon);
  }

  private boolean hasOther(Server than) {
    return all.stream().anyMatch(one -> one != than && one.isUp);
  }

  private static List<Call<?, ?>> takeCalls(Server at) {
    List<Call<?, ?>> taken = new ArrayList<>(at.calls);
    at.calls.clear();
    taken.forEach(call -> call.isAbandoned = true);
    return taken;
  }

  private void takeDown(Server at) {
    if (at.isUp) {
      at.isUp = false;
      at.stopTimer();
      checkAgain(at, new Backoff());
    }
  }

  /**
   * Checks a server that is down after a wait. Each check makes a connection of its own, so that
   * these waits are the only ones.
   */
  private void checkAgain(Server at, Backoff backoff) {
    if (closed || at.isUp) {
      return;
    }
    renew(at);
    at.timer = after(backoff.next(null).toNanos(), () -> {
      ManagedChannel channel;
      synchronized (this) {
        if (closed || at.isUp) {
          return;
        }
        channel = at.link.channel;
      }
      HealthCheck.send(channel, CONNECT_FOR, result -> checkedAgain(at, backoff, result));
    });
  }

  private void checkedAgain(Server at, Backoff backoff, HealthCheck.Result result) {
    List<Call<?, ?>> abandoned = List.of();
    synchronized (this) {
      if (closed || at.isUp) {
        return;
      }
      if (result == HealthCheck.Result.ANSWERED) {
        noteAnswer(at);
      } else {
        if (result == HealthCheck.Result.SILENT && hasOther(at)) {
          abandoned = takeCalls(at);
        }
        checkAgain(at, backoff);
      }
    }
    abandoned.forEach(Call::abandon);
  }

  private void renew(Server at) {
    Link old = at.link;
    at.link = new Link(dial.to(at.address));
    old.replaced = true;
    old.closeIfDone();
  }
}
