package dev.millrace.train.job;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/**
 * SIGTERM, apart from the other ways to end a process: a shutdown hook cannot tell it from Ctrl-C,
 * by which a person means this process alone. Called by reflection, as the compiler warns of the
 * class without a way to accept it; it is in {@code jdk.unsupported}, which every JDK has.
 */
final class TerminateSignal {
  private TerminateSignal() {}

  /**
   * Has {@code action} run, on a thread of its own, each time the signal comes, instead of ending
   * the process. Returns false where there is no such signal.
   */
  static boolean handle(Runnable action) {
    return handle("TERM", action);
  }

  /** Has {@code action} run each time the signal of Ctrl-C comes; false where there is none. */
  static boolean handleInterrupt(Runnable action) {
    return handle("INT", action);
  }

  private static boolean handle(String name, Runnable action) {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object handling =
          Proxy.newProxyInstance(
              handler.getClassLoader(),
              new Class<?>[] {handler},
              (self, method, arguments) ->
                  switch (method.getName()) {
                    case "handle" -> {
                      action.run();
                      yield null;
                    }
                    case "equals" -> self == arguments[0];
                    case "hashCode" -> System.identityHashCode(self);
                    default -> "handler of SIG" + name;
                  });
      signal.getMethod("handle", signal, handler).invoke(null, named(signal, name), handling);
      return true;
    } catch (InvocationTargetException e) {
      // Taken already by the JVM (-Xrs), or unknown to this system.
      return false;
    } catch (ReflectiveOperationException e) {
      return false;
    }
  }

  /** Has this process see the signal as if it had been sent; false where there is none. */
  static boolean raise() {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      signal.getMethod("raise", signal).invoke(null, named(signal, "TERM"));
      return true;
    } catch (ReflectiveOperationException e) {
      return false;
    }
  }

  private static Object named(Class<?> signal, String name) throws ReflectiveOperationException {
    return signal.getConstructor(String.class).newInstance(name);
  }
}
