package dev.drover;

/**
 * What {@link Agent#run()} and {@link Agent#awaitStopped()} throw after a handler has ignored for
 * too long that it must stop. The agent cannot end the handler's thread, so the program should end,
 * with an exit code that is not 0, so that its process manager can start it again.
 */
public final class HandlerLostException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  HandlerLostException() {
    super("a handler did not end although it had to stop; end this process");
  }
}
