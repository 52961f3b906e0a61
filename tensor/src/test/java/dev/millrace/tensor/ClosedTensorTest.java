package dev.millrace.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
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
