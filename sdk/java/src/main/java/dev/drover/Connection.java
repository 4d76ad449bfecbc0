package dev.drover;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ConnectivityState;
import io.grpc.ForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * How the servers are reached: a channel that connects by itself, and again after a break. A call
 * that is made meanwhile fails with UNAVAILABLE, and its caller decides whether to repeat it; of
 * several addresses, the repeat goes to one that can be reached.
 *
 * @param channel of all addresses
 * @param close closes it; may be called twice
 */
record Connection(Channel channel, Runnable close) {
  /** A poll may bring many tasks at once; the server sends far less. */
  private static final int RECEIVE_BYTES_MAX = 64 * 1024 * 1024;

  /** A peer that is gone, although the connection is open, is noticed within 30 s. */
  private static final Duration PING_EVERY = Duration.ofSeconds(20);

  private static final Duration PING_FOR = Duration.ofSeconds(10);

  private static final Pattern ADDRESS =
      Pattern.compile("(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/\\[\\],]+):\\d{1,5}");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /**
   * How to connect.
   *
   * @param addresses each may be several with commas
   * @param token empty: none
   * @param plaintextToken the token is sent to another machine without TLS, too
   * @param tlsFiles or null
   * @param credentials or null
   * @param channel a channel of the program's own, or null
   */
  record Settings(
      List<String> addresses, String token, boolean plaintextToken, TlsFiles tlsFiles,
      ChannelCredentials credentials, Channel channel) {}

  /** Throws IllegalArgumentException for settings that are wrong. */
  static Connection open(Settings settings, ScheduledExecutorService timers) {
    if (settings.channel != null) {
      return new Connection(settings.channel, () -> {});
    }
    ChannelCredentials credentials = credentialsOf(settings);
    List<String> addresses = eachOf(settings);
    Servers.Dial dial = address -> dial(address, settings, credentials, timers);
    if (addresses.size() > 1) {
      Servers servers = new Servers(addresses, dial, timers);
      return new Connection(servers, servers::close);
    }
    ManagedChannel channel = dial.to(addresses.get(0));
    // It waits for no call: the calls that are left were given up.
    return new Connection(channel, channel::shutdownNow);
  }

  private static ChannelCredentials credentialsOf(Settings settings) {
    if (settings.credentials != null) {
      return settings.credentials;
    }
    return settings.tlsFiles == null
        ? InsecureChannelCredentials.create()
        : FileTls.credentials(settings.tlsFiles);
  }

  /** Each address, once. */
  private static List<String> eachOf(Settings settings) {
    Set<String> each = new LinkedHashSet<>();
    boolean isSecure = settings.tlsFiles != null
        || (settings.credentials != null
            && !(settings.credentials instanceof InsecureChannelCredentials));
    for (String part : String.join(",", settings.addresses).split(",", -1)) {
      String address = part.strip();
      if (!ADDRESS.matcher(address).matches()) {
        throw new IllegalArgumentException("the address \"" + address
            + "\" is not host:port; write it as 127.0.0.1:7420");
      }
      boolean isSafe = isSecure || settings.plaintextToken || isLoopback(address);
      if (!settings.token.isEmpty() && !isSafe) {
        throw new IllegalArgumentException("the token would be sent to " + address
            + " in plain text, for all to read: add tls(), or plaintextToken() if the network "
            + "between is trusted");
      }
      each.add(address);
    }
    return new ArrayList<>(each);
  }

  private static boolean isLoopback(String address) {
    String host = address.substring(0, address.lastIndexOf(':'));
    return host.equals("localhost") || host.equals("[::1]") || host.matches("127(\\.\\d+){3}");
  }

  private static ManagedChannel dial(
      String address, Settings settings, ChannelCredentials credentials,
      ScheduledExecutorService timers) {
    ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder("dns:///" + address, credentials)
        .maxInboundMessageSize(RECEIVE_BYTES_MAX)
        // Of a name with several records: calls go to all of them in turn, and to no broken one.
        .defaultLoadBalancingPolicy("round_robin")
        .keepAliveTime(PING_EVERY.toMillis(), TimeUnit.MILLISECONDS)
        .keepAliveTimeout(PING_FOR.toMillis(), TimeUnit.MILLISECONDS);
    if (settings.tlsFiles != null && settings.tlsFiles.serverName() != null) {
      builder.overrideAuthority(settings.tlsFiles.serverName());
    }
    if (!settings.token.isEmpty()) {
      builder.intercept(new Bearer(settings.token));
    }
    ManagedChannel channel = builder.build();
    new Reconnects(channel, timers).watch();
    return channel;
  }

  /** A token; open has seen to it that it leaves the machine by TLS alone. */
  private record Bearer(String token) implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
          headers.put(AUTHORIZATION, "Bearer " + token);
          super.start(listener, headers);
        }
      };
    }

    @Override
    public String toString() {
      return "Bearer[token=...]";
    }
  }

  /**
   * Makes a channel reconnect within seconds: after a restart of the server, the waits of gRPC
   * would grow to two minutes, and no setting limits them.
   */
  private static final class Reconnects {
    private static final Duration FIRST = Duration.ofMillis(100);
    private static final Duration MOST = Duration.ofSeconds(5);

    private final ManagedChannel channel;
    private final ScheduledExecutorService timers;
    private final Backoff backoff = new Backoff(FIRST, MOST);

    /** Of several watches, the last one counts. */
    private long watches;

    Reconnects(ManagedChannel channel, ScheduledExecutorService timers) {
      this.channel = channel;
      this.timers = timers;
    }

    synchronized void watch() {
      watches++;
      long watch = watches;
      ConnectivityState state = channel.getState(false);
      if (state == ConnectivityState.SHUTDOWN) {
        return;
      }
      if (state == ConnectivityState.READY) {
        backoff.reset();
      }
      channel.notifyWhenStateChanged(state, () -> onChange(watch));
      if (state == ConnectivityState.TRANSIENT_FAILURE) {
        try {
          long wait = backoff.next(null).toNanos();
          timers.schedule(() -> tryAgain(watch), wait, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException error) {
          // The program closes: it connects to nothing any more.
          return;
        }
      }
    }

    private synchronized void onChange(long watch) {
      if (watch == watches) {
        watch();
      }
    }

    private synchronized void tryAgain(long watch) {
      if (watch == watches) {
        channel.resetConnectBackoff();
        watch();
      }
    }
  }
}
