package dev.drover.workflow;

import com.google.protobuf.Duration;

/** Parts of the messages of definitions. */
final class Messages {
  private Messages() {}

  static Duration duration(java.time.Duration duration) {
    return Duration.newBuilder()
        .setSeconds(duration.getSeconds()).setNanos(duration.getNano()).build();
  }
}
