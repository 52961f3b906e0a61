package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** How many different values each row of the last dimension has. */
final class SetSize {
  static final Op OP =
      Op.define("SetSize")
          .attr("validate_indices: bool = true")
          .attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
          .input("set_indices: int64")
          .input("set_values: T")
          .input("set_shape: int64")
          .output("size: int32")
          .shape(Shapes.unknown())
          .kernelPerNode(SetSize::kernel)
          .noGradient("a count is not differentiable")
          .build();

  private SetSize() {}

  private static Kernel kernel(Node node) {
    boolean validate = node.booleanAttr("validate_indices");
    return c -> {
      Coo in = Coo.of(c, 0);
      if (in.rank() < 2) {
        throw MillraceException.invalid("Shape %s has rank %d < 2.", in.shape(), in.rank());
      }
      if (validate) {
        in.requireOrder();
      }
      Shape rows = in.shape().slice(0, in.rank() - 1);
      Tensor out = c.allocate(0, rows);
      List<Set<Object>> sets = new ArrayList<>();
      for (long r = 0; r < rows.elements(); r++) {
        sets.add(null);
      }
      for (long i = 0; i < in.count(); i++) {
        int row = (int) (in.position(i) / in.shape().dim(in.rank() - 1));
        if (sets.get(row) == null) {
          sets.set(row, new HashSet<>());
        }
        sets.get(row).add(value(in.values(), i));
      }
      for (int r = 0; r < sets.size(); r++) {
        out.setLong(r, sets.get(r) == null ? 0 : sets.get(r).size());
      }
    };
  }

  private static Object value(Tensor values, long i) {
    return values.dtype() == DType.STRING
        ? ByteBuffer.wrap(values.bytesAt(i))
        : (Object) values.longAt(i);
  }
}
