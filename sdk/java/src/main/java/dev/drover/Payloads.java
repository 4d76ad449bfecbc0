package dev.drover;

import com.google.protobuf.ByteString;
import dev.drover.v1.Payload;
import java.util.Objects;

/**
 * Payloads that are not made from a value. Where the SDK takes a value (inputs, outputs, details)
 * it also takes one of these, and where it reads a value, {@code Payload.class} gets it as it is.
 */
public final class Payloads {
  private static final PayloadFormat DEFAULT =
      new PayloadFormat(PayloadFormat.defaultMapper(), PayloadFormat.PLAIN);

  private Payloads() {}

  /**
   * A payload that is not JSON; the server passes it on unchanged and never reads it. It is read as
   * {@code byte[]}.
   *
   * @param data at most 2 MiB
   * @param contentType empty means {@code application/octet-stream}
   * @return the payload
   */
  public static Payload bytes(byte[] data, String contentType) {
    return Payload.newBuilder()
        .setContentType(contentType).setData(ByteString.copyFrom(data)).build();
  }

  /**
   * A payload of a value, by the default mapper and without a codec: for definitions, which the
   * server reads.
   *
   * @param value has a JSON form, or is a payload
   * @return the payload
   * @throws PayloadException if it has none
   */
  public static Payload of(Object value) {
    return DEFAULT.toPayload(Objects.requireNonNull(value, "value"));
  }

  /**
   * A payload of a JSON text.
   *
   * @param text the server refuses it if it does not parse
   * @return the payload
   */
  public static Payload json(String text) {
    return Payload.newBuilder().setJson(text).build();
  }
}
