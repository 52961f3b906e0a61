package dev.millrace.ops.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignVariable;
import dev.millrace.ops.state.ReadVariable;
import dev.millrace.ops.state.VarHandle;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every update against what TensorFlow 2.21 makes of the same numbers ({@code updates.txt}). */
class UpdateOpsTest {
  private static final Map<String, Double> SCALARS =
      Map.ofEntries(
          Map.entry("lr", .125),
          Map.entry("alpha", .25),
          Map.entry("rho", .875),
          Map.entry("momentum", .75),
          Map.entry("epsilon", .0625),
          Map.entry("beta1", .75),
          Map.entry("beta2", .9375),
          Map.entry("beta1_power", .5),
          Map.entry("beta2_power", .875),
          Map.entry("l1", .375),
          Map.entry("l2", .125),
          Map.entry("l2_shrinkage", .0625),
          Map.entry("logbase", 1.),
          Map.entry("sign_decay", .5),
          Map.entry("beta", .5));
  private static final Set<String> POSITIVE =
      Set.of("accum", "v", "vhat", "ms", "accum_update", "gradient_squared_accumulator");
  private static final Set<String> FLAGS =
      Set.of("use_nesterov", "update_slots", "multiply_linear_by_lr");

  private record Case(String op, String flag, double power, List<double[]> expected) {
    boolean isSparse() {
      return op.contains("Sparse");
    }

    int size() {
      return isSparse() ? 3 * 17 : 19;
    }

    Shape shape() {
      return isSparse() ? Shape.of(3, 17) : Shape.of(19);
    }
  }

  @TestFactory
  Stream<DynamicTest> updatesAgreeWithTensorFlow() throws IOException {
    return cases().stream()
        .flatMap(
            c ->
                Stream.of("", "Resource")
                    .map(prefix -> prefix + c.op().substring("Resource".length()))
                    .filter(op -> StandardOps.registry().find(op) != null)
                    .map(
                        op ->
                            DynamicTest.dynamicTest(
                                op + " " + c.flag() + " " + c.power(),
                                () -> {
                                  check(c, op, DType.FLOAT, 2e-6);
                                  check(c, op, DType.DOUBLE, 2e-6);
                                  check(c, op, DType.HALF, 1e-2);
                                })));
  }

  @Test
  void everyUpdateHasACase() throws IOException {
    Set<String> covered = new HashSet<>();
    cases().forEach(c -> covered.add(c.op().substring("Resource".length())));
    for (Op op : TrainOps.ALL) {
      assertTrue(covered.contains(op.name().replace("Resource", "")), op.name());
    }
  }

  private static void check(Case c, String name, DType type, double tolerance) {
    try (TinySession session = new TinySession()) {
      check(session, c, name, type, tolerance);
    }
  }

  private static void check(
      TinySession session, Case c, String name, DType type, double tolerance) {
    Scope scope = session.scope();
    Op op = StandardOps.registry().find(name);
    NodeBuilder b = scope.node(op);
    List<Output> state = new ArrayList<>();
    for (int j = 0; j < op.inputs().size(); j++) {
      String arg = op.inputs().get(j).name();
      if (j < c.expected().size()) {
        Output v = variable(session, name, c.shape(), values(arg, j, c.size(), type));
        state.add(v);
        b.input(v);
      } else if (arg.equals("grad") || arg.equals("delta")) {
        b.input(session.constant(values(arg, j, c.size(), type).reshaped(c.shape())));
      } else {
        b.input(session.constant(value(c, arg, type)));
      }
    }
    op.attrs().keySet().stream()
        .filter(FLAGS::contains)
        .forEach(a -> b.attr(a, Boolean.parseBoolean(c.flag())));
    b.attr("T", type);
    Node update = b.add();
    session.run(update);
    session.run(update);
    for (int k = 0; k < state.size(); k++) {
      double[] expected = c.expected().get(k);
      double[] found = read(session, state.get(k), type).toDoubles();
      for (int i = 0; i < expected.length; i++) {
        double scale = Math.max(1, Math.abs(expected[i]));
        assertEquals(
            expected[i],
            found[i],
            tolerance * scale,
            name + " " + type + ", " + op.inputs().get(k).name() + "[" + i + "]");
      }
    }
  }

  private static Output variable(TinySession session, String op, Shape shape, Tensor values) {
    Scope scope = session.scope();
    Output value = session.constant(values.reshaped(shape));
    if (op.startsWith("Resource")) {
      Output v = VarHandle.of(scope, values.dtype(), shape);
      session.run(AssignVariable.of(scope, v, value));
      return v;
    }
    Output v = VariableV2.of(scope, values.dtype(), shape);
    session.run(Assign.of(scope, v, value));
    return v;
  }

  private static Tensor read(TinySession session, Output v, DType type) {
    return session.fetch(v.isRef() ? v : ReadVariable.of(session.scope(), v, type));
  }

  private static Tensor value(Case c, String arg, DType type) {
    return switch (arg) {
      case "indices" -> Tensor.vector(2, 0, 2);
      case "global_step" -> Tensor.scalar(3L);
      default -> {
        Tensor t = Tensor.allocate(type, Shape.scalar());
        t.setDouble(0, arg.equals("lr_power") ? c.power() : SCALARS.get(arg));
        yield t;
      }
    };
  }

  private static Tensor values(String arg, int j, int n, DType type) {
    Tensor t = Tensor.allocate(type, Shape.of(n));
    for (int i = 0; i < n; i++) {
      int signed = (i * 37 + j * 101 + 13) % 201 - 100;
      t.setDouble(
          i,
          POSITIVE.contains(arg)
              ? ((i * 29 + j * 53) % 97 + 3) / 64.
              : signed / (arg.equals("mg") ? 512. : 64.));
    }
    return t;
  }

  private static List<Case> cases() throws IOException {
    List<String> lines;
    try (InputStream in = UpdateOpsTest.class.getResourceAsStream("updates.txt")) {
      lines = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
    List<Case> cases = new ArrayList<>();
    for (Iterator<String> it = lines.iterator(); it.hasNext(); ) {
      String line = it.next();
      if (line.startsWith("R")) {
        String[] head = line.split(" ");
        cases.add(new Case(head[0], head[1], Double.parseDouble(head[2]), new ArrayList<>()));
      } else if (!line.startsWith("#")) {
        cases
            .getLast()
            .expected()
            .add(Stream.of(line.split(" ")).mapToDouble(Double::parseDouble).toArray());
      }
    }
    return cases;
  }
}
