package dev.drover;

import java.security.GeneralSecurityException;

/**
 * Encodes payloads, so that the server never sees the clear text: it encrypts or compresses them.
 * Clients and agents of a namespace use the same codec. {@link AesGcmCodec} is one.
 *
 * <p>It applies to the payloads that programs send and receive: inputs of runs, outputs, details,
 * payloads of signals and of deferred outcomes. Payloads that the server must read are not encoded:
 * definitions, triggers, and the forms of decisions. For an expression an encoded payload is only
 * bytes, so a step whose input is made of expressions needs its own way to the clear text.
 */
public interface Codec {
  /**
   * Encodes a payload.
   *
   * @param payload the clear payload
   * @return the payload to send
   * @throws GeneralSecurityException if it cannot be encoded
   */
  Payload encode(Payload payload) throws GeneralSecurityException;

  /**
   * Undoes {@link #encode}.
   *
   * @param payload may be one that encode did not make: the content type shows the difference
   * @return the clear payload; one that encode did not make is returned unchanged
   * @throws GeneralSecurityException if it cannot be decoded
   */
  Payload decode(Payload payload) throws GeneralSecurityException;
}
