package dev.drover;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.drover.v1.Payload;
import java.lang.reflect.Type;
import java.security.GeneralSecurityException;
import java.util.Optional;

/** Makes payloads of values and values of payloads, by Jackson, and by the codec of the program. */
record PayloadFormat(ObjectMapper mapper, Codec codec) {
  /** No codec. */
  static final Codec PLAIN = new Codec() {
    @Override
    public dev.drover.Payload encode(dev.drover.Payload payload) {
      return payload;
    }

    @Override
    public dev.drover.Payload decode(dev.drover.Payload payload) {
      return payload;
    }
  };

  /**
   * A reader passes over fields that it does not know, so that a writer may add some. Times are
   * texts (ISO 8601) if Jackson's module for them is there.
   */
  static ObjectMapper defaultMapper() {
    return JsonMapper.builder()
        .findAndAddModules()
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
        .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
        .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .enable(JsonNodeFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
        .build();
  }

  private static Payload json(String text) {
    return Payload.newBuilder().setJson(text).build();
  }

  boolean isPlain() {
    return codec == PLAIN;
  }

  /** Null is none. Throws PayloadException. */
  Payload encode(Object value) {
    Payload payload = toPayload(value);
    return payload == null ? null : encodePayload(payload);
  }

  /** As encode, but null is the JSON value null. */
  Payload encodeDetails(Object value) {
    return encodePayload(value == null ? json("null") : toPayload(value));
  }

  private Payload encodePayload(Payload payload) {
    try {
      return codec.encode(new dev.drover.Payload(payload)).message;
    } catch (GeneralSecurityException error) {
      throw new PayloadException("the codec cannot encode a payload: " + text(error), error);
    }
  }

  Payload decodePayload(Payload payload) {
    try {
      return codec.decode(new dev.drover.Payload(payload)).message;
    } catch (GeneralSecurityException error) {
      throw new PayloadException("the codec cannot decode a payload: " + text(error), error);
    }
  }

  /** Without the codec. */
  Payload toPayload(Object value) {
    if (value == null) {
      return null;
    }
    if (value instanceof dev.drover.Payload payload) {
      return payload.message;
    }
    try {
      return json(mapper.writeValueAsString(value));
    } catch (JsonProcessingException error) {
      String type = value.getClass().getName();
      throw new PayloadException("a " + type + " has no JSON form: " + text(error), error);
    }
  }

  /** Null: it is the JSON value null. Throws PayloadException. */
  Object decode(Payload payload, Type type) {
    return read(decodePayload(payload), type);
  }

  /** Without the codec. */
  Object read(Payload payload, Type type) {
    if (type == dev.drover.Payload.class) {
      return new dev.drover.Payload(payload);
    }
    if (payload.hasData()) {
      if (type == byte[].class) {
        return payload.getData().toByteArray();
      }
      throw new PayloadException("the payload is bytes (\"" + payload.getContentType()
          + "\"); read it as byte[], not as " + type.getTypeName(), null);
    }
    try {
      JavaType wanted = mapper.constructType(type);
      return mapper.readValue(payload.getJson(), wanted);
    } catch (JsonProcessingException error) {
      String name = type.getTypeName();
      throw new PayloadException("it is no " + name + ": " + text(error), error);
    }
  }

  /** As read; empty: it is not there, or it is the JSON value null. */
  <T> Optional<T> readIf(boolean isThere, Payload payload, Class<T> type) {
    return isThere ? Optional.ofNullable(type.cast(read(payload, type))) : Optional.empty();
  }

  private static String text(Exception error) {
    if (error instanceof JsonProcessingException json) {
      return json.getOriginalMessage();
    }
    return error.getMessage() == null ? error.toString() : error.getMessage();
  }

  /** About how many bytes it takes in a message; null takes none. */
  static int size(Payload payload) {
    if (payload == null) {
      return 0;
    }
    return payload.hasJson() ? payload.getJsonBytes().size() : payload.getData().size();
  }
}
