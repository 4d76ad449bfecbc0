package dev.drover;

import dev.drover.v1.FailureClass;
import dev.drover.v1.Outcome;
import dev.drover.v1.Payload;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.CancellationException;

/** What is reported for how a handler ended. */
final class Outcomes {
  /** Of the body of a payload, by the contract; a namespace may allow less. */
  private static final int PAYLOAD_BYTES_MAX = 2 * 1024 * 1024;

  private static final int CAUSES_MAX = 32;

  private Outcomes() {}

  /**
   * An Answer as it is; all else is the output of a success, null one without.
   *
   * <p>A verify has to answer: a lookup that found nothing and returns must not pass for "it
   * happened".
   */
  static Outcome ofResult(PayloadFormat format, Object result, TaskKind kind) {
    Answer<?> answer = result instanceof Answer<?> given ? given : Answer.output(result);
    boolean isOutput = answer.kind == Answer.Kind.OUTPUT;
    if (isOutput && kind == TaskKind.VERIFY) {
      return unknown("no-answer", "A handler that verifies returns Answer.happened(output), "
          + "Answer.didNotHappen() or Answer.cannotTell(message).");
    }
    return switch (answer.kind) {
      case OUTPUT, HAPPENED -> success(format, answer.output);
      case AGAIN -> Outcome.newBuilder()
          .setAgain(Outcome.Again.newBuilder().setAfter(Times.toProto(answer.after))).build();
      case DEFERRED -> Outcome.newBuilder()
          .setDeferred(Outcome.Deferred.getDefaultInstance()).build();
      case DID_NOT_HAPPEN -> failed(
          TaskException.transientFailure("did-not-happen", "It did not happen.").noEffect());
      case CANNOT_TELL -> unknown("cannot-tell", answer.message);
    };
  }

  /** `stopped` is why the task has to stop, null if it does not. */
  static Outcome ofError(Throwable error, StopReason stopped) {
    TaskException known = find(error, TaskException.class);
    if (known != null) {
      return switch (known.kind()) {
        case TRANSIENT, PERMANENT -> failed(known);
        case CANCELLED -> cancelled(known.isWithoutEffect());
        case UNKNOWN -> unknown(known.code(), known.text());
      };
    }
    if (stopped != null && isStop(error)) {
      return stopped == StopReason.CANCELLED
          ? cancelled(false)
          : unknown(stopped.code(), stopped.text());
    }
    String text = error.getMessage();
    return unknown("unexpected-error", text == null ? error.toString() : text);
  }

  /** The handler did not name it, and it is not how the stop ended it. */
  static boolean isUnexpected(Throwable error, StopReason stopped) {
    return find(error, TaskException.class) == null && (stopped == null || !isStop(error));
  }

  /** The forms in which an interrupt ends a handler. */
  private static boolean isStop(Throwable error) {
    int causes = 0;
    for (Throwable one = error; one != null && causes < CAUSES_MAX; one = one.getCause()) {
      boolean isStop = one instanceof TaskStoppedException
          || one instanceof InterruptedException
          || one instanceof InterruptedIOException
          || one instanceof ClosedByInterruptException
          || one instanceof CancellationException
          || isCancelled(one);
      if (isStop) {
        return true;
      }
      causes++;
    }
    return false;
  }

  private static boolean isCancelled(Throwable error) {
    boolean isStatus =
        error instanceof StatusRuntimeException || error instanceof StatusException;
    return isStatus && Status.fromThrowable(error).getCode() == Status.Code.CANCELLED;
  }

  private static <T extends Throwable> T find(Throwable error, Class<T> type) {
    int causes = 0;
    for (Throwable one = error; one != null && causes < CAUSES_MAX; one = one.getCause()) {
      if (type.isInstance(one)) {
        return type.cast(one);
      }
      causes++;
    }
    return null;
  }

  /**
   * Replaces a report that the server refused for what is in it. The work of a success was done,
   * and doing it again would give the same output again.
   */
  static Outcome ofRefusal(Outcome refused, CallException refusal) {
    if (!refused.hasSuccess()) {
      return unknown(
          "report-refused", "The agent's report was refused: " + refusal.getMessage());
    }
    String why = refusal.fields().isEmpty()
        ? refusal.text()
        : "it " + refusal.fields().get(0).message();
    return outputLost("The output was refused: " + why);
  }

  /** It was done, and its output cannot be sent: the permanent failure drover.output. */
  static Outcome outputLost(String problem) {
    return Outcome.newBuilder()
        .setSuccess(Outcome.Success.newBuilder().setOutputProblem(TidyText.message(problem)))
        .build();
  }

  static Outcome released() {
    return Outcome.newBuilder().setReleased(Outcome.Released.getDefaultInstance()).build();
  }

  /** What cannot be sent was done all the same. */
  private static Outcome success(PayloadFormat format, Object output) {
    Outcome.Success.Builder success = Outcome.Success.newBuilder();
    Payload payload;
    try {
      payload = format.encode(output);
    } catch (PayloadException error) {
      return outputLost("The handler's result cannot be sent: " + error.getMessage());
    }
    if (payload != null) {
      int size = PayloadFormat.size(payload);
      if (size > PAYLOAD_BYTES_MAX) {
        return outputLost("The output has " + size + " bytes, and none may have more than "
            + PAYLOAD_BYTES_MAX + ": keep it in object storage and return its address");
      }
      success.setOutput(payload);
    }
    return Outcome.newBuilder().setSuccess(success).build();
  }

  private static Outcome failed(TaskException known) {
    return Outcome.newBuilder().setFailed(toFailed(known)).build();
  }

  static Outcome.Failed toFailed(TaskException known) {
    boolean isTransient = known.kind() == TaskException.Kind.TRANSIENT;
    Outcome.Failed.Builder failed = Outcome.Failed.newBuilder()
        .setCode(TidyText.code(known.code()))
        .setMessage(TidyText.message(known.text()))
        .setFailureClass(isTransient
            ? FailureClass.FAILURE_CLASS_TRANSIENT
            : FailureClass.FAILURE_CLASS_PERMANENT)
        .setNoEffect(known.isWithoutEffect());
    known.retryAfter()
        .filter(wait -> isTransient && !wait.isNegative() && !wait.isZero())
        .ifPresent(wait -> failed.setRetryAfter(Times.toProto(wait)));
    return failed.build();
  }

  static Outcome unknown(String code, String message) {
    return Outcome.newBuilder()
        .setUnknown(Outcome.Unknown.newBuilder()
            .setCode(TidyText.code(code)).setMessage(TidyText.message(message)))
        .build();
  }

  private static Outcome cancelled(boolean noEffect) {
    return Outcome.newBuilder()
        .setCancelled(Outcome.Cancelled.newBuilder().setNoEffect(noEffect)).build();
  }

  /** About how many bytes it takes in a message. */
  static int size(Outcome outcome) {
    int fixed = 1_024;
    int texts = outcome.getFailed().getMessage().length()
        + outcome.getUnknown().getMessage().length();
    Payload output = outcome.getSuccess().hasOutput() ? outcome.getSuccess().getOutput() : null;
    return fixed + texts + PayloadFormat.size(output);
  }
}
