package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.millrace.graph.Op;
import dev.millrace.ops.fourier.FourierOps;
import dev.millrace.ops.lookup.LookupOps;
import dev.millrace.ops.matrix.MatrixOps;
import dev.millrace.ops.random.StatelessRandomV2;
import dev.millrace.ops.scatter.ScatterOps;
import dev.millrace.ops.space.SpaceOps;
import dev.millrace.ops.text.TextOps;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The families that are loaded on demand are registered with the names of all their ops. */
class OnDemandTest {
  @Test
  void everyOpOfEveryFamilyIsFoundByItsName() {
    Stream.of(
            FourierOps.ALL,
            LookupOps.ALL,
            MatrixOps.ALL,
            ScatterOps.ALL,
            SpaceOps.ALL,
            StatelessRandomV2.ALL,
            TextOps.ALL)
        .flatMap(List::stream)
        .forEach(op -> assertNotNull(StandardOps.registry().find(op.name()), op.name()));
  }

  @Test
  void everyNameIsThatOfAnOp() {
    Set<String> names = new TreeSet<>();
    StandardOps.ON_DEMAND.forEach(family -> names.addAll(family.names()));
    Set<String> ops = new TreeSet<>();
    StandardOps.ON_DEMAND.forEach(f -> f.ops().get().stream().map(Op::name).forEach(ops::add));
    assertEquals(ops, names);
  }
}
