package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * What a loop does with each element: which operands it writes and what to. Keeps the loops made
 * for it, one for each element type and each way the operands are walked.
 *
 * <p>Threading: immutable but for the loops it keeps; two threads that need the same loop at the
 * same time may both make it, and either will do.
 */
public final class Recipe {
  /** Writes {@code value} to operand {@code operand}. */
  record Store(int operand, Expression value) {}

  /** What an element costs that is computed alone. */
  private static final int SCALAR_WEIGHT = 16;

  final int operands;

  /** How costly one element is, in additions. */
  final int weight;

  private final LoopMaker maker;
  private final AtomicReferenceArray<ElementLoop> loops;

  /** Makes the loop for an element type and a way to walk. */
  private interface LoopMaker {
    ElementLoop make(LaneType type, int singles);
  }

  private Recipe(int operands, int weight, LoopMaker maker) {
    this.operands = operands;
    this.weight = weight;
    this.maker = maker;
    this.loops = new AtomicReferenceArray<>(LaneType.values().length << operands);
  }

  private static Recipe compiled(int operands, List<Store> stores) {
    int weight = stores.stream().mapToInt(s -> s.value instanceof Formula f ? f.weight() : 1).sum();
    return new Recipe(
        operands, weight, (type, singles) -> LoopCompiler.compile(operands, stores, type, singles));
  }

  /** The last operand becomes {@code value}, computed from the {@code inputs} before it. */
  public static Recipe map(int inputs, Expression value) {
    return compiled(inputs + 1, List.of(new Store(inputs, value)));
  }

  /** Operands 0, 1, ... become these values; the operands after them are only read. */
  static Recipe update(int operands, Formula... values) {
    List<Store> stores = new ArrayList<>();
    for (int i = 0; i < values.length; i++) {
      stores.add(new Store(i, values[i]));
    }
    return compiled(operands, List.copyOf(stores));
  }

  /** The last operand becomes a function of the one or two before it, one element at a time. */
  static Recipe scalar(boolean binary, DoubleBinaryOperator real, LongBinaryOperator whole) {
    return new Recipe(
        binary ? 3 : 2,
        SCALAR_WEIGHT,
        (type, singles) ->
            Specialized.copy(
                MethodHandles.lookup(),
                ElementLoop.class,
                ScalarLoop.class,
                new ScalarLoop.Constants(type, singles, binary, real, whole)));
  }

  /**
   * The loop over elements of this type. Operand k has one element for each row instead of one for
   * each place in it if bit k of {@code singles} is set.
   */
  ElementLoop loop(LaneType type, int singles) {
    int key = (type.ordinal() << operands) | singles;
    ElementLoop loop = loops.get(key);
    if (loop == null) {
      loop = maker.make(type, singles);
      loops.set(key, loop);
    }
    return loop;
  }
}
