package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.Tensor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A closed tensor is refused by every operation of a ring, whose memory another one may have. */
class ClosedRingInputTest {
  private static Tensor closed() {
    Tensor t = Tensor.vector(1f, 2f);
    t.close();
    return t;
  }

  /** An argument for a parameter of an operation. */
  private static Object argument(Method m, Parameter p) {
    if (p.getType() == Tensor.class) {
      return closed();
    }
    if (p.getType() == List.class) {
      return List.of(closed());
    }
    if (p.getType() == String.class) {
      return m.getName();
    }
    if (p.getType() == ReduceOp.class) {
      return ReduceOp.SUM;
    }
    if (p.getType() == int.class) {
      return 0;
    }
    assertEquals(long[].class, p.getType(), () -> "a new kind of parameter of " + m);
    return new long[] {2};
  }

  private static boolean takesTensors(Method m) {
    for (Parameter p : m.getParameters()) {
      if (p.getType() == Tensor.class
          || p.getParameterizedType() instanceof ParameterizedType list
              && list.getActualTypeArguments()[0] == Tensor.class) {
        return true;
      }
    }
    return false;
  }

  @Test
  void everyOperationRefusesIt() throws Exception {
    List<String> accepted = new ArrayList<>();
    int tried = 0;
    try (Ring ring = Ring.init(Settings.of(RankConfig.alone()))) {
      for (Method m : Ring.class.getMethods()) {
        if (!takesTensors(m)) {
          continue;
        }
        tried++;
        List<Object> arguments = new ArrayList<>();
        for (Parameter p : m.getParameters()) {
          arguments.add(argument(m, p));
        }
        try {
          if (m.invoke(ring, arguments.toArray()) instanceof CompletableFuture<?> f) {
            f.get(20, TimeUnit.SECONDS);
          }
          accepted.add(m.getName());
        } catch (InvocationTargetException | java.util.concurrent.ExecutionException e) {
          String message = String.valueOf(e.getCause().getMessage());
          assertTrue(message.contains("after it was closed"), () -> m.getName() + ": " + message);
        }
      }
    }
    assertEquals(List.of(), accepted);
    assertTrue(tried >= 16, "operations found: " + tried);
  }
}
