package dev.millrace.base.leak;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Knows whether a resource is held, and since which place in the program; outlives the resource. A
 * resource that a pool reuses is taken and released many times.
 *
 * <p>Threading: whoever takes or releases the resource; the garbage collector's find comes after.
 */
public final class Watch extends PhantomReference<Object> {
  private volatile @Nullable TakenHere place;
  private volatile boolean held;
  private volatile @Nullable Owner owner;
  private volatile Supplier<String> description = () -> "A resource";

  Watch(Object resource, ReferenceQueue<Object> dropped) {
    super(resource, dropped);
  }

  /** The resource is held from here on. */
  public void taken() {
    place = LeakCheck.place();
    owner = Owner.current();
    held = true;
  }

  /** What findings call the resource; must not refer to it. */
  public void describe(Supplier<String> what) {
    description = what;
  }

  /** The last reference to the resource was released. */
  public void released() {
    held = false;
  }

  /** What is wrong if the resource is unreachable now; null if nothing is. */
  @Nullable AssertionError leak() {
    Owner by = owner;
    return held && (by == null || !by.isGone())
        ? finding("was dropped without being released")
        : null;
  }

  /** An error about the resource that names the place where it was last taken. */
  public AssertionError finding(String what) {
    AssertionError e = new AssertionError(description.get() + " " + what + ".", place);
    // Where it was found says nothing; the place does.
    e.setStackTrace(new StackTraceElement[0]);
    return e;
  }
}
