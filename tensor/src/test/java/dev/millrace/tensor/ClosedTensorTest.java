package dev.millrace.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** A tensor that was closed can neither be used nor show what is in its memory now. */
class ClosedTensorTest {
  /** What may be asked of a closed tensor. */
  private static final Set<String> ALLOWED = Set.of("close", "isClosed", "toString");

  private static List<Tensor> open() {
    List<Tensor> all = new ArrayList<>();
    for (DType t : DType.values()) {
      if (t.isPlain()) {
        all.add(Tensor.allocate(t, Shape.of(1)));
        all.add(Tensor.allocate(t, Shape.of(2, 3)));
        all.add(Tensor.allocate(t, Shape.of(0)));
      }
    }
    all.add(Tensor.scalar("text"));
    all.add(Tensor.vector("a", "b"));
    all.add(Tensor.ofObjects(DType.RESOURCE, Shape.of(1), new Object[] {"handle"}));
    all.add(Tensor.ofObjects(DType.VARIANT, Shape.of(1), new Object[1]));
    all.add(Tensor.vector(1f, 2f).reshaped(Shape.of(2, 1)));
    all.add(Tensor.vector(1f, 2f).bitcast(DType.INT32));
    all.add(Tensor.vector(1f, 2f).copy());
    all.add(Refs.handle(Refs.allocate(DType.FLOAT, Shape.scalar()), "loss:0"));
    return all;
  }

  private static Object argument(Class<?> type) {
    if (type == long.class) {
      return 0L;
    }
    if (type == double.class) {
      return 0.0;
    }
    if (type == Shape.class) {
      return Shape.of(1);
    }
    if (type == DType.class) {
      return DType.FLOAT;
    }
    throw new AssertionError("give this test an argument of type " + type);
  }

  private static void assertRefused(Tensor t, Method m) throws IllegalAccessException {
    Object[] arguments = new Object[m.getParameterCount()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = argument(m.getParameterTypes()[i]);
    }
    try {
      Object got = m.invoke(t, arguments);
      throw new AssertionError(m + " of " + t + " gave " + got);
    } catch (InvocationTargetException e) {
      assertEquals(ClosedTensorException.class, e.getCause().getClass(), () -> m + " of " + t);
      String message = e.getCause().getMessage();
      assertTrue(message.contains("after it was closed"), message);
      assertTrue(message.contains(t.description()), message);
    }
  }

  @Test
  void everyPublicMethodRefusesAClosedTensor() throws IllegalAccessException {
    int methods = 0;
    List<Tensor> closed = open();
    closed.forEach(Tensor::close);
    for (Method m : Tensor.class.getMethods()) {
      if (m.getDeclaringClass() == Tensor.class
          && !Modifier.isStatic(m.getModifiers())
          && !ALLOWED.contains(m.getName())) {
        methods++;
        for (Tensor t : closed) {
          assertRefused(t, m);
        }
      }
    }
    assertTrue(methods >= 25, "found " + methods + " methods");
  }

  @Test
  void theEngineRefusesAClosedTensor() {
    for (Tensor t : open()) {
      t.close();
      assertThrows(ClosedTensorException.class, () -> Refs.retain(t));
      assertThrows(ClosedTensorException.class, () -> Refs.counted(t));
      assertThrows(ClosedTensorException.class, () -> Refs.constant(t));
      assertThrows(ClosedTensorException.class, () -> Refs.copy(t));
      assertThrows(ClosedTensorException.class, () -> Refs.reshaped(t, Shape.of(1)));
      assertThrows(ClosedTensorException.class, () -> Refs.retainAll(new Tensor[] {t}));
      assertThrows(IllegalStateException.class, () -> Refs.release(t));
      assertThrows(IllegalStateException.class, () -> Refs.handle(t));
    }
  }

  @Test
  void aClosedTensorSaysSo() {
    for (Tensor t : open()) {
      assertFalse(t.isClosed());
      t.close();
      t.close();
      assertTrue(t.isClosed());
      assertEquals(t.description() + " (closed)", t.toString());
    }
    Tensor named = Refs.handle(Refs.allocate(DType.FLOAT, Shape.of(3)), "loss:0");
    named.close();
    ClosedTensorException e = assertThrows(ClosedTensorException.class, named::toFloats);
    assertTrue(e.getMessage().contains("float[3] 'loss:0'"), e.getMessage());
  }

  @Test
  void theNextTensorInTheMemoryIsNotShown() {
    Tensor closed = Tensor.vector(1f, 2f);
    long address = closed.data().address();
    closed.close();
    Tensor next = Tensor.vector(3f, 4f);
    for (int i = 0; i < 100 && next.data().address() != address; i++) {
      next = Tensor.vector(3f, 4f);
    }
    assertEquals(address, next.data().address(), "the pool gives the memory out again");
    assertThrows(ClosedTensorException.class, closed::toFloats);
    assertThrows(ClosedTensorException.class, () -> Refs.retain(closed));
    closed.close();
    assertArrayEquals(new float[] {3, 4}, next.toFloats());
  }

  @Test
  void theSegmentOfAClosedTensorCannotBeAccessed() {
    Tensor t = Tensor.vector(1f, 2f);
    MemorySegment data = t.data();
    MemorySegment second = data.asSlice(4);
    assertEquals(1f, data.get(ElementAccess.F32, 0));
    assertEquals(2f, second.get(ElementAccess.F32, 0));
    t.close();
    assertThrows(IllegalStateException.class, () -> data.get(ElementAccess.F32, 0));
    assertThrows(IllegalStateException.class, () -> second.set(ElementAccess.F32, 0, 5f));
    assertThrows(IllegalStateException.class, () -> data.fill((byte) 0));
  }

  @Test
  void theSegmentOfOneHandleEndsWithThatHandle() {
    Tensor t = Tensor.vector(1f, 2f);
    Tensor other = t.reshaped(Shape.of(2, 1));
    MemorySegment data = t.data();
    MemorySegment same = other.data();
    t.close();
    assertThrows(IllegalStateException.class, () -> data.get(ElementAccess.F32, 0));
    assertEquals(2f, same.get(ElementAccess.F32, 4));
    other.close();
    assertThrows(IllegalStateException.class, () -> same.get(ElementAccess.F32, 4));
  }

  @Test
  void theSegmentKeepsTheMemoryOfAForgottenTensor() {
    Tensor[] t = {Tensor.vector(1f, 2f)};
    Buffer buffer = Refs.buffer(t[0]);
    MemorySegment[] data = {t[0].data()};
    WeakReference<Tensor> handle = new WeakReference<>(t[0]);
    t[0] = null;
    awaitGarbage(() -> handle.get() == null);
    // The cleaner runs its actions one after the other: the handle's is done when this one's is.
    Buffer later = Refs.buffer(Tensor.vector(3f));
    awaitGarbage(() -> later.references() == 0);
    assertEquals(1, buffer.references());
    assertEquals(2f, data[0].get(ElementAccess.F32, 4));
    data[0] = null;
    awaitGarbage(() -> buffer.references() == 0);
  }

  /** The C library's sort calls back, and that closes the tensor it sorts. */
  @Test
  void memoryThatANativeCallUsesIsKept() throws Throwable {
    Tensor t = Tensor.vector(3, 1, 2);
    Buffer buffer = Refs.buffer(t);
    MemorySegment[] data = {t.data()};
    sortAndClose(t, data[0]);
    assertTrue(t.isClosed());
    assertEquals(1, buffer.references());
    assertArrayEquals(new int[] {1, 2, 3}, data[0].toArray(ElementAccess.I32));
    data[0] = null;
    awaitGarbage(() -> buffer.references() == 0);
  }

  private static void sortAndClose(Tensor t, MemorySegment data) throws Throwable {
    Linker linker = Linker.nativeLinker();
    ValueLayout.OfLong size = ValueLayout.JAVA_LONG;
    MethodHandle sort =
        linker.downcallHandle(
            linker.defaultLookup().find("qsort").orElseThrow(),
            FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, size, size, ValueLayout.ADDRESS));
    MethodHandle compare =
        MethodHandles.lookup()
            .findStatic(
                ClosedTensorTest.class,
                "closeAndCompare",
                MethodType.methodType(
                    int.class, Tensor.class, MemorySegment.class, MemorySegment.class))
            .bindTo(t);
    try (Arena arena = Arena.ofConfined()) {
      AddressLayout number = ValueLayout.ADDRESS.withTargetLayout(ValueLayout.JAVA_INT);
      MemorySegment callback =
          linker.upcallStub(
              compare, FunctionDescriptor.of(ValueLayout.JAVA_INT, number, number), arena);
      sort.invokeExact(data, 3L, 4L, callback);
    }
  }

  static int closeAndCompare(Tensor sorted, MemorySegment a, MemorySegment b) {
    sorted.close();
    return Integer.compare(a.get(ValueLayout.JAVA_INT, 0), b.get(ValueLayout.JAVA_INT, 0));
  }

  private static void awaitGarbage(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean() && System.nanoTime() < deadline) {
      System.gc();
      Thread.yield();
    }
    assertTrue(condition.getAsBoolean(), "the garbage collector did not come to it");
  }

  @Test
  void theEngineKeepsWhatItRetained() {
    Tensor t = Tensor.vector(1f, 2f);
    Tensor held = Refs.retain(t);
    t.close();
    assertThrows(ClosedTensorException.class, t::toFloats);
    assertArrayEquals(new float[] {1, 2}, held.toFloats());
    Refs.release(held);
    assertTrue(held.isClosed());
    assertThrows(IllegalStateException.class, held::data);
    assertThrows(IllegalStateException.class, () -> Refs.retain(held));
    assertThrows(IllegalStateException.class, () -> Refs.release(held));
  }

  @Test
  void aCountedTensorIsReleasedAndNotClosed() {
    Tensor counted = Refs.allocate(DType.FLOAT, Shape.of(2));
    assertThrows(IllegalStateException.class, counted::close);
    Refs.release(counted);
  }

  /** Readers race with the thread that closes; none may see the values of another tensor. */
  @Test
  void readersThatRaceWithCloseSeeTheirOwnValuesOrFail() throws InterruptedException {
    for (int round = 0; round < 300; round++) {
      Tensor t = Tensor.vector(1f, 1f, 1f, 1f);
      CountDownLatch started = new CountDownLatch(2);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> readers = new ArrayList<>();
      for (int k = 0; k < 2; k++) {
        readers.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      started.countDown();
                      try {
                        while (true) {
                          Tensor held = Refs.retain(t);
                          assertArrayEquals(new float[] {1, 1, 1, 1}, held.toFloats());
                          Refs.release(held);
                          assertArrayEquals(new float[] {1, 1, 1, 1}, t.toFloats());
                        }
                      } catch (ClosedTensorException expected) {
                        // The other thread was quicker.
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    }));
      }
      started.await();
      t.close();
      Tensor.vector(2f, 2f, 2f, 2f).close();
      for (Thread r : readers) {
        r.join();
      }
      assertEquals(null, failure.get());
    }
  }
}
