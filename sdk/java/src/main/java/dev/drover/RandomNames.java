package dev.drover;

import java.math.BigInteger;
import java.security.SecureRandom;

/** The caller's own names for requests, where the caller gives none. */
final class RandomNames {
  private static final SecureRandom RANDOM = new SecureRandom();

  private RandomNames() {}

  /** 130 bits. */
  static String next() {
    return new BigInteger(130, RANDOM).toString(32);
  }
}
