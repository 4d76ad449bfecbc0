package dev.drover;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PayloadTest {
  @Test
  void aValueIsAJsonText() {
    Payload payload = Payload.of(Map.of("to", "Lisbon"));
    assertEquals(Optional.of("{\"to\":\"Lisbon\"}"), payload.json());
    assertEquals(Optional.empty(), payload.bytes());
    assertEquals(payload, Payload.json("{\"to\":\"Lisbon\"}"));
    assertEquals(payload, Payload.of(payload));
  }

  @Test
  void bytesHaveTheirMediaType() {
    Payload payload = Payload.bytes(new byte[] {1, 2}, "image/png");
    assertEquals("image/png", payload.contentType());
    assertArrayEquals(new byte[] {1, 2}, payload.bytes().orElseThrow());
    assertEquals(Optional.empty(), payload.json());
  }

  @Test
  void itsEncodedFormIsReadAgain() {
    Payload payload = Payload.bytes(new byte[] {1, 2}, "image/png");
    assertEquals(payload, Payload.decode(payload.encoded()));
    assertThrows(PayloadException.class, () -> Payload.decode(new byte[] {1}));
  }
}
