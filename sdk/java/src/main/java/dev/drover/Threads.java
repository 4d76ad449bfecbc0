package dev.drover;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;

/** The threads of agents and clients. None of them keeps a program alive. */
final class Threads {
  private Threads() {}

  /** Platform threads, made as they are needed. */
  static ExecutorService pool(String name) {
    return Executors.newCachedThreadPool(platform(name));
  }

  static ScheduledThreadPoolExecutor timers(String name) {
    ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(1, platform(name));
    timers.setRemoveOnCancelPolicy(true);
    timers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    return timers;
  }

  /** For handlers: virtual threads where this Java has them (21 and later). */
  static ExecutorService handlers(String name) {
    ThreadFactory virtual = virtual(name);
    return virtual == null ? pool(name) : new PerTask(virtual);
  }

  private static ThreadFactory platform(String name) {
    AtomicLong count = new AtomicLong();
    return work -> {
      Thread thread = new Thread(work, name + "-" + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Null: there are none. Called by name, because this code also runs on Java 17. */
  static ThreadFactory virtual(String name) {
    try {
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      Class<?> builder = Class.forName("java.lang.Thread$Builder");
      Class<?> ofVirtual = Class.forName("java.lang.Thread$Builder$OfVirtual");
      Object made = lookup
          .findStatic(Thread.class, "ofVirtual", MethodType.methodType(ofVirtual)).invoke();
      made = lookup
          .findVirtual(
              builder, "name", MethodType.methodType(builder, String.class, long.class))
          .invoke(made, name + "-", 1L);
      return (ThreadFactory) lookup
          .findVirtual(builder, "factory", MethodType.methodType(ThreadFactory.class))
          .invoke(made);
    } catch (ReflectiveOperationException none) {
      return null;
    } catch (Throwable error) {
      throw new IllegalStateException("virtual threads cannot be made", error);
    }
  }

  /** A thread for each task; it has none that waits, so there is nothing to shut down. */
  private static final class PerTask extends java.util.concurrent.AbstractExecutorService {
    private final ThreadFactory factory;
    private volatile boolean isShutdown;

    PerTask(ThreadFactory factory) {
      this.factory = factory;
    }

    @Override
    public void execute(Runnable work) {
      if (isShutdown) {
        throw new java.util.concurrent.RejectedExecutionException("the agent has stopped");
      }
      factory.newThread(work).start();
    }

    @Override
    public void shutdown() {
      isShutdown = true;
    }

    @Override
    public java.util.List<Runnable> shutdownNow() {
      shutdown();
      return java.util.List.of();
    }

    @Override
    public boolean isShutdown() {
      return isShutdown;
    }

    @Override
    public boolean isTerminated() {
      return isShutdown;
    }

    @Override
    public boolean awaitTermination(long timeout, java.util.concurrent.TimeUnit unit) {
      return isShutdown;
    }
  }
}
