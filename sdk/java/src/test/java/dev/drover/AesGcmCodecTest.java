package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AesGcmCodecTest {
  private static AesGcmCodec withKeyOf(int value) {
    byte[] key = new byte[32];
    Arrays.fill(key, (byte) value);
    return new AesGcmCodec(key);
  }

  @Test
  void itsBytesAreThoseOfTheOtherSdks() throws GeneralSecurityException {
    Payload clear = Payload.of(Map.of("to", "Lisbon"));
    Payload sealed = withKeyOf(7).encode(clear);
    assertEquals(AesGcmCodec.CONTENT_TYPE, sealed.contentType());
    // As aesGcmCodec of sdk/typescript/codec.ts makes them.
    assertEquals(
        "ffc679937714c4d8d544d1c354c2600e8c0beb0e01cc107e0d9ea48ce3826196"
            + "96b10d6a2962f329ad69cd6ce3",
        HexFormat.of().formatHex(sealed.bytes().orElseThrow()));
    assertEquals(clear, withKeyOf(7).decode(sealed));
  }

  @Test
  void anotherKeyOpensNothing() throws GeneralSecurityException {
    Payload sealed = withKeyOf(7).encode(Payload.of(1));
    assertThrows(GeneralSecurityException.class, () -> withKeyOf(8).decode(sealed));
    assertThrows(IllegalArgumentException.class, () -> new AesGcmCodec(new byte[16]));
  }

  @Test
  void whatItDidNotMakeIsPassedOn() throws GeneralSecurityException {
    Payload other = Payload.bytes(new byte[] {1}, "image/png");
    assertSame(other, withKeyOf(7).decode(other));
  }
}
