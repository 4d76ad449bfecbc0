package dev.drover;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Why a call, or one item of a call, was refused. */
public final class CallException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * What is wrong with one field of a request.
   *
   * @param path of the field, such as {@code definition.steps[2].needs[0]}
   * @param message what is wrong
   */
  public record Field(String path, String message) {}

  enum Outcome {
    /** It is unknown whether the call took effect; repeat it. */
    UNCLEAR,
    /** Nothing was changed, and it may work after {@link #retryAfter}. */
    LATER,
    /** Nothing was changed, and it will not work unless something else does. */
    DEFINITE
  }

  /** Refused before tasks were claimed, so that nothing can have been granted to a poll. */
  private static final Set<String> NOT_ADMITTED = Set.of(
      Reason.INVALID_REQUEST, Reason.MALFORMED_MESSAGE, Reason.MESSAGE_TOO_LARGE,
      Reason.DEADLINE_TOO_LONG, Reason.NAMESPACE_NOT_FOUND, Reason.TOKEN_REQUIRED,
      Reason.NOT_ALLOWED);

  /** The code of gRPC. */
  private final Status.Code code;

  /** Empty: not made by a Drover server. */
  private final String reason;

  /** The server's sentence. */
  private final String text;

  private final transient List<Field> fields;
  private final transient Map<String, String> metadata;

  /** Zero: the server gave no time. */
  private final Duration retryAfter;

  private CallException(
      Status.Code code, String text, Details details, Throwable cause) {
    super(textOf(code, details.reason, text, details.fields), cause);
    this.code = code;
    this.text = text;
    this.reason = details.reason;
    this.fields = List.copyOf(details.fields);
    this.metadata = Map.copyOf(details.metadata);
    this.retryAfter = details.retryAfter;
  }

  private static final class Details {
    private String reason = "";
    private final List<Field> fields = new ArrayList<>();
    private final Map<String, String> metadata = new HashMap<>();
    private Duration retryAfter = Duration.ZERO;

    private void add(Any detail) throws InvalidProtocolBufferException {
      if (detail.is(ErrorInfo.class)) {
        ErrorInfo info = detail.unpack(ErrorInfo.class);
        reason = info.getReason();
        metadata.putAll(info.getMetadataMap());
      } else if (detail.is(BadRequest.class)) {
        for (var field : detail.unpack(BadRequest.class).getFieldViolationsList()) {
          fields.add(new Field(field.getField(), field.getDescription()));
        }
      } else if (detail.is(RetryInfo.class)) {
        var delay = detail.unpack(RetryInfo.class).getRetryDelay();
        retryAfter = Times.fromProto(delay);
      }
    }
  }

  private static String textOf(Status.Code code, String reason, String text, List<Field> fields) {
    StringBuilder all = new StringBuilder(code.toString()).append(": ");
    if (!reason.isEmpty()) {
      all.append(reason).append(": ");
    }
    all.append(text);
    for (Field field : fields) {
      all.append(" (").append(field.path).append(": ").append(field.message).append(')');
    }
    return all.toString();
  }

  /**
   * Reads what gRPC threw.
   *
   * @param error a StatusRuntimeException of a stub, or anything else, which is UNKNOWN
   * @return the error with its reason
   */
  public static CallException of(Throwable error) {
    if (error instanceof CallException known) {
      return known;
    }
    com.google.rpc.Status detailed = StatusProto.fromThrowable(error);
    if (detailed == null) {
      Status status = Status.fromThrowable(error);
      String text = status.getDescription() == null ? "" : status.getDescription();
      return new CallException(status.getCode(), text, new Details(), error);
    }
    return of(detailed, error);
  }

  /** The error of one item. */
  static CallException of(com.google.rpc.Status status) {
    return of(status, null);
  }

  static CallException of(Status.Code code, String text) {
    return new CallException(code, text, new Details(), null);
  }

  private static CallException of(com.google.rpc.Status status, Throwable cause) {
    Details details = new Details();
    for (Any detail : status.getDetailsList()) {
      try {
        details.add(detail);
      } catch (InvalidProtocolBufferException error) {
        // A detail of another version: the code says enough.
        continue;
      }
    }
    Status.Code code = Status.fromCodeValue(status.getCode()).getCode();
    return new CallException(code, status.getMessage(), details, cause);
  }

  /**
   * The code of gRPC. After UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, INTERNAL and UNKNOWN it is
   * not known whether the call took effect. Any other code: nothing was changed.
   *
   * @return the code
   */
  public Status.Code code() {
    return code;
  }

  /**
   * The stable name of the error, one of {@link Reason}, or one of a newer server.
   *
   * @return empty if the error was not made by a Drover server
   */
  public String reason() {
    return reason;
  }

  /**
   * Whether it is an error of this reason.
   *
   * @param other such as {@link Reason#KEY_REUSED}
   * @return whether they are the same
   */
  public boolean is(String other) {
    return reason.equals(other);
  }

  /**
   * The server's sentence for a person.
   *
   * @return may be empty
   */
  public String text() {
    return text;
  }

  /**
   * What is wrong with the request, by path.
   *
   * @return empty if the error is not about fields
   */
  public List<Field> fields() {
    return fields == null ? List.of() : fields;
  }

  /**
   * Further values, as {@link Reason} lists them.
   *
   * @return empty if there are none
   */
  public Map<String, String> metadata() {
    return metadata == null ? Map.of() : metadata;
  }

  /**
   * How long to wait before the call is repeated.
   *
   * @return zero: the server gave no time
   */
  public Duration retryAfter() {
    return retryAfter;
  }

  Outcome outcome() {
    return switch (code) {
      case UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, INTERNAL, UNKNOWN -> Outcome.UNCLEAR;
      case RESOURCE_EXHAUSTED -> retryAfter.isZero() ? Outcome.DEFINITE : Outcome.LATER;
      default -> Outcome.DEFINITE;
    };
  }

  /**
   * Whether the error of a whole Complete is about its results; only a Drover server can judge
   * them. Any other error is about the call, and proves nothing about the results.
   */
  boolean isAboutResults() {
    if (is(Reason.MESSAGE_TOO_LARGE)) {
      return true;
    }
    return code == Status.Code.INVALID_ARGUMENT
        && !reason.isEmpty()
        && fields().stream().anyMatch(field -> field.path.startsWith("results["));
  }

  /**
   * Refused by a Drover server before it claimed tasks. After any other error a poll has to be
   * named as lost, also after one that the client's own library made, such as RESOURCE_EXHAUSTED
   * for an answer that it takes for too large.
   */
  boolean wasNotAdmitted() {
    return NOT_ADMITTED.contains(reason);
  }
}
