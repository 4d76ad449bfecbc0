package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.drover.v1.GetRunRequest;
import dev.drover.v1.GetRunResponse;
import dev.drover.v1.SchedulerServiceGrpc.SchedulerServiceImplBase;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections, over real sockets. */
@Timeout(180)
class WireTest {
  private static final RunName RUN = RunName.id("r");

  private final List<String> tokens = new CopyOnWriteArrayList<>();
  private final List<Server> servers = new ArrayList<>();

  @TempDir Path folder;

  @AfterEach
  void stop() {
    servers.forEach(Server::shutdownNow);
  }

  private Server serve(int port, ServerCredentials credentials) throws IOException {
    ServerInterceptor noting = new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        String token =
            headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
        tokens.add(String.valueOf(token));
        return next.startCall(call, headers);
      }
    };
    Server server = Grpc.newServerBuilderForPort(port, credentials)
        .addService(new SchedulerServiceImplBase() {
          @Override
          public void getRun(GetRunRequest request, StreamObserver<GetRunResponse> observer) {
            observer.onNext(GetRunResponse.getDefaultInstance());
            observer.onCompleted();
          }
        })
        .intercept(noting)
        .build().start();
    servers.add(server);
    return server;
  }

  private Server serve() throws IOException {
    return serve(0, InsecureServerCredentials.create());
  }

  private static String addressOf(Server server) {
    return "127.0.0.1:" + server.getPort();
  }

  @Test
  void aTokenGoesWithEachCallButToNoOtherMachineInPlainText() throws IOException {
    try (Client client = Client.builder(addressOf(serve())).token("abc").build()) {
      client.getRun(RUN);
    }
    assertEquals(List.of("Bearer abc"), tokens);
    Client.Builder far = Client.builder("drover.example.com:7420").token("abc");
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, far::build);
    assertTrue(error.getMessage().contains("in plain text"), error.getMessage());
    far.plaintextToken().build().close();
  }

  @Test
  void aCallOutlivesARestartOfTheServer() throws IOException, InterruptedException {
    Server first = serve();
    int port = first.getPort();
    try (Client client = Client.builder(addressOf(first)).build()) {
      client.getRun(RUN);
      first.shutdownNow().awaitTermination();
      CompletableFuture<RunDetails> answer =
          CompletableFuture.supplyAsync(() -> client.getRun(RUN));
      serve(port, InsecureServerCredentials.create());
      answer.join();
    }
  }

  @Test
  void ofSeveralServersThoseThatCannotBeReachedGetNoCall() throws IOException {
    Server first = serve();
    Server second = serve();
    String both = addressOf(first) + "," + addressOf(second);
    try (Client client = Client.builder(both).patience(Duration.ofSeconds(60)).build()) {
      for (int at = 0; at < 4; at++) {
        client.getRun(RUN);
      }
      first.shutdownNow();
      for (int at = 0; at < 4; at++) {
        client.getRun(RUN);
      }
    }
  }

  @Test
  void aCallGoesThroughTlsWithACertificateOfTheClient() throws Exception {
    Identity server = identity("server");
    Identity client = identity("client");
    ServerCredentials credentials = TlsServerCredentials.newBuilder()
        .keyManager(server.certificate.toFile(), server.key.toFile())
        .trustManager(client.certificate.toFile())
        .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
        .build();
    String address = addressOf(serve(0, credentials));
    TlsFiles trusting = TlsFiles.system().withCa(server.certificate);
    TlsFiles files = trusting.withCertificate(client.certificate, client.key);
    try (Client known = Client.builder(address).tls(files).token("abc").build()) {
      known.getRun(RUN);
    }
    assertEquals(List.of("Bearer abc"), tokens);
    Duration hasty = Duration.ofMillis(1);
    try (Client stranger = Client.builder(address).tls(trusting).patience(hasty).build()) {
      CallException error =
          assertThrows(CallException.class, () -> stranger.getRun(RUN));
      assertEquals(Status.Code.UNAVAILABLE, error.code());
    }
    try (Client distrusting = Client.builder(address)
        .tls(files.withCa(client.certificate)).patience(hasty).build()) {
      assertThrows(CallException.class, () -> distrusting.getRun(RUN));
    }
  }

  @Test
  void filesOfTlsThatCannotBeReadAreNamedAtTheStart() {
    Client.Builder builder = Client.builder("127.0.0.1:1")
        .tls(TlsFiles.system().withCa(folder.resolve("none.pem")));
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, builder::build);
    assertTrue(error.getMessage().contains("none.pem"), error.getMessage());
    assertThrows(IllegalArgumentException.class,
        () -> new TlsFiles(null, folder, null, null));
  }

  private record Identity(Path certificate, Path key) {}

  /** A certificate for 127.0.0.1 that signs itself, as files of PEM. */
  private Identity identity(String name) throws Exception {
    Path store = folder.resolve(name + ".p12");
    String tool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process made = new ProcessBuilder(tool, "-genkeypair", "-alias", name, "-keyalg", "EC",
        "-dname", "CN=" + name, "-ext", "san=ip:127.0.0.1", "-validity", "2",
        "-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", "secret")
        .inheritIO().start();
    assertEquals(0, made.waitFor());
    KeyStore keys = KeyStore.getInstance(store.toFile(), "secret".toCharArray());
    Path certificate = folder.resolve(name + ".pem");
    Path key = folder.resolve(name + "-key.pem");
    write(certificate, "CERTIFICATE", keys.getCertificate(name).getEncoded());
    write(key, "PRIVATE KEY", keys.getKey(name, "secret".toCharArray()).getEncoded());
    return new Identity(certificate, key);
  }

  private static void write(Path file, String what, byte[] bytes) throws IOException {
    String text = Base64.getMimeEncoder().encodeToString(bytes);
    Files.writeString(file, "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what
        + "-----\n");
  }
}
