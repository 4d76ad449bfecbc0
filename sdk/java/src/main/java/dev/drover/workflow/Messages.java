package dev.drover.workflow;

import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.drover.v1.Payload;

/** Parts of the messages of definitions. */
final class Messages {
  private Messages() {}

  static Duration duration(java.time.Duration duration) {
    return Duration.newBuilder()
        .setSeconds(duration.getSeconds()).setNanos(duration.getNano()).build();
  }

  /** Without a codec: the server reads definitions. */
  static Payload payload(Object value) {
    try {
      return Payload.parseFrom(dev.drover.Payload.of(value).encoded());
    } catch (InvalidProtocolBufferException error) {
      throw new IllegalStateException("a payload was encoded and cannot be read", error);
    }
  }
}
