package dev.drover;

import java.util.Objects;

/** Names a run: by the id that the server made, or by the caller's own key. */
public sealed interface RunName {
  /**
   * The id of a run, which the server made.
   *
   * @param value a UUID
   */
  record Id(String value) implements RunName {
    /**
     * Checks that there is one.
     *
     * @param value a UUID
     */
    public Id {
      Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
      return value;
    }
  }

  /**
   * The caller's own name for a run.
   *
   * @param value 1 to 256 characters
   */
  record Key(String value) implements RunName {
    /**
     * Checks that there is one.
     *
     * @param value 1 to 256 characters
     */
    public Key {
      Objects.requireNonNull(value, "value");
    }

    @Override
    public String toString() {
      return "key " + value;
    }
  }

  /**
   * Names a run by its id.
   *
   * @param id as {@link Client#schedule} returned it
   * @return the name
   */
  static RunName id(String id) {
    return new Id(id);
  }

  /**
   * Names a run by its key.
   *
   * @param key as it was given to {@link NewRun#key}
   * @return the name
   */
  static RunName key(String key) {
    return new Key(key);
  }
}
