package dev.drover;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * Tells one handler that it must stop: by an interrupt of its thread, and by callbacks. The first
 * reason stays.
 */
final class StopSignal {
  private final Executor callbacks;
  private final List<Runnable> waiting = new ArrayList<>();
  private StopReason reason;
  private Thread thread;

  StopSignal(Executor callbacks) {
    this.callbacks = callbacks;
  }

  /** Null: it need not stop. */
  synchronized StopReason reason() {
    return reason;
  }

  /** False: there was a reason before. */
  synchronized boolean stop(StopReason why) {
    if (reason != null) {
      return false;
    }
    reason = why;
    if (thread != null) {
      thread.interrupt();
    }
    waiting.forEach(callbacks::execute);
    waiting.clear();
    return true;
  }

  /** The handler runs in this thread from now on. */
  synchronized void enter() {
    thread = Thread.currentThread();
    if (reason != null) {
      thread.interrupt();
    }
  }

  /** The handler has left its thread, whose next work must not be interrupted. */
  synchronized void leave() {
    thread = null;
    waiting.clear();
    Thread.interrupted();
  }

  synchronized void onStop(Runnable callback) {
    if (reason == null) {
      waiting.add(callback);
    } else {
      callbacks.execute(callback);
    }
  }
}
