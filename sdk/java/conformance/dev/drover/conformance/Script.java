package dev.drover.conformance;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.NullNode;
import dev.drover.Answer;
import dev.drover.Progress;
import dev.drover.StopReason;
import dev.drover.TaskContext;
import dev.drover.TaskException;
import dev.drover.TaskKind;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** A handler that performs the acts in the input of its task. */
final class Script {
  /** How often the existence of a file is checked. */
  private static final long CHECK_EVERY_MS = 20;

  private static final ObjectMapper JSON = new ObjectMapper();

  private Script() {}

  /** An act has ended the handler: with a result, or with the error of how it failed. */
  private record End(String act, Object result, Exception error) {
    static End with(String act, Object result) {
      return new End(act, result, null);
    }

    static End failing(String act, Exception error) {
      return new End(act, null, error);
    }
  }

  /** Does the acts of the try that is due. */
  static Object perform(TaskContext task) throws Exception {
    Map<String, Object> more = new LinkedHashMap<>();
    more.put("key", task.idempotencyKey());
    more.put("effect_key", task.effectKey());
    more.put("callback_token", task.callbackToken());
    more.put("item", task.item().isPresent() ? task.item().getAsInt() : null);
    print(task, "started", more);
    End end = run(task);
    print(task, "ended", Map.of("act", end.act));
    if (end.error != null) {
      throw end.error;
    }
    return end.result;
  }

  private static End run(TaskContext task) {
    JsonNode input = task.input(JsonNode.class);
    if (input == null || !input.isObject()) {
      return End.failing("", badScript());
    }
    JsonNode tries = input.path(kindOf(task));
    if (tries.isEmpty()) {
      return End.with("", null);
    }
    long number = task.kind() == TaskKind.PERFORM ? task.fence() : task.attempt();
    int due = (int) Math.min(Math.max(number, 1), tries.size()) - 1;
    for (JsonNode act : tries.get(due)) {
      End end = act(task, act);
      if (end != null) {
        return end;
      }
    }
    return End.with("", null);
  }

  /** Null: the handler continues. */
  private static End act(TaskContext task, JsonNode act) {
    String name = nameOf(act);
    JsonNode body = act.path(name);
    switch (name) {
      case "progress" -> task.progress(progressOf(body));
      case "details" -> task.details(body);
      case "log" -> task.log().info(body.asText());
      case "deaf" -> {
        print(task, "waiting", Map.of("path", body.asText()));
        while (!exists(body)) {
          try {
            Thread.sleep(CHECK_EVERY_MS);
          } catch (InterruptedException error) {
            continue; // that is what it is to be deaf
          }
        }
      }
      case "await" -> {
        return await(task, act);
      }
      default -> {
        return end(task, name, body);
      }
    }
    return null;
  }

  private static End await(TaskContext task, JsonNode act) {
    JsonNode path = act.path("await");
    print(task, "waiting", Map.of("path", path.asText()));
    try {
      while (!exists(path)) {
        Thread.sleep(CHECK_EVERY_MS);
      }
      return null;
    } catch (InterruptedException error) {
      String why = task.stopped().map(StopReason::code).orElse("");
      print(task, "stopped", Map.of("why", why));
      JsonNode instead = act.get("on_stop");
      return instead == null
          ? End.failing("stopped", error)
          : end(task, nameOf(instead), instead.path(nameOf(instead)));
    }
  }

  private static End end(TaskContext task, String name, JsonNode body) {
    String code = body.path("code").asText("");
    String message = body.path("message").asText("");
    return switch (name) {
      case "success" -> End.with(name, body);
      case "echo" -> End.with(name, echo(task, body.asText()));
      case "large" -> End.with(name, "x".repeat(body.asInt()));
      case "fail" -> End.failing(name, failure(code, message, body));
      case "unknown" -> End.failing(name, TaskException.unknown(code, message));
      case "again" -> End.with(name, Answer.again(milliseconds(body, "after_ms")));
      case "deferred" -> End.with(name, Answer.deferred());
      case "cancelled" -> End.failing(name, claims(TaskException.cancelled(), body));
      case "happened" -> End.with(name, Answer.happened(body));
      case "did_not_happen" -> End.with(name, Answer.didNotHappen());
      case "cannot_tell" -> End.with(name, Answer.cannotTell(message));
      case "throw" -> End.failing(name, new IllegalStateException(body.asText()));
      default -> End.failing(name, badScript());
    };
  }

  private static TaskException failure(String code, String message, JsonNode body) {
    if (body.path("permanent").asBoolean()) {
      return claims(TaskException.permanent(code, message), body);
    }
    TaskException failed = TaskException.transientFailure(code, message);
    return claims(failed.retryAfter(milliseconds(body, "retry_after_ms")), body);
  }

  private static TaskException claims(TaskException failed, JsonNode body) {
    return body.path("no_effect").asBoolean() ? failed.noEffect() : failed;
  }

  private static TaskException badScript() {
    return TaskException.permanent(
        "bad-script", "The input is no script of the conformance suite.");
  }

  private static Duration milliseconds(JsonNode body, String member) {
    return Duration.ofMillis(body.path(member).asLong());
  }

  private static JsonNode echo(TaskContext task, String what) {
    JsonNode value = switch (what) {
      case "input" -> task.input(JsonNode.class);
      case "details" -> task.lastDetails(JsonNode.class).orElse(null);
      default -> task.output(JsonNode.class).orElse(null);
    };
    return value == null ? NullNode.getInstance() : value;
  }

  private static Progress progressOf(JsonNode mark) {
    if (mark.has("fraction")) {
      return Progress.fraction(mark.path("fraction").asDouble());
    }
    return mark.has("counter")
        ? Progress.counter(mark.path("counter").asLong())
        : Progress.cursor(mark.path("cursor").asText());
  }

  private static String nameOf(JsonNode act) {
    for (Map.Entry<String, JsonNode> member : act.properties()) {
      if (!member.getKey().equals("on_stop")) {
        return member.getKey();
      }
    }
    return "";
  }

  private static boolean exists(JsonNode path) {
    return Files.exists(Path.of(path.asText()));
  }

  private static String kindOf(TaskContext task) {
    return task.kind().name().toLowerCase(Locale.ROOT);
  }

  private static void print(TaskContext task, String event, Map<String, Object> more) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("event", event);
    line.put("run", task.runId());
    line.put("step", task.stepId());
    line.put("kind", kindOf(task));
    line.put("attempt", task.attempt());
    line.put("fence", task.fence());
    line.putAll(more);
    print(line);
  }

  static synchronized void print(Map<String, Object> line) {
    try {
      System.out.println(JSON.writeValueAsString(line));
      System.out.flush();
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }
}
