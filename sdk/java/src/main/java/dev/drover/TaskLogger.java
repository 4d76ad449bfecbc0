package dev.drover;

import dev.drover.v1.LogLevel;
import dev.drover.v1.LogText;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.event.KeyValuePair;
import org.slf4j.event.Level;
import org.slf4j.event.LoggingEvent;
import org.slf4j.helpers.AbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggingEventAware;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * The logger of one attempt. Each line goes to the logger of the agent, with the run, the step and
 * the attempt as key-value pairs, if that takes its level; and to the server, whatever its level.
 */
final class TaskLogger extends AbstractLogger implements LoggingEventAware {
  private static final long serialVersionUID = 1L;

  /** The server cuts a line at 8 KiB and says so; a longer one is not worth its way. */
  private static final int LINE_LENGTH_MAX = 16_384;

  /** Limits of the contract. */
  private static final int FIELDS_MAX = 16;

  private static final int KEY_BYTES_MAX = 64;
  private static final int VALUE_BYTES_MAX = 256;

  private final transient Logger process;
  private final transient Map<String, String> own;
  private final transient Consumer<LogText> server;

  /** `own` is on each line for the process; `server` may be null. */
  TaskLogger(Logger process, Map<String, String> own, Consumer<LogText> server) {
    this.name = process.getName();
    this.process = process;
    this.own = Collections.unmodifiableMap(new LinkedHashMap<>(own));
    this.server = server;
  }

  @Override
  protected String getFullyQualifiedCallerName() {
    return null;
  }

  @Override
  protected void handleNormalizedLoggingCall(
      Level level, Marker marker, String pattern, Object[] arguments, Throwable thrown) {
    List<Marker> markers = marker == null ? List.of() : List.of(marker);
    write(level, markers, MessageFormatter.basicArrayFormat(pattern, arguments), List.of(), thrown);
  }

  @Override
  public void log(LoggingEvent event) {
    List<Marker> markers = event.getMarkers() == null ? List.of() : event.getMarkers();
    List<KeyValuePair> pairs =
        event.getKeyValuePairs() == null ? List.of() : event.getKeyValuePairs();
    String text = MessageFormatter.basicArrayFormat(event.getMessage(), event.getArgumentArray());
    write(event.getLevel(), markers, text, pairs, event.getThrowable());
  }

  private void write(
      Level level, List<Marker> markers, String text, List<KeyValuePair> pairs, Throwable thrown) {
    LoggingEventBuilder line = process.atLevel(level);
    for (Map.Entry<String, String> field : own.entrySet()) {
      line = line.addKeyValue(field.getKey(), field.getValue());
    }
    for (KeyValuePair pair : pairs) {
      line = line.addKeyValue(pair.key, pair.value);
    }
    for (Marker marker : markers) {
      line = line.addMarker(marker);
    }
    // It is no pattern any more.
    line.setMessage("{}").addArgument(text).setCause(thrown).log();
    if (server != null) {
      Map<String, String> fields = new LinkedHashMap<>();
      pairs.forEach(pair -> addField(fields, pair));
      server.accept(lineOf(level, thrown == null ? text : text + "\n" + stackOf(thrown), fields));
    }
  }

  private static String stackOf(Throwable thrown) {
    StringWriter stack = new StringWriter();
    thrown.printStackTrace(new PrintWriter(stack));
    return stack.toString();
  }

  private static void addField(Map<String, String> fields, KeyValuePair pair) {
    if (fields.size() < FIELDS_MAX) {
      String key = TidyText.bytes(String.valueOf(pair.key), KEY_BYTES_MAX);
      String value = TidyText.bytes(String.valueOf(pair.value), VALUE_BYTES_MAX);
      fields.put(key.isEmpty() ? "-" : key, value);
    }
  }

  /** A line of now, which fits into the limits of the contract. */
  static LogText lineOf(Level level, String text, Map<String, String> fields) {
    return LogText.newBuilder()
        .setTime(Times.toProto(Instant.now()))
        .setLevel(levelOf(level))
        .setMessage(TidyText.text(text, LINE_LENGTH_MAX))
        .putAllFields(fields)
        .build();
  }

  private static LogLevel levelOf(Level level) {
    return switch (level) {
      case ERROR -> LogLevel.LOG_LEVEL_ERROR;
      case WARN -> LogLevel.LOG_LEVEL_WARN;
      case INFO -> LogLevel.LOG_LEVEL_INFO;
      default -> LogLevel.LOG_LEVEL_DEBUG;
    };
  }

  private boolean takes(boolean process) {
    return process || server != null;
  }

  @Override
  public boolean isTraceEnabled() {
    return takes(process.isTraceEnabled());
  }

  @Override
  public boolean isTraceEnabled(Marker marker) {
    return takes(process.isTraceEnabled(marker));
  }

  @Override
  public boolean isDebugEnabled() {
    return takes(process.isDebugEnabled());
  }

  @Override
  public boolean isDebugEnabled(Marker marker) {
    return takes(process.isDebugEnabled(marker));
  }

  @Override
  public boolean isInfoEnabled() {
    return takes(process.isInfoEnabled());
  }

  @Override
  public boolean isInfoEnabled(Marker marker) {
    return takes(process.isInfoEnabled(marker));
  }

  @Override
  public boolean isWarnEnabled() {
    return takes(process.isWarnEnabled());
  }

  @Override
  public boolean isWarnEnabled(Marker marker) {
    return takes(process.isWarnEnabled(marker));
  }

  @Override
  public boolean isErrorEnabled() {
    return takes(process.isErrorEnabled());
  }

  @Override
  public boolean isErrorEnabled(Marker marker) {
    return takes(process.isErrorEnabled(marker));
  }
}
