package dev.millrace.collective;

import dev.millrace.collective.member.Packet;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What a rank submits: an operation it wants to do with others, described well enough to tell
 * whether all mean the same. The tensors themselves stay where they are.
 *
 * @param kind what is to be done
 * @param name by which the ranks' submissions find each other
 * @param members the ranks of the process set, ascending; empty for all
 * @param op how values are reduced; null where none are
 * @param root where a broadcast comes from
 * @param dtype the tensors' type; null where there are none
 * @param shapes the tensors' shapes; several for a group
 * @param splits rows to each rank in an all-to-all
 */
record Request(
    Kind kind,
    String name,
    List<Integer> members,
    ReduceOp op,
    int root,
    DType dtype,
    List<Shape> shapes,
    List<Long> splits) {
  /** The operations that can be submitted. */
  enum Kind {
    ALL_REDUCE,
    ALL_GATHER,
    BROADCAST,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    BARRIER,
    SEQUENCE,
    JOIN;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** What makes two submissions the same operation: a name within a process set. */
  record Key(List<Integer> members, String name) {}

  Key key() {
    return new Key(members, name);
  }

  long bytes() {
    long bytes = 0;
    for (Shape s : shapes) {
      bytes += s.elements() * dtype.bytes();
    }
    return bytes;
  }

  /** Whether two ranks mean the same, as far as they have to. */
  boolean agreesWith(Request o) {
    if (kind != o.kind || op != o.op || root != o.root || dtype != o.dtype) {
      return false;
    }
    if (kind == Kind.ALL_GATHER || kind == Kind.ALL_TO_ALL) {
      return tail(this).equals(tail(o));
    }
    return shapes.equals(o.shapes);
  }

  private static Shape tail(Request r) {
    Shape s = r.shapes.getFirst();
    return s.slice(1, s.rank());
  }

  void write(Packet p) {
    p.putConstant(kind).putString(name);
    p.putInts(members.stream().mapToInt(Integer::intValue).toArray());
    p.putConstant(op).putInt(root).putInt(dtype == null ? 0 : dtype.number());
    p.putInt(shapes.size());
    for (Shape s : shapes) {
      p.putLongs(s.dims());
    }
    p.putLongs(splits.stream().mapToLong(Long::longValue).toArray());
  }

  static Request read(Packet p) {
    Kind kind = p.getConstant(Kind.values());
    String name = p.getString();
    List<Integer> members = Arrays.stream(p.getInts()).boxed().toList();
    ReduceOp op = p.getConstantOrNull(ReduceOp.values());
    int root = p.getInt();
    int dtype = p.getInt();
    int count = p.getInt();
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      shapes.add(Shape.of(p.getLongs()));
    }
    List<Long> splits = Arrays.stream(p.getLongs()).boxed().toList();
    return new Request(
        kind, name, members, op, root, dtype == 0 ? null : DType.of(dtype), shapes, splits);
  }

  /** What was submitted, in words. */
  String describe() {
    StringBuilder s = new StringBuilder(kind.toString());
    if (op != null) {
      s.append(' ').append(op);
    }
    if (dtype != null) {
      s.append(" of ").append(dtype.label());
      shapes.stream().limit(4).forEach(shape -> s.append(shape));
      s.append(shapes.size() > 4 ? " and " + (shapes.size() - 4) + " more" : "");
    }
    if (kind == Kind.BROADCAST) {
      s.append(" from rank ").append(root);
    }
    return s.toString();
  }
}
