package dev.drover;

import dev.drover.v1.CompleteAnswer;
import dev.drover.v1.CompleteResponse;
import dev.drover.v1.Next;
import dev.drover.v1.Outcome;
import dev.drover.v1.TaskResult;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Supplier;
import org.slf4j.Logger;

/**
 * Sends the outcomes of tasks with Complete, and repeats each with the very same outcome, so that
 * the server recognizes it, until it is answered. The call carries a poll for the freed slots.
 *
 * <p>Only a Drover server can judge a result. A call that was refused for any other reason (a token
 * that has expired, a proxy without a route) leaves all its reports as they are: they are sent
 * again, each alone, until the lease of their task has ended.
 */
final class Reports implements Gatherer.Sort<Reports.Report> {
  /** 1,000 is the limit of the contract; what an answer loses is repeated. */
  private static final int ITEMS_MAX = 250;

  /**
   * The outcome of a task.
   *
   * @param isSubstitute it already replaces one that the server refused
   */
  record Report(HeldTask task, Outcome outcome, boolean isSubstitute) {
    Report(HeldTask task, Outcome outcome) {
      this(task, outcome, false);
    }
  }

  /** What reports ask of their agent. */
  interface Host {
    /** A report is queued, with the reports locked. */
    void reporting(HeldTask task);

    /** Makes the poll for a call of this many reports, or null. */
    Polling.Carried carry(int reports);

    /** Throws CallException. `next` may be null. */
    CompleteResponse complete(List<TaskResult> results, Next next);

    /** For good: the agent no longer holds the task. */
    void answered(HeldTask task);
  }

  final Gatherer<Report> gatherer;
  private final Logger log;
  private final Host host;

  Reports(Logger log, Host host, Executor calls, ScheduledExecutorService timers) {
    this.log = log;
    this.host = host;
    gatherer = new Gatherer<>(this, calls, timers);
  }

  @Override
  public int itemsMax() {
    return ITEMS_MAX;
  }

  @Override
  public int size(Report report) {
    return report.task.message.getTaskToken().length() + Outcomes.size(report.outcome);
  }

  @Override
  public void adding(Report report) {
    host.reporting(report.task);
  }

  @Override
  public Supplier<Gatherer.Sent<Report>> prepare(List<Report> batch) {
    Polling.Carried poll = host.carry(batch.size());
    return () -> call(batch, poll);
  }

  private Gatherer.Sent<Report> call(List<Report> batch, Polling.Carried poll) {
    List<TaskResult> results = new ArrayList<>(batch.size());
    for (Report one : batch) {
      results.add(TaskResult.newBuilder()
          .setTaskToken(one.task.message.getTaskToken()).setOutcome(one.outcome).build());
    }
    CompleteResponse answer;
    try {
      answer = host.complete(results, poll == null ? null : poll.next);
    } catch (CallException error) {
      if (poll != null) {
        poll.failed(error);
      }
      return onFailedCall(batch, error);
    }
    if (poll != null) {
      poll.answered(answer);
    }
    Again again = new Again();
    for (int at = 0; at < batch.size(); at++) {
      if (at < answer.getAnswersCount()) {
        takeAnswer(batch.get(at), answer.getAnswers(at), again);
      } else {
        again.later(batch.get(at), null);
      }
    }
    return new Gatherer.Sent<>(again.reports, again.wait, again.failed, false);
  }

  /** What of a batch has to be sent again. */
  private static final class Again {
    final List<Report> reports = new ArrayList<>();
    boolean wait;
    CallException failed;

    void later(Report report, CallException refusal) {
      reports.add(report);
      wait = true;
      failed = refusal == null ? failed : refusal;
    }
  }

  private Gatherer.Sent<Report> onFailedCall(List<Report> batch, CallException error) {
    if (error.outcome() != CallException.Outcome.DEFINITE) {
      log.warn("{} reports not answered, will be repeated: {}", batch.size(), error.getMessage());
      return Gatherer.Sent.later(batch, error);
    }
    if (!error.isAboutResults()) {
      log.error("{} reports refused as a call, will be repeated: {}",
          batch.size(), error.getMessage());
      return new Gatherer.Sent<>(leased(batch, error), true, error, true);
    }
    log.error("{} reports refused: {}", batch.size(), error.getMessage());
    if (batch.size() > 1) {
      return new Gatherer.Sent<>(batch, false, null, true);
    }
    Again again = new Again();
    substitute(batch.get(0), error, again);
    return new Gatherer.Sent<>(again.reports, false, null, false);
  }

  /** The reports whose tasks are still the agent's; the others are given up. */
  private List<Report> leased(List<Report> batch, CallException error) {
    List<Report> leased = new ArrayList<>();
    for (Report one : batch) {
      if (!one.task.left().isZero()) {
        leased.add(one);
        continue;
      }
      log.error("report given up, {}: the lease has ended, and no call is taken: {}",
          one.task.name(), error.getMessage());
      host.answered(one.task);
    }
    return leased;
  }

  private void takeAnswer(Report one, CompleteAnswer answer, Again again) {
    if (answer.getStatus().getCode() == Status.Code.OK.value()) {
      host.answered(one.task);
      return;
    }
    CallException refusal = CallException.of(answer.getStatus());
    if (refusal.outcome() != CallException.Outcome.DEFINITE) {
      again.later(one, refusal);
    } else if (refusal.code() == Status.Code.INVALID_ARGUMENT
        && !refusal.is(Reason.MALFORMED_TOKEN)) {
      log.error("report refused, {}: {}", one.task.name(), refusal.getMessage());
      substitute(one, refusal, again);
    } else {
      log.warn("report came to nothing, {}: {}", one.task.name(), refusal.getMessage());
      host.answered(one.task);
    }
  }

  /** The agent still holds the task, and has to report something that the server accepts. */
  private void substitute(Report one, CallException refusal, Again again) {
    if (one.isSubstitute) {
      host.answered(one.task);
    } else {
      Outcome instead = Outcomes.ofRefusal(one.outcome, refusal);
      again.reports.add(new Report(one.task, instead, true));
    }
  }
}
