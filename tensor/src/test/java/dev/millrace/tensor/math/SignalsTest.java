package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.Conv2D;
import dev.millrace.tensor.math.conv.Window;
import dev.millrace.tensor.math.gemm.Gemm;
import dev.millrace.tensor.math.gemm.VectorGemm;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Profilers sample threads by signals, and a SIGTERM goes to any thread: neither may disturb what
 * native code computes. Where it does, this test ends with wrong products or a crash.
 */
class SignalsTest {
  /** A real-time signal that nobody else uses. */
  private static final int SIGNAL = 44;

  private static final int PRODUCTS = 400;
  private static final int CONVOLUTIONS = 40;

  private static final Linker LINKER = Linker.nativeLinker();

  private static MethodHandle function(String name, FunctionDescriptor type) {
    return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type);
  }

  private static void handleByDoingNothing() throws Throwable {
    MemorySegment harmless = LINKER.defaultLookup().find("abs").orElseThrow();
    MethodHandle signal =
        function(
            "signal",
            FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
    MemorySegment before = (MemorySegment) signal.invokeExact(SIGNAL, harmless);
    assertTrue(before.address() != -1);
  }

  /** Work to be done while signals arrive. */
  private interface Work {
    void run() throws Throwable;
  }

  private static void underSignals(Work work) throws Throwable {
    assumeTrue(System.getProperty("os.name").equals("Linux"));
    handleByDoingNothing();
    long thread =
        (long) function("pthread_self", FunctionDescriptor.of(ValueLayout.JAVA_LONG)).invokeExact();
    MethodHandle kill =
        function(
            "pthread_kill",
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    AtomicBoolean done = new AtomicBoolean();
    AtomicInteger sent = new AtomicInteger();
    Thread profiler =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!done.get()) {
                    try {
                      assertEquals(0, (int) kill.invokeExact(thread, SIGNAL));
                    } catch (Throwable t) {
                      throw new AssertionError(t);
                    }
                    sent.incrementAndGet();
                    LockSupport.parkNanos(100_000);
                  }
                });
    try {
      // The sender may get little CPU time: the work goes on until enough signals were sent.
      do {
        work.run();
      } while (sent.get() <= 100);
    } finally {
      done.set(true);
      profiler.join();
    }
  }

  @EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
  @Test
  void productsSurviveSignals() throws Throwable {
    underSignals(
        () -> {
          multiply(false, false, 100, 512, 784);
          multiply(true, false, 784, 512, 100);
          multiply(false, true, 100, 784, 512);
          multiply(false, true, 100, 512, 10);
        });
  }

  @Test
  void convolutionsSurviveSignals() throws Throwable {
    Window window = Window.same(14, 5, 1, 1);
    Conv2D conv = new Conv2D(DType.FLOAT, 4, 14, 14, 32, 64, window, window);
    Random random = new Random(3);
    Tensor input = integers(random, 4 * 14 * 14 * 32);
    Tensor filter = integers(random, 5 * 5 * 32 * 64);
    Tensor output = integers(random, 4 * 14 * 14 * 64);
    List<Tensor> results = new ArrayList<>();
    for (Tensor like : new Tensor[] {input, filter, output, input, filter, output}) {
      results.add(Tensor.allocate(DType.FLOAT, like.shape()));
    }
    convolve(conv, input, filter, output, results.subList(0, 3));
    underSignals(
        () -> {
          for (int i = 0; i < CONVOLUTIONS; i++) {
            convolve(conv, input, filter, output, results.subList(3, 6));
            for (int j = 0; j < 3; j++) {
              assertEquals(-1, results.get(j).data().mismatch(results.get(j + 3).data()));
            }
          }
        });
  }

  private static void convolve(
      Conv2D conv, Tensor input, Tensor filter, Tensor output, List<Tensor> results) {
    conv.backwardInput(results.get(0).data(), filter.data(), output.data());
    conv.backwardFilter(input.data(), results.get(1).data(), output.data());
    conv.forward(input.data(), filter.data(), results.get(2).data());
  }

  private static void multiply(boolean transA, boolean transB, int m, int n, int k) {
    Random random = new Random(m);
    Tensor a = integers(random, m * k);
    Tensor b = integers(random, k * n);
    Tensor expected = Tensor.allocate(DType.FLOAT, Shape.of(m, n));
    Gemm product = Gemm.of(DType.FLOAT, transA, transB, m, n, k);
    VectorGemm.multiply(product, a.data(), b.data(), expected.data(), false, 0, m, 0, n);
    Tensor found = Tensor.allocate(DType.FLOAT, Shape.of(m, n));
    for (int i = 0; i < PRODUCTS; i++) {
      product.multiply(a.data(), b.data(), found.data(), false, false);
      assertEquals(-1, expected.data().mismatch(found.data()), "product " + i);
    }
    for (Tensor t : new Tensor[] {a, b, expected, found}) {
      t.close();
    }
  }

  /** Small integers, whose sums of products are exact in any order. */
  private static Tensor integers(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(-4, 5);
    }
    return Tensor.of(Shape.of(count), values);
  }
}
