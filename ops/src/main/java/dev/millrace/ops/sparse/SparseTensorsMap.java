package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sparse tensors left under numbers until they are taken: what passes a queue in their place is the
 * number. Met by all nodes of one shared name.
 *
 * <p>Threading: any thread; the map is guarded by itself.
 */
final class SparseTensorsMap implements Resources.Resource {
  static final Op ADD =
      defineAdd("AddSparseToTensorsMap", "sparse_handle")
          .shape(c -> inferAdd(c, Shape.scalar()))
          .kernelPerNode(SparseTensorsMap::add)
          .build();

  static final Op ADD_MANY =
      defineAdd("AddManySparseToTensorsMap", "sparse_handles")
          .shape(c -> inferAdd(c, Shape.of(Shape.UNKNOWN)))
          .kernelPerNode(SparseTensorsMap::addMany)
          .build();

  static final Op TAKE_MANY =
      Op.define("TakeManySparseFromTensorsMap")
          .attr("dtype: type")
          .attr("container: string = ''")
          .attr("shared_name: string = ''")
          .input("sparse_handles: int64")
          .output("sparse_indices: int64")
          .output("sparse_values: dtype")
          .output("sparse_shape: int64")
          .stateful()
          .shape(
              c -> {
                c.inputOfRank(0, 1);
                return SparseBatch.shapes();
              })
          .kernelPerNode(SparseTensorsMap::takeMany)
          .noGradient("what is taken comes from another step")
          .build();

  static final List<Op> ALL = List.of(ADD, ADD_MANY, TAKE_MANY);

  private final String name;
  private final Map<Long, Coo> held = new HashMap<>();
  private long next;
  private boolean closed;

  private SparseTensorsMap(String name) {
    this.name = name;
  }

  @Override
  public String kind() {
    return "SparseTensorsMap";
  }

  @Override
  public void close() {
    List<Coo> left;
    synchronized (this) {
      closed = true;
      left = List.copyOf(held.values());
      held.clear();
    }
    SparseBatch.release(left);
  }

  /** Takes over one counted reference of the tensors; gives the number. */
  private synchronized long put(Coo tensor) {
    if (closed) {
      SparseBatch.release(List.of(tensor));
      throw MillraceException.failedPrecondition(
          "The map '%s' of sparse tensors was removed while a step used it.", name);
    }
    held.put(next, tensor);
    return next++;
  }

  /** Removes the tensors with these numbers, whose counted references are the caller's then. */
  private synchronized List<Coo> take(long[] handles) {
    List<Coo> taken = new ArrayList<>();
    for (long h : handles) {
      Coo found = held.remove(h);
      if (found == null) {
        SparseBatch.release(taken);
        throw MillraceException.invalid("Unable to find SparseTensor: %d in map: %s", h, name);
      }
      taken.add(found);
    }
    return taken;
  }

  private static Op.Builder defineAdd(String op, String output) {
    return Op.define(op)
        .attr("T: type")
        .attr("container: string = ''")
        .attr("shared_name: string = ''")
        .input("sparse_indices: int64")
        .input("sparse_values: T")
        .input("sparse_shape: int64")
        .output(output + ": int64")
        .stateful()
        .noGradient("what is left in a map is taken by another step");
  }

  private static List<Shape> inferAdd(ShapeContext c, Shape handles) {
    c.inputOfRank(0, 2);
    c.inputOfRank(1, 1);
    c.inputOfRank(2, 1);
    return List.of(handles);
  }

  private static SparseTensorsMap of(KernelContext c, String container, String name) {
    return c.resources()
        .getOrCreate(container, name, SparseTensorsMap.class, () -> new SparseTensorsMap(name));
  }

  private static Kernel add(Node node) {
    String container = node.stringAttr("container");
    String name = ResourceHandles.nameOf(node);
    return c -> {
      Coo in = Coo.of(c, 0);
      Refs.retain(in.indices());
      Refs.retain(in.values());
      long handle = of(c, container, name).put(in);
      c.allocate(0, Shape.scalar()).setLong(0, handle);
    };
  }

  private static Kernel addMany(Node node) {
    String container = node.stringAttr("container");
    String name = ResourceHandles.nameOf(node);
    return c -> {
      List<Coo> rows = SparseBatch.rows(Coo.of(c, 0));
      SparseTensorsMap map = of(c, container, name);
      Tensor handles = c.allocate(0, Shape.of(rows.size()));
      // TensorFlow numbers the rows with values first.
      for (boolean empty : new boolean[] {false, true}) {
        for (int i = 0; i < rows.size(); i++) {
          if ((rows.get(i).count() == 0) == empty) {
            handles.setLong(i, map.put(rows.get(i)));
          }
        }
      }
    };
  }

  private static Kernel takeMany(Node node) {
    String container = node.stringAttr("container");
    String name = ResourceHandles.nameOf(node);
    DType type = node.typeAttr("dtype");
    return c -> {
      Tensor handles = c.input(0);
      if (handles.shape().rank() != 1) {
        throw MillraceException.invalid(
            "sparse_handles should be a vector but received shape %s", handles.shape());
      }
      if (handles.elements() == 0) {
        throw MillraceException.invalid("Must have at least 1 serialized SparseTensor");
      }
      List<Coo> parts = of(c, container, name).take(handles.toLongs());
      try {
        for (int i = 0; i < parts.size(); i++) {
          SparseBatch.requireType(type, parts.get(i).values().dtype(), i);
          int rank = parts.get(Math.max(0, i - 1)).rank();
          if (parts.get(i).rank() != rank) {
            throw MillraceException.invalid(
                "Inconsistent rank across SparseTensors: rank prior to SparseTensor[%d] was: %d but"
                    + " rank of SparseTensor[%d] is: %d",
                i, rank + 1, i, parts.get(i).rank() + 1);
          }
        }
        SparseBatch.stack(c, parts, Shape.of(parts.size()));
      } finally {
        SparseBatch.release(parts);
      }
    };
  }
}
