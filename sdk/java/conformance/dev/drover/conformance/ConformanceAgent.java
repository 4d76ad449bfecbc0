package dev.drover.conformance;

import dev.drover.AesGcmCodec;
import dev.drover.Agent;
import dev.drover.HandlerLostException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;

/** The Java SDK as a program under test; test/conformance/PROTOCOL.md describes what it does. */
public final class ConformanceAgent {
  private ConformanceAgent() {}

  /**
   * Runs until it is told to stop.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) {
    Agent.Builder builder =
        Agent.builder(System.getenv("DROVER_ADDRESS"), System.getenv("DROVER_AGENT"))
            .namespace(System.getenv("DROVER_NAMESPACE"))
            .queue(System.getenv("DROVER_QUEUE"))
            .slots(number("DROVER_SLOTS"))
            .pollWait(milliseconds("DROVER_POLL_WAIT_MS"))
            .grace(milliseconds("DROVER_GRACE_MS"))
            .stopGrace(milliseconds("DROVER_CANCEL_GRACE_MS"))
            .handle("work", Script::perform)
            .handle("check", Script::perform)
            .handle("undo", Script::perform);
    String key = System.getenv("DROVER_CODEC_KEY");
    if (key != null && !key.isEmpty()) {
      builder.codec(new AesGcmCodec(HexFormat.of().parseHex(key)));
    }
    Agent agent = builder.build();
    Script.print(Map.of("event", "ready"));
    try {
      agent.run();
    } catch (HandlerLostException error) {
      // The handler's thread would not keep the process alive, but its end has to be seen.
      System.exit(1);
    }
  }

  private static int number(String variable) {
    return Integer.parseInt(System.getenv(variable));
  }

  private static Duration milliseconds(String variable) {
    return Duration.ofMillis(number(variable));
  }
}
