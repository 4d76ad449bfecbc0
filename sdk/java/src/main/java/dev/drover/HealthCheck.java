package dev.drover;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A health check of gRPC: whatever comes back, a refusal too, shows that something answers. */
final class HealthCheck {
  /** A check that ended so much later than its deadline says that this process was held up. */
  private static final Duration HELD_UP = Duration.ofMillis(250);

  enum Result {
    ANSWERED,
    /**
     * No connection, or it broke; calls under way end by themselves, or go on at a server that
     * drains.
     */
    REFUSED,
    SILENT,
    /** The answer may have come while this process was held up. */
    UNCLEAR
  }

  /** The request without a service, and an answer that is not read, need no generated code. */
  private static final MethodDescriptor<ByteString, ByteString> HEALTH =
      MethodDescriptor.<ByteString, ByteString>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("grpc.health.v1.Health/Check")
          .setRequestMarshaller(new Bytes())
          .setResponseMarshaller(new Bytes())
          .build();

  private HealthCheck() {}

  static void send(Channel channel, Duration limit, Consumer<Result> then) {
    long started = System.nanoTime();
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS);
    ClientCall<ByteString, ByteString> call = channel.newCall(HEALTH, options);
    call.start(
        new ClientCall.Listener<ByteString>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            Duration took = Duration.ofNanos(System.nanoTime() - started);
            then.accept(resultOf(status, took.minus(limit)));
          }
        },
        new Metadata());
    call.request(2);
    call.sendMessage(ByteString.EMPTY);
    call.halfClose();
  }

  private static Result resultOf(Status status, Duration late) {
    return switch (status.getCode()) {
      case UNAVAILABLE, CANCELLED -> Result.REFUSED;
      case DEADLINE_EXCEEDED -> late.compareTo(HELD_UP) > 0 ? Result.UNCLEAR : Result.SILENT;
      default -> Result.ANSWERED;
    };
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<ByteString> {
    @Override
    public InputStream stream(ByteString value) {
      return value.newInput();
    }

    @Override
    public ByteString parse(InputStream stream) {
      try {
        return ByteString.readFrom(stream);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
