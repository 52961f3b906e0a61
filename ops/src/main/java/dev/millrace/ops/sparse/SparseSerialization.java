package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import java.util.ArrayList;
import java.util.List;

/** Sparse tensors as three elements each, strings or variants, so that they can be batched. */
final class SparseSerialization {
  private static final String NO_GRADIENT = "what is serialized is not a number";

  static final Op SERIALIZE =
      defineSerialize("SerializeSparse")
          .shape(c -> inferSerialize(c, Shape.of(3)))
          .kernel(SparseSerialization::serializeOne)
          .build();

  static final Op SERIALIZE_MANY =
      defineSerialize("SerializeManySparse")
          .shape(c -> inferSerialize(c, Shape.of(Shape.UNKNOWN, 3)))
          .kernel(
              c -> {
                List<Coo> rows = SparseBatch.rows(Coo.of(c, 0));
                List<Tensor> parts = new ArrayList<>();
                rows.forEach(row -> parts.addAll(SparseBatch.tensors(row)));
                serialize(c, parts, Shape.of(rows.size(), 3));
              })
          .build();

  static final Op DESERIALIZE =
      defineDeserialize("DeserializeSparse", true)
          .shape(
              c -> {
                Shape s = c.input(0);
                if (s.isScalar()) {
                  throw MillraceException.invalid("Shape must be at least rank 1 but is rank 0");
                }
                requireThree(s);
                return SparseBatch.shapes();
              })
          .kernelPerNode(SparseSerialization::deserialize)
          .build();

  static final Op DESERIALIZE_MANY =
      defineDeserialize("DeserializeManySparse", false)
          .shape(
              c -> {
                requireThree(c.inputOfRank(0, 2));
                return SparseBatch.shapes();
              })
          .kernelPerNode(SparseSerialization::deserialize)
          .build();

  static final List<Op> ALL = List.of(SERIALIZE, SERIALIZE_MANY, DESERIALIZE, DESERIALIZE_MANY);

  /** A tensor as an element of another. */
  private static final class TensorValue extends VariantValue {
    static final String TYPE_NAME = "tensorflow::Tensor";

    private final Tensor tensor;

    /** Takes over one counted reference. */
    TensorValue(Tensor tensor) {
      this.tensor = tensor;
    }

    @Override
    public String typeName() {
      return TYPE_NAME;
    }

    @Override
    public byte[] metadata() {
      return new byte[0];
    }

    @Override
    public List<Tensor> tensors() {
      return List.of(tensor);
    }

    @Override
    protected void free() {
      Refs.release(tensor);
    }
  }

  private SparseSerialization() {}

  private static Op.Builder defineSerialize(String name) {
    return Op.define(name)
        .attr("T: type")
        .attr("out_type: {string, variant} = string")
        .input("sparse_indices: int64")
        .input("sparse_values: T")
        .input("sparse_shape: int64")
        .output("serialized_sparse: out_type")
        .noGradient(NO_GRADIENT);
  }

  private static Op.Builder defineDeserialize(String name, boolean typed) {
    Op.Builder op = Op.define(name).attr("dtype: type");
    if (typed) {
      op.attr("Tserialized: {string, variant} = string");
    }
    return op.input("serialized_sparse: " + (typed ? "Tserialized" : "string"))
        .output("sparse_indices: int64")
        .output("sparse_values: dtype")
        .output("sparse_shape: int64")
        .noGradient(NO_GRADIENT);
  }

  private static List<Shape> inferSerialize(ShapeContext c, Shape out) {
    c.inputOfRank(0, 2);
    c.inputOfRank(1, 1);
    c.inputOfRank(2, 1);
    return List.of(out);
  }

  private static void requireThree(Shape s) {
    if (s.hasRank() && s.dim(s.rank() - 1) != 3 && s.dim(s.rank() - 1) != Shape.UNKNOWN) {
      throw MillraceException.invalid(
          "Dimension must be 3 but is %d: a serialized sparse tensor has three elements",
          s.dim(s.rank() - 1));
    }
  }

  private static Coo retained(Coo in) {
    Refs.retain(in.indices());
    Refs.retain(in.values());
    return in;
  }

  /** What does not belong together is for whoever puts it together again to refuse. */
  private static void serializeOne(KernelContext c) {
    Coo.requireRank("indices", "a matrix", c.input(0), 2);
    Coo.requireRank("values", "a vector", c.input(1), 1);
    Coo.requireRank("shape", "a vector", c.input(2), 1);
    serialize(
        c,
        List.of(Refs.retain(c.input(0)), Refs.retain(c.input(1)), Refs.retain(c.input(2))),
        Shape.of(3));
  }

  /** Takes over one counted reference of each. */
  private static void serialize(KernelContext c, List<Tensor> parts, Shape shape) {
    boolean asVariants = c.node().typeAttr("out_type") == DType.VARIANT;
    Object[] elements = new Object[parts.size()];
    for (int i = 0; i < elements.length; i++) {
      Tensor t = parts.get(i);
      if (asVariants) {
        elements[i] = new TensorValue(t);
      } else {
        elements[i] = TensorMessage.encode(t);
        Refs.release(t);
      }
    }
    c.output(0, Refs.ofObjects(asVariants ? DType.VARIANT : DType.STRING, shape, elements));
  }

  private static Kernel deserialize(Node node) {
    DType type = node.typeAttr("dtype");
    return c -> {
      Tensor in = c.input(0);
      Shape s = in.shape();
      if (s.rank() == 0) {
        throw MillraceException.invalid("Serialized sparse should have non-zero rank %s", s);
      }
      if (s.dim(s.rank() - 1) != 3) {
        throw MillraceException.invalid(
            "Serialized sparse should have 3 as the last dimension %s", s);
      }
      Shape batch = s.slice(0, s.rank() - 1);
      if (batch.elements() == 0) {
        throw MillraceException.invalid(
            "Serialized sparse should have at least 1 serialized SparseTensor, but has a zero"
                + " dimension %s",
            s);
      }
      List<Coo> parts = new ArrayList<>();
      try {
        for (int i = 0; i < batch.elements(); i++) {
          parts.add(part(in, i, type));
          int rank = parts.getFirst().rank();
          if (parts.get(i).rank() != rank) {
            throw MillraceException.invalid(
                "Inconsistent shape across SparseTensors: rank prior to SparseTensor[%d] was: %d"
                    + " but rank of SparseTensor[%d] is: %d",
                i, rank, i, parts.get(i).rank());
          }
        }
        SparseBatch.stack(c, parts, batch);
      } finally {
        SparseBatch.release(parts);
      }
    };
  }

  /** The sparse tensor in three elements, checked, with one counted reference of its tensors. */
  private static Coo part(Tensor in, int i, DType type) {
    Tensor[] three = new Tensor[3];
    try {
      for (int k = 0; k < 3; k++) {
        Object element = in.objects()[3 * i + k];
        three[k] = element instanceof byte[] b ? TensorMessage.decode(b) : held(element, i, k);
      }
      requireRank(three[0], "an index matrix", 2, i, 0);
      requireRank(three[1], "a values vector", 1, i, 1);
      requireRank(three[2], "a shape vector", 1, i, 2);
      for (int k = 0; k < 3; k += 2) {
        if (three[k].dtype() != DType.INT64) {
          throw MillraceException.invalid(
              "Requested SparseTensor of type int64 but SparseTensor[%d].%s.dtype() == %s",
              i, k == 0 ? "indices" : "shape", three[k].dtype());
        }
      }
      SparseBatch.requireType(type, three[1].dtype(), i);
      return retained(Coo.of(three[0], three[1], three[2]));
    } finally {
      for (Tensor t : three) {
        if (t != null) {
          Refs.release(t);
        }
      }
    }
  }

  private static Tensor held(Object element, int i, int k) {
    if (element instanceof VariantValue v
        && v.typeName().equals(TensorValue.TYPE_NAME)
        && v.tensors().size() == 1) {
      return Refs.retain(v.tensors().getFirst());
    }
    throw MillraceException.invalid(
        "Could not get a tensor from the variant serialized_sparse[%d, %d]", i, k);
  }

  private static void requireRank(Tensor t, String what, int rank, int i, int k) {
    if (t.shape().rank() != rank) {
      throw MillraceException.invalid(
          "Expected serialized_sparse[%d, %d] to represent %s but received shape %s",
          i, k, what, t.shape());
    }
  }
}
