package dev.millrace.train;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.tensor.Shape;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.function.ToLongFunction;

/** Which parameter server gets the next variable. Asked once per variable, in order of creation. */
@FunctionalInterface
public interface PsStrategy {
  /** The task that is to hold {@code variable}. */
  int taskFor(NodeBuilder variable);

  /** Each task in turn. */
  static PsStrategy roundRobin(int tasks) {
    int[] next = {0};
    return variable -> next[0]++ % tasks;
  }

  /** The task with the fewest bytes so far. */
  static PsStrategy byBytes(int tasks) {
    return greedy(tasks, PsStrategy::bytes);
  }

  /** The task with the least load so far, the first of several; {@code load} is a variable's. */
  static PsStrategy greedy(int tasks, ToLongFunction<NodeBuilder> load) {
    long[] loads = new long[tasks];
    return variable -> {
      int least = 0;
      for (int i = 1; i < tasks; i++) {
        least = loads[i] < loads[least] ? i : least;
      }
      loads[least] += load.applyAsLong(variable);
      return least;
    };
  }

  /** A task that follows from the variable's name, so adding one variable moves no other. */
  static PsStrategy byName(int tasks, long seed) {
    return variable -> {
      try {
        byte[] digest =
            MessageDigest.getInstance("MD5")
                .digest((variable.name() + "_" + seed).getBytes(StandardCharsets.UTF_8));
        return new BigInteger(1, digest).mod(BigInteger.valueOf(tasks)).intValue();
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException(e);
      }
    };
  }

  /** Bytes of the variable's value, from its shape and type attributes. */
  private static long bytes(NodeBuilder variable) {
    if (variable.attr("shape") instanceof AttrValue.Dims(Shape shape)
        && variable.attr("dtype") instanceof AttrValue.Type type
        && shape.isKnown()) {
      return shape.elements() * type.value().bytes();
    }
    throw MillraceException.invalid(
        "%s '%s' cannot be placed by its size: its shape (%s) is not known.",
        variable.op().name(), variable.name(), variable.attr("shape"));
  }
}
