package dev.drover;

import java.nio.charset.StandardCharsets;

/** Texts that the server accepts, made of texts from anywhere: they must not cost a report. */
final class TidyText {
  private static final int CODE_LENGTH_MAX = 128;
  private static final int MESSAGE_LENGTH_MAX = 4_096;

  private TidyText() {}

  static String code(String code) {
    String tidy = code.replaceAll("[^A-Za-z0-9._-]", "-");
    if (tidy.startsWith("drover.")) {
      tidy = "drover-" + tidy.substring("drover.".length());
    }
    if (tidy.isEmpty()) {
      return "error";
    }
    return tidy.substring(0, Math.min(tidy.length(), CODE_LENGTH_MAX));
  }

  static String message(String message) {
    return text(message, MESSAGE_LENGTH_MAX);
  }

  /** Without NUL and halves of surrogate pairs, of at most so many characters. */
  static String text(String text, int lengthMax) {
    StringBuilder tidy = new StringBuilder(Math.min(text.length(), lengthMax));
    text.codePoints()
        .limit(lengthMax)
        .map(TidyText::tidyCharacter)
        .forEachOrdered(tidy::appendCodePoint);
    return tidy.toString();
  }

  private static int tidyCharacter(int character) {
    if (character == 0) {
      return ' ';
    }
    boolean isHalf = character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE;
    return isHalf ? 0xFFFD : character;
  }

  /** As text, and of at most so many bytes. */
  static String bytes(String text, int bytesMax) {
    String tidy = text(text, bytesMax);
    while (tidy.getBytes(StandardCharsets.UTF_8).length > bytesMax) {
      tidy = tidy.substring(0, tidy.offsetByCodePoints(tidy.length(), -1));
    }
    return tidy;
  }
}
