package dev.drover;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Optional;

/**
 * Data of the user, in the form in which it is sent: a JSON text, or bytes with their media type.
 * Where the SDK takes a value (inputs, outputs, details) it also takes one of these, and where it
 * reads a value, {@code Payload.class} gets it as it is.
 */
public final class Payload {
  private static final PayloadFormat DEFAULT =
      new PayloadFormat(PayloadFormat.defaultMapper(), PayloadFormat.PLAIN);

  final dev.drover.v1.Payload message;

  Payload(dev.drover.v1.Payload message) {
    this.message = message;
  }

  /**
   * A payload of a JSON text.
   *
   * @param text the server refuses it if it does not parse
   * @return the payload
   */
  public static Payload json(String text) {
    return new Payload(dev.drover.v1.Payload.newBuilder().setJson(text).build());
  }

  /**
   * A payload that is not JSON; the server passes it on unchanged and never reads it. It is read as
   * {@code byte[]}.
   *
   * @param data at most 2 MiB
   * @param contentType empty means {@code application/octet-stream}
   * @return the payload
   */
  public static Payload bytes(byte[] data, String contentType) {
    return new Payload(dev.drover.v1.Payload.newBuilder()
        .setContentType(contentType).setData(ByteString.copyFrom(data)).build());
  }

  /**
   * A payload of a value, by the default mapper and without a codec.
   *
   * @param value has a JSON form, or is a payload
   * @return the payload
   * @throws PayloadException if it has none
   */
  public static Payload of(Object value) {
    return new Payload(DEFAULT.toPayload(Objects.requireNonNull(value, "value")));
  }

  /**
   * The media type.
   *
   * @return empty: JSON, or {@code application/octet-stream}
   */
  public String contentType() {
    return message.getContentType();
  }

  /**
   * The JSON text.
   *
   * @return empty: the payload is bytes
   */
  public Optional<String> json() {
    return message.hasJson() ? Optional.of(message.getJson()) : Optional.empty();
  }

  /**
   * The bytes.
   *
   * @return a copy; empty: the payload is JSON
   */
  public Optional<byte[]> bytes() {
    return message.hasData() ? Optional.of(message.getData().toByteArray()) : Optional.empty();
  }

  /**
   * The whole payload as bytes, for a {@link Codec}. Equal payloads have equal bytes, and they are
   * those of the other SDKs.
   *
   * @return its form in Protobuf
   */
  public byte[] encoded() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(message.getSerializedSize());
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    out.useDeterministicSerialization();
    try {
      message.writeTo(out);
      out.flush();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return bytes.toByteArray();
  }

  /**
   * Undoes {@link #encoded}.
   *
   * @param bytes as it returned them
   * @return the payload
   * @throws PayloadException if they are no payload
   */
  public static Payload decode(byte[] bytes) {
    try {
      return new Payload(dev.drover.v1.Payload.parseFrom(bytes));
    } catch (InvalidProtocolBufferException error) {
      throw new PayloadException("the bytes are no payload: " + error.getMessage(), error);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Payload that && message.equals(that.message);
  }

  @Override
  public int hashCode() {
    return message.hashCode();
  }

  @Override
  public String toString() {
    return json().orElseGet(() ->
        message.getData().size() + " bytes of \"" + message.getContentType() + "\"");
  }
}
