package dev.drover;

import dev.drover.v1.QueueWeight;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.slf4j.Logger;

/** The settings of an agent, and what is wrong with them: found at the start, not by a poll. */
final class AgentSettings {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,128}");
  private static final int HANDLERS_MAX = 100;
  private static final int QUEUES_MAX = 100;
  private static final Duration DAY = Duration.ofDays(1);

  final String id;
  final List<QueueWeight> queues = new ArrayList<>();
  final Map<String, Handlers.Bound> handlers = new LinkedHashMap<>();
  String namespace = "";
  String version = "";
  Map<String, String> labels = Map.of();
  int slots = 10;
  Duration grace = Duration.ofSeconds(15);
  Duration stopGrace = Duration.ofSeconds(10);
  Duration pollWait = Duration.ofSeconds(30);
  Logger log;
  private final List<String> wrong = new ArrayList<>();

  AgentSettings(String id) {
    this.id = id;
  }

  void addHandler(String task, Handlers.Bound handler) {
    checkName("name of a handler", task);
    if (handlers.putIfAbsent(task, handler) != null) {
      wrong.add("the task \"" + task + "\" has two handlers");
    }
  }

  void addQueue(String name, int weight) {
    checkName("name of a queue", name);
    checkNumber("weight of queue " + name, weight, 1, 1_000);
    queues.add(QueueWeight.newBuilder().setName(name).setWeight(weight).build());
  }

  /** Throws IllegalArgumentException, which names all that is wrong. */
  void check() {
    checkName("id", id);
    if (!namespace.isEmpty()) {
      checkName("namespace", namespace);
    }
    checkNumber("number of handlers", handlers.size(), 1, HANDLERS_MAX);
    if (queues.isEmpty()) {
      addQueue("default", 1);
    }
    checkNumber("number of queues", queues.size(), 1, QUEUES_MAX);
    checkNumber("number of slots", slots, 1, 10_000);
    checkTime("grace", grace, Duration.ZERO, DAY);
    checkTime("stop grace", stopGrace, Duration.ZERO, DAY);
    checkTime("poll wait", pollWait, Duration.ofSeconds(1), Duration.ofMinutes(1));
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(String.join("; ", wrong));
    }
  }

  private void checkName(String what, String name) {
    if (!NAME.matcher(name).matches()) {
      wrong.add("the " + what + " is \"" + name
          + "\"; it must be 1 to 128 characters of letters, digits, \".\", \"_\", \"-\"");
    }
  }

  private void checkNumber(String what, int value, int least, int most) {
    if (value < least || value > most) {
      wrong.add("the " + what + " is " + value + "; it must be " + least + " to " + most);
    }
  }

  private void checkTime(String what, Duration value, Duration least, Duration most) {
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      wrong.add("the " + what + " is " + value + "; it must be " + least + " to " + most);
    }
  }
}
