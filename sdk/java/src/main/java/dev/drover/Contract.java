package dev.drover;

import com.google.protobuf.Timestamp;
import dev.drover.v1.RunRef;
import java.time.Instant;
import java.util.Optional;

/** Values of the contract as plain ones, and the other way round. */
final class Contract {
  /** Of an enum that is read: what a newer server knows and this version does not. */
  private static final String NEWER = "UNRECOGNIZED";

  private Contract() {}

  static RunRef ref(RunName run) {
    return run instanceof RunName.Id id
        ? RunRef.newBuilder().setRunId(id.value()).build()
        : RunRef.newBuilder().setKey(((RunName.Key) run).value()).build();
  }

  /** The constant whose name is that of the contract without its prefix; empty: there is none. */
  static <E extends Enum<E>> Optional<E> find(Class<E> type, String prefix, Enum<?> value) {
    for (E constant : type.getEnumConstants()) {
      if (value.name().equals(prefix + constant.name())) {
        return Optional.of(constant);
      }
    }
    return Optional.empty();
  }

  /** As find; UNRECOGNIZED: there is none. */
  static <E extends Enum<E>> E read(Class<E> type, String prefix, Enum<?> value) {
    return find(type, prefix, value).orElseGet(() -> Enum.valueOf(type, NEWER));
  }

  /** As read; empty: the server has set none. */
  static <E extends Enum<E>> Optional<E> readIfSet(
      Class<E> type, String prefix, Enum<?> value) {
    boolean isUnset = value.name().equals(prefix + "UNSPECIFIED");
    return isUnset ? Optional.empty() : Optional.of(read(type, prefix, value));
  }

  /** The constant of the contract. */
  static <P extends Enum<P>> P write(Class<P> type, String prefix, Enum<?> value) {
    if (value.name().equals(NEWER)) {
      throw new IllegalArgumentException(
          "UNRECOGNIZED is read from a newer server and cannot be sent: name another "
              + value.getDeclaringClass().getSimpleName());
    }
    return Enum.valueOf(type, prefix + value.name());
  }

  static Optional<Instant> time(boolean isSet, Timestamp time) {
    return isSet ? Optional.of(Times.fromProto(time)) : Optional.empty();
  }
}
