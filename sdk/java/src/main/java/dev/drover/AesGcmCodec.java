package dev.drover;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Encrypts payloads by AES-256-GCM with one key: nonce (12 bytes), ciphertext, tag (16 bytes). The
 * clear text is the payload as it would have been sent. The bytes are those of the codecs of the
 * other SDKs.
 *
 * <p>The nonce is derived from key and payload, so the same input under the same key of a run is
 * the same request, also from a restarted caller. An observer of two payloads learns whether they
 * are equal, and nothing else. Where keys change, write a codec whose payloads name their key.
 */
public final class AesGcmCodec implements Codec {
  /** The content type of encrypted payloads. */
  public static final String CONTENT_TYPE = "application/x-drover-aes-gcm";

  private static final int KEY_BYTES = 32;
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;

  private final SecretKeySpec key;
  private final byte[] nonceKey;

  /**
   * A codec with a key.
   *
   * @param key 32 bytes
   * @throws IllegalArgumentException if it has another length
   */
  public AesGcmCodec(byte[] key) {
    if (key.length != KEY_BYTES) {
      throw new IllegalArgumentException("the key has " + key.length + " bytes; it must have 32");
    }
    this.key = new SecretKeySpec(key, "AES");
    try {
      nonceKey = sum(key, "drover nonce".getBytes(StandardCharsets.US_ASCII));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException("this Java has no HMAC-SHA256", error);
    }
  }

  @Override
  public Payload encode(Payload payload) throws GeneralSecurityException {
    byte[] clear = payload.encoded();
    byte[] nonce = Arrays.copyOf(sum(nonceKey, clear), NONCE_BYTES);
    byte[] sealed = cipher(Cipher.ENCRYPT_MODE, nonce).doFinal(clear);
    byte[] data = Arrays.copyOf(nonce, NONCE_BYTES + sealed.length);
    System.arraycopy(sealed, 0, data, NONCE_BYTES, sealed.length);
    return Payload.bytes(data, CONTENT_TYPE);
  }

  @Override
  public Payload decode(Payload payload) throws GeneralSecurityException {
    if (!payload.contentType().equals(CONTENT_TYPE)) {
      return payload;
    }
    byte[] data = payload.bytes().orElse(new byte[0]);
    if (data.length < NONCE_BYTES) {
      throw new GeneralSecurityException("the payload is too short to be encrypted");
    }
    Cipher cipher = cipher(Cipher.DECRYPT_MODE, Arrays.copyOf(data, NONCE_BYTES));
    byte[] clear = cipher.doFinal(data, NONCE_BYTES, data.length - NONCE_BYTES);
    try {
      return Payload.decode(clear);
    } catch (PayloadException error) {
      throw new GeneralSecurityException("the clear text is no payload", error);
    }
  }

  private Cipher cipher(int mode, byte[] nonce) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
    return cipher;
  }

  private static byte[] sum(byte[] key, byte[] of) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac.doFinal(of);
  }
}
