package dev.drover;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * What the builders of clients and of agents have in common.
 *
 * @param <B> the builder
 */
public abstract class ConnectionBuilder<B extends ConnectionBuilder<B>> {
  /** It has the token of a program that is given none. */
  private static final String TOKEN_VARIABLE = "DROVER_TOKEN";

  private final List<String> addresses = new ArrayList<>();
  private String token = Objects.requireNonNullElse(System.getenv(TOKEN_VARIABLE), "");
  private boolean plaintextToken;
  private TlsFiles tlsFiles;
  private ChannelCredentials credentials;
  private Channel channel;
  private ObjectMapper mapper;
  private Codec codec = PayloadFormat.PLAIN;
  String namespace = "";

  ConnectionBuilder(String address) {
    addresses.add(Objects.requireNonNull(address, "address"));
  }

  abstract B self();

  /**
   * Adds servers: calls go to all in turn, and to none that cannot be reached.
   *
   * @param more each host:port, or several with commas
   * @return this builder
   */
  public B addresses(String... more) {
    addresses.addAll(Arrays.asList(more));
    return self();
  }

  /**
   * Sets the namespace of the runs and tasks.
   *
   * @param name default: {@code default}
   * @return this builder
   */
  public B namespace(String name) {
    namespace = Objects.requireNonNull(name, "name");
    return self();
  }

  /**
   * Sends an API token with each call. To another machine it is sent only by TLS.
   *
   * @param secret default: the environment variable {@code DROVER_TOKEN}
   * @return this builder
   */
  public B token(String secret) {
    token = Objects.requireNonNull(secret, "secret");
    return self();
  }

  /**
   * Sends the token to another machine without TLS, too, where the network between is trusted.
   *
   * @return this builder
   */
  public B plaintextToken() {
    plaintextToken = true;
    return self();
  }

  /**
   * Connects by TLS and trusts the authorities of the system.
   *
   * @return this builder
   */
  public B tls() {
    return tls(TlsFiles.system());
  }

  /**
   * Connects by TLS with the certificates of files.
   *
   * @param files are read for each connection
   * @return this builder
   */
  public B tls(TlsFiles files) {
    tlsFiles = Objects.requireNonNull(files, "files");
    return self();
  }

  /**
   * Connects with credentials of gRPC.
   *
   * @param own such as {@code TlsChannelCredentials}
   * @return this builder
   */
  public B credentials(ChannelCredentials own) {
    credentials = Objects.requireNonNull(own, "own");
    return self();
  }

  /**
   * Takes a channel of gRPC, with its interceptors, instead of an address. Its owner closes it. It
   * should accept answers of 8 MiB and reconnect within seconds.
   *
   * @param own any channel
   * @return this builder
   */
  public B channel(Channel own) {
    channel = Objects.requireNonNull(own, "own");
    return self();
  }

  /**
   * Encodes every payload of runs, so that the server never sees the clear text.
   *
   * @param own the same in clients and agents
   * @return this builder
   */
  public B codec(Codec own) {
    codec = Objects.requireNonNull(own, "own");
    return self();
  }

  /**
   * Replaces Jackson's mapper, which makes JSON of values and values of JSON.
   *
   * @param own default: passes over unknown fields, and has the modules on the class path
   * @return this builder
   */
  public B mapper(ObjectMapper own) {
    mapper = Objects.requireNonNull(own, "own");
    return self();
  }

  PayloadFormat format() {
    return new PayloadFormat(mapper == null ? PayloadFormat.defaultMapper() : mapper, codec);
  }

  Connection.Settings connection() {
    return new Connection.Settings(
        List.copyOf(addresses), token, plaintextToken, tlsFiles, credentials, channel);
  }
}
