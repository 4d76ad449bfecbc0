package dev.drover;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;

/**
 * Calls back at SIGTERM and at an interrupt. The second one ends the process, as it would without
 * this. The class of the JDK for signals is called by name, because no module of Java SE has it.
 */
final class Signals {
  private static final String[] NAMES = {"TERM", "INT"};

  private Signals() {}

  static void onStop(Runnable callback) {
    for (String name : NAMES) {
      try {
        handle(name, callback);
      } catch (ReflectiveOperationException | IllegalArgumentException error) {
        // Not on this system, or this JDK has none: the shutdown hooks of the JVM are left.
        Runtime.getRuntime().addShutdownHook(new Thread(callback, "drover-shutdown"));
      }
    }
  }

  private static void handle(String name, Runnable callback) throws ReflectiveOperationException {
    Class<?> signalType = Class.forName("sun.misc.Signal");
    Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
    Object signal = signalType.getConstructor(String.class).newInstance(name);
    Object byDefault = handlerType.getField("SIG_DFL").get(null);
    InvocationHandler called = (proxy, method, arguments) -> {
      switch (method.getName()) {
        case "handle" -> {
          signalType.getMethod("handle", signalType, handlerType)
              .invoke(null, signal, byDefault);
          callback.run();
          return null;
        }
        case "equals" -> {
          return proxy == arguments[0];
        }
        case "hashCode" -> {
          return System.identityHashCode(proxy);
        }
        default -> {
          return "drover's handler of SIG" + name;
        }
      }
    };
    Object handler = Proxy.newProxyInstance(
        Signals.class.getClassLoader(), new Class<?>[] {handlerType}, called);
    signalType.getMethod("handle", signalType, handlerType).invoke(null, signal, handler);
  }
}
