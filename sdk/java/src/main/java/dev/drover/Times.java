package dev.drover;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import java.time.Instant;

/** Durations and times as the contract and as Java have them. */
final class Times {
  private Times() {}

  static java.time.Duration fromProto(Duration duration) {
    return java.time.Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
  }

  static Duration toProto(java.time.Duration duration) {
    return Duration.newBuilder()
        .setSeconds(duration.getSeconds()).setNanos(duration.getNano()).build();
  }

  static Instant fromProto(Timestamp time) {
    return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
  }

  static Timestamp toProto(Instant time) {
    return Timestamp.newBuilder()
        .setSeconds(time.getEpochSecond()).setNanos(time.getNano()).build();
  }

  /** Of a duration that may be longer than a long has nanoseconds. */
  static long nanos(java.time.Duration duration) {
    // The longest of the contract, 3,650 days, is less.
    long most = Long.MAX_VALUE / 4;
    return duration.getSeconds() > most / 1_000_000_000 ? most : duration.toNanos();
  }
}
