package dev.drover;

import java.time.Duration;

/** Takes what a handler notes, until a heartbeat carries it. */
interface Notebook {
  void note(Notes added);

  /** The remaining time of lease and attempt. */
  Duration left();
}
