package dev.drover;

import dev.drover.v1.Agent;
import dev.drover.v1.AgentProcess;
import dev.drover.v1.AgentServiceGrpc;
import dev.drover.v1.AppendLogsRequest;
import dev.drover.v1.AppendLogsResponse;
import dev.drover.v1.CompleteRequest;
import dev.drover.v1.CompleteResponse;
import dev.drover.v1.HeartbeatReport;
import dev.drover.v1.HeartbeatRequest;
import dev.drover.v1.HeartbeatResponse;
import dev.drover.v1.Next;
import dev.drover.v1.PollTaskRequest;
import dev.drover.v1.PollTaskResponse;
import dev.drover.v1.TaskLog;
import dev.drover.v1.TaskResult;
import io.grpc.Channel;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** The four calls of an agent. Each is tried once. */
final class AgentCalls {
  /** For one Heartbeat, Complete or AppendLogs. */
  private static final Duration CALL_FOR = Duration.ofSeconds(10);

  /** A poll is answered a second before its deadline at the latest. */
  private static final Duration POLL_MARGIN = Duration.ofSeconds(10);

  /** For the heartbeat that only names lost polls. */
  private static final Duration LAST_HEARTBEAT_FOR = Duration.ofSeconds(2);

  /** The polls to name. */
  interface Lost {
    List<Long> lostPolls();
  }

  private final Channel channel;
  private final AgentSettings settings;
  private final Agent me;
  private final Lost lost;
  private final String host = hostName();
  private final long madeAt = System.nanoTime();

  AgentCalls(Channel channel, AgentSettings settings, Agent me, Lost lost) {
    this.channel = channel;
    this.settings = settings;
    this.me = me;
    this.lost = lost;
  }

  /** Empty, if it is unknown to the system: not stated. */
  private static String hostName() {
    try {
      return TidyText.text(InetAddress.getLocalHost().getHostName(), 256);
    } catch (UnknownHostException error) {
      return "";
    }
  }

  Rpc<PollTaskResponse> poll(long seq, int most, Duration wait) {
    Duration age = Duration.ofNanos(System.nanoTime() - madeAt);
    PollTaskRequest request = PollTaskRequest.newBuilder()
        .setNamespace(settings.namespace)
        .setAgent(me)
        .setPollSeq(seq)
        .addAllQueues(settings.queues)
        .addAllTasks(settings.handlers.keySet())
        .setMaxTasks(most)
        .setWait(Times.toProto(wait))
        .addAllLostPolls(lost.lostPolls())
        .setProcess(AgentProcess.newBuilder()
            .setHost(host)
            .setPid((int) ProcessHandle.current().pid())
            .setRunningFor(Times.toProto(age))
            .setCapacity(settings.slots)
            .setClockTime(Times.toProto(Instant.now())))
        .build();
    return Rpc.start(
        channel, AgentServiceGrpc.getPollTaskMethod(), request, wait.plus(POLL_MARGIN));
  }

  HeartbeatResponse heartbeat(List<HeartbeatReport> reports, long listsAllTo) {
    return heartbeat(reports, listsAllTo, CALL_FOR);
  }

  private HeartbeatResponse heartbeat(
      List<HeartbeatReport> reports, long listsAllTo, Duration limit) {
    HeartbeatRequest request = HeartbeatRequest.newBuilder()
        .setNamespace(settings.namespace)
        .setAgent(me)
        .addAllLostPolls(lost.lostPolls())
        .addAllReports(reports)
        .setListsAllTo(listsAllTo)
        .build();
    return Rpc.call(channel, AgentServiceGrpc.getHeartbeatMethod(), request, limit);
  }

  /** With no further poll to name them, they are named by a heartbeat. */
  void nameLostPolls() {
    if (lost.lostPolls().isEmpty()) {
      return;
    }
    try {
      heartbeat(List.of(), 0, LAST_HEARTBEAT_FOR);
    } catch (CallException error) {
      settings.log.warn("lost polls could not be named: {}", error.getMessage());
    }
  }

  CompleteResponse complete(List<TaskResult> results, Next next) {
    CompleteRequest.Builder request = CompleteRequest.newBuilder()
        .setNamespace(settings.namespace).setAgent(me).addAllResults(results);
    if (next != null) {
      request.setNext(next);
    }
    return Rpc.call(channel, AgentServiceGrpc.getCompleteMethod(), request.build(), CALL_FOR);
  }

  AppendLogsResponse appendLogs(List<TaskLog> logs) {
    AppendLogsRequest request = AppendLogsRequest.newBuilder()
        .setNamespace(settings.namespace).setAgent(me).addAllLogs(logs).build();
    return Rpc.call(channel, AgentServiceGrpc.getAppendLogsMethod(), request, CALL_FOR);
  }
}
