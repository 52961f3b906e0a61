package dev.millrace.ring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RingOpsTest {
  @Test
  void groupsOfOpsAreRunAsOneInARingToo() {
    Ranks.run(
        1,
        ring -> {
          assertFalse(StandardOps.registry().fusions().isEmpty());
          assertEquals(StandardOps.registry().fusions(), RingOps.registry(ring).fusions());
          return null;
        });
  }

  @Test
  void opsReduceGatherAndBroadcast() {
    Ranks.run(
        3,
        ring -> {
          Scope scope = Scope.of(RingOps.newGraph(ring));
          int r = ring.rank();
          Output x = Const.of(scope, Tensor.vector(r + 1f, 10f * r));
          Output rows = Const.of(scope, Tensor.vector(new int[r + 1]));
          try (Session session = new LocalSession(scope.graph())) {
            List<Tensor> seen =
                session.run(
                    Map.of(),
                    List.of(
                        RingOps.allReduce(scope, x, ReduceOp.SUM),
                        RingOps.allReduce(scope, x, ReduceOp.AVERAGE),
                        RingOps.allReduce(scope, x, ReduceOp.MAX),
                        RingOps.broadcast(scope, x, 2),
                        RingOps.allGather(scope, rows)),
                    List.of());
            assertArrayEquals(new float[] {6, 30}, seen.get(0).toFloats());
            assertArrayEquals(new float[] {2, 10}, seen.get(1).toFloats());
            assertArrayEquals(new float[] {3, 20}, seen.get(2).toFloats());
            assertArrayEquals(new float[] {3, 20}, seen.get(3).toFloats());
            assertEquals(6, seen.get(4).elements());
          }
          return null;
        });
  }

  @Test
  void horovodsSumWithAFactorIsAnAverage() {
    Ranks.run(
        2,
        ring -> {
          Scope scope = Scope.of(RingOps.newGraph(ring));
          Output mean =
              scope
                  .node("HorovodAllreduce")
                  .input(Const.of(scope, 2f + 2 * ring.rank()))
                  .attr("reduce_op", 1)
                  .attr("postscale_factor", .5f)
                  .add()
                  .output();
          try (Session session = new LocalSession(scope.graph())) {
            assertEquals(3f, session.fetch(mean).floatValue());
          }
          return null;
        });
  }

  /** Both are large enough to be made where they are reduced; only one may be overwritten there. */
  @Test
  void aValueThatIsAlsoReadElsewhereIsNotOverwritten() {
    int n = 300_000;
    Ranks.run(
        2,
        ring -> {
          Scope scope = Scope.of(RingOps.newGraph(ring));
          Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(n));
          Output alone = Arithmetic.mul(scope, x, x);
          Output read = Arithmetic.add(scope, x, x);
          List<Output> fetched =
              List.of(
                  RingOps.reduceInSequence(scope, alone, ReduceOp.AVERAGE, "s", 0, 2),
                  RingOps.reduceInSequence(scope, read, ReduceOp.AVERAGE, "s", 1, 2),
                  read);
          try (Session session = new LocalSession(scope.graph());
              Tensor own = Tensor.allocate(DType.FLOAT, Shape.of(n))) {
            for (int step = 1; step <= 3; step++) {
              own.setDouble(n - 1, step + 2 * ring.rank());
              List<Tensor> seen = session.run(Map.of(x, own), fetched, List.of());
              assertEquals((step * step + (step + 2) * (step + 2)) / 2.0, last(seen.get(0)));
              assertEquals(2 * (step + 1), last(seen.get(1)));
              assertEquals(2 * (step + 2 * ring.rank()), last(seen.get(2)));
              assertEquals(step + 2 * ring.rank(), last(own));
              seen.forEach(Tensor::close);
            }
          }
          return null;
        });
  }

  private static double last(Tensor t) {
    return t.doubleAt(t.elements() - 1);
  }

  @Test
  void aStepThatIsCancelledDoesNotWaitForOtherRanks() {
    Ranks.run(
        2,
        ring -> {
          Scope scope = Scope.of(RingOps.newGraph(ring));
          Output sum = RingOps.allReduce(scope, Const.of(scope, 1f), ReduceOp.SUM);
          if (ring.rank() == 0) {
            try (Session session = new LocalSession(scope.graph())) {
              RunOptions brief = RunOptions.DEFAULT.withTimeout(Duration.ofMillis(200));
              long start = System.nanoTime();
              MillraceException e =
                  assertThrows(
                      MillraceException.class,
                      () -> session.run(Map.of(), List.of(sum), List.of(), brief));
              assertEquals(Code.DEADLINE_EXCEEDED, e.code());
              assertTrue(System.nanoTime() - start < 20_000_000_000L);
            }
          }
          ring.barrier("after it");
          return null;
        });
  }
}
