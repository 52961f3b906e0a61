package dev.millrace.tensor.math;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;

/**
 * Copies of a template class, each with constants of its own. A loop that is written once but for
 * its operation and element type reads both from {@code static final} fields that are set from
 * {@link #constants}; the compiler then treats every copy as if it had been written out by hand.
 * The copy has its own type profile, too, so what one copy meets does not slow down another.
 */
public final class Specialized {
  private Specialized() {}

  /** For the static initialiser of a template: what {@link #copy} was given. */
  public static <T> T constants(Lookup template, Class<T> type) {
    try {
      return MethodHandles.classData(template, "_", type);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * An instance of a copy of {@code template}, which must have a constructor without arguments. The
   * template itself must never be initialised, so it has no static method for others.
   *
   * @param caller the lookup of a class in the template's package, where the copy is defined
   */
  public static <T> T copy(
      Lookup caller, Class<T> type, Class<? extends T> template, Object constants) {
    String file = template.getName().substring(template.getPackageName().length() + 1) + ".class";
    try (InputStream in = template.getResourceAsStream(file)) {
      Lookup made = caller.defineHiddenClassWithClassData(in.readAllBytes(), constants, true);
      Object instance =
          made.findConstructor(made.lookupClass(), MethodType.methodType(void.class)).invoke();
      return type.cast(instance);
    } catch (IOException e) {
      throw new IllegalStateException("cannot read " + file, e);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
