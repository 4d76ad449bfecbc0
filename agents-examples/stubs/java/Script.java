import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import dev.drover.v1.HeartbeatReport;
import dev.drover.v1.Payload;
import dev.drover.v1.Outcome;
import dev.drover.v1.Progress;
import dev.drover.v1.TaskKind;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * What the handler does: the acts in the input of its task, see test/conformance/PROTOCOL.md.
 * Nothing of an agent is here: a handler of your own takes the task and returns its outcome.
 */
final class Script {
  private final Agent.Held held;
  private final JsonObject about = new JsonObject();
  private String act = "";

  private Script(Agent.Held held) {
    this.held = held;
    var task = held.task;
    about.addProperty("run", task.getRunId());
    about.addProperty("step", task.getStepId());
    about.addProperty("kind", kind());
    about.addProperty("attempt", task.getAttempt());
    about.addProperty("fence", task.getFence());
  }

  static void emit(String event, JsonObject... more) {
    var line = new JsonObject();
    line.addProperty("event", event);
    for (var one : more) one.entrySet().forEach(of -> line.add(of.getKey(), of.getValue()));
    System.out.println(line);
    System.out.flush();
  }

  static Outcome perform(Agent.Held held) throws Exception {
    var task = held.task;
    var script = new Script(held);
    var first = of("key", task.getIdempotencyKey());
    first.addProperty("effect_key", task.getEffectKey());
    first.addProperty("callback_token", task.getCallbackToken());
    first.add("item", task.hasItem() ? new JsonPrimitive(task.getItem()) : JsonNull.INSTANCE);
    emit("started", script.about, first);
    var outcome = script.acts();
    emit("ended", script.about, of("act", script.act));
    return outcome;
  }

  static Outcome outcomeOf(String kind) throws InvalidProtocolBufferException {
    return outcomeOf(kind, new JsonObject());
  }

  /** For an outcome that was refused: its effect remains, and only its output cannot be sent. */
  static Outcome instead(Outcome refused, String message) throws InvalidProtocolBufferException {
    if (!refused.hasSuccess()) return unknown("report-refused");
    return outcomeOf("success", of("outputProblem", message.replaceFirst("^results\\S+ ", "")));
  }

  static Outcome unknown(String code) throws InvalidProtocolBufferException {
    return outcomeOf("unknown", of("code", code));
  }

  /** The fields are those of the message of this kind. */
  static Outcome outcomeOf(String kind, JsonObject fields) throws InvalidProtocolBufferException {
    var whole = new JsonObject();
    whole.add(kind, fields);
    return read(whole, Outcome.newBuilder()).build();
  }

  private static <B extends Message.Builder> B read(JsonElement json, B into)
      throws InvalidProtocolBufferException {
    JsonFormat.parser().merge(json.toString(), into);
    return into;
  }

  private static JsonObject of(String name, String value) {
    var one = new JsonObject();
    one.addProperty(name, value);
    return one;
  }

  private String kind() {
    return held.task.getKind().name().replace("TASK_KIND_", "").toLowerCase();
  }

  private Outcome acts() throws Exception {
    var task = held.task;
    var script = task.hasInput() ? JsonParser.parseString(task.getInput().getJson()) : null;
    if (script == null || !script.isJsonObject()) return ended("", JsonNull.INSTANCE);
    var tries = script.getAsJsonObject().getAsJsonArray(kind());
    if (tries == null || tries.isEmpty()) return outcomeOf("success");
    int number = task.getKind() == TaskKind.TASK_KIND_PERFORM ? task.getFence() : task.getAttempt();
    for (var one : tries.get(Math.min(number, tries.size()) - 1).getAsJsonArray()) {
      var members = one.getAsJsonObject();
      act = members.keySet().iterator().next();
      var value = members.get(act);
      if (act.equals("progress")) {
        var progress = read(value, Progress.newBuilder());
        note(HeartbeatReport.newBuilder().setProgress(progress));
      } else if (act.equals("details")) {
        var details = Payload.newBuilder().setJson(value.toString());
        note(HeartbeatReport.newBuilder().setDetails(details));
      } else if (act.equals("await")) {
        var outcome = await(value.getAsString(), members.getAsJsonObject("on_stop"));
        if (outcome != null) return outcome;
      } else {
        return ended(act, value);
      }
    }
    act = "";
    return outcomeOf("success");
  }

  private void note(HeartbeatReport.Builder news) {
    synchronized (held) {
      held.news.mergeFrom(news.build());
    }
    held.sendHeartbeat();
  }

  /** Null: the file is there. */
  private Outcome await(String path, JsonObject onStop) throws Exception {
    emit("waiting", about, of("path", path));
    while (!Files.exists(Path.of(path)) && held.stopped() == null) Thread.sleep(20);
    if (Files.exists(Path.of(path))) return null;
    emit("stopped", about, of("why", held.stopped()));
    if (onStop != null) {
      act = onStop.keySet().iterator().next();
      return ended(act, onStop.get(act));
    }
    act = "stopped";
    if (held.stopped().equals("cancelled")) return outcomeOf("cancelled");
    return unknown(held.stopped());
  }

  private Outcome ended(String name, JsonElement value) throws Exception {
    var given = value != null && value.isJsonObject() ? value.getAsJsonObject() : new JsonObject();
    switch (name) {
      case "success", "happened":
        return success(value.toString());
      case "echo":
        var of = Map.of("input", held.task.getInput(), "details", held.task.getLastDetails(),
            "output", held.task.getOutput()).get(value.getAsString());
        return success(of.hasJson() ? of.getJson() : "null");
      case "large":
        return success('"' + "x".repeat(value.getAsInt()) + '"');
      case "fail":
        boolean permanent = given.has("permanent") && given.remove("permanent").getAsBoolean();
        if (given.has("retry_after_ms")) seconds(given, "retry_after_ms", "retry_after");
        return failed(permanent ? "PERMANENT" : "TRANSIENT", given);
      case "did_not_happen":
        given.addProperty("code", "did-not-happen");
        given.addProperty("no_effect", true);
        return failed("TRANSIENT", given);
      case "cannot_tell":
        given.addProperty("code", "cannot-tell");
        return outcomeOf("unknown", given);
      case "again":
        seconds(given, "after_ms", "after");
        return outcomeOf("again", given);
      case "unknown", "deferred", "cancelled":
        return outcomeOf(name, given);
      default:
        return failed("PERMANENT", of("code", "bad-script"));
    }
  }

  private static Outcome success(String text) throws Exception {
    var fields = new JsonObject();
    fields.add("output", of("json", text));
    return outcomeOf("success", fields);
  }

  private static Outcome failed(String failureClass, JsonObject fields) throws Exception {
    fields.addProperty("failure_class", "FAILURE_CLASS_" + failureClass);
    return outcomeOf("failed", fields);
  }

  private static void seconds(JsonObject of, String millis, String name) {
    of.addProperty(name, of.remove(millis).getAsLong() / 1000.0 + "s");
  }
}
