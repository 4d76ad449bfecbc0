package dev.drover;

import dev.drover.v1.Payload;

/**
 * Progress and details of a handler that the server has not yet stored.
 *
 * @param progress null: none
 * @param details null: none
 */
record Notes(dev.drover.v1.Progress progress, Payload details) {
  static final Notes NONE = new Notes(null, null);

  boolean isEmpty() {
    return progress == null && details == null;
  }
}
