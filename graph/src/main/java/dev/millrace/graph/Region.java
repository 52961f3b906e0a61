package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import java.util.List;
import java.util.Objects;

/**
 * The loops and branches in which a value is computed. It follows from the inputs, by the rules of
 * the control-flow ops; names and scopes do not matter.
 *
 * @param kind what of the region around it this is a part of
 * @param frame the name of the loop; null for a branch
 * @param predicate what chooses the branch, or whether there is another round; null for a loop
 * @param side 1 if this is where the predicate is true, else 0
 * @param outer the region around it
 * @param depth how many regions are around it
 */
public record Region(Kind kind, String frame, Output predicate, int side, Region outer, int depth) {
  /** The kinds of region. */
  public enum Kind {
    /** Outside of all loops and branches. */
    TOP,
    /** A loop, its condition included. */
    LOOP,
    /** The body of a loop, after its condition was true. */
    ROUND,
    /** One side of a choice. */
    BRANCH
  }

  /** Limit on nesting. No program reaches it, but a damaged graph may. */
  private static final int MAX_DEPTH = 10_000;

  /** The outermost region. */
  public static final Region TOP = new Region(Kind.TOP, null, null, 0, null, 0);

  /** The region of the values that {@code node} computes, but for the outputs of a Switch. */
  static Region of(Node node) {
    Op.Role role = node.op().role();
    if (role == Op.Role.MERGE) {
      return ofMerge(node);
    }
    Region deepest = TOP;
    for (Output in : node.inputs()) {
      deepest = in == null ? deepest : deeper(deepest, in.region());
    }
    for (Node c : node.controlInputs()) {
      deepest = deeper(deepest, c.region());
    }
    return switch (role) {
      case ENTER -> deepest.part(node, Kind.LOOP, node.stringAttr("frame_name"), null, 0);
      case EXIT -> deepest.loop() == null ? TOP : deepest.loop().outer();
      default -> deepest;
    };
  }

  /** Of a loop's variable the region it enters; else what the merged branches are parts of. */
  private static Region ofMerge(Node merge) {
    Region common = null;
    for (Output in : merge.inputs()) {
      if (in != null && in.node().op().role() != Op.Role.NEXT_ITERATION) {
        common = common == null ? in.region() : common.shared(in.region());
      }
    }
    return common == null ? TOP : common;
  }

  /** The region of output {@code side} of the Switch {@code node}, which is in this one. */
  Region afterSwitch(Node node, int side) {
    Output predicate = node.input(1);
    if (predicate.node().op().role() != Op.Role.LOOP_COND) {
      return part(node, Kind.BRANCH, null, predicate, side);
    }
    return side == 0 ? this : part(node, Kind.ROUND, null, predicate, 1);
  }

  private Region part(Node node, Kind kind, String frame, Output predicate, int side) {
    if (depth >= MAX_DEPTH) {
      throw MillraceException.invalid(
          "%s '%s': loops and branches are nested more than %d deep.",
          node.op().name(), node.name(), MAX_DEPTH);
    }
    return new Region(kind, frame, predicate, side, this, depth + 1);
  }

  private static Region deeper(Region a, Region b) {
    return b.depth > a.depth ? b : a;
  }

  /** The innermost region that both are parts of. */
  private Region shared(Region other) {
    Region a = this;
    Region b = other;
    while (!a.equals(b)) {
      if (a.depth >= b.depth) {
        a = a.outer;
      } else {
        b = b.outer;
      }
    }
    return a;
  }

  /** The innermost loop that this is in, or null. */
  public Region loop() {
    Region r = this;
    while (r != null && r.kind != Kind.LOOP) {
      r = r.outer;
    }
    return r;
  }

  /** The name of the innermost loop, or null. */
  public String loopName() {
    Region loop = loop();
    return loop == null ? null : loop.frame;
  }

  /** Whether this is the loop called {@code frame} or a part of it. */
  public boolean isInLoop(String frame) {
    for (Region r = this; r != null; r = r.outer) {
      if (r.kind == Kind.LOOP && r.frame.equals(frame)) {
        return true;
      }
    }
    return false;
  }

  /** Whether this is, or is a part of, a side of the choice that one of these makes. */
  public boolean isInBranch(List<Output> predicates, int side) {
    for (Region r = this; r != null; r = r.outer) {
      if (r.kind == Kind.BRANCH && r.side == side && predicates.contains(r.predicate)) {
        return true;
      }
    }
    return false;
  }

  /** Compares loops by name, and branches by predicate and side. */
  @Override
  public boolean equals(Object o) {
    return o instanceof Region r
        && kind == r.kind
        && Objects.equals(frame, r.frame)
        && predicate == r.predicate
        && side == r.side;
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, frame, predicate, side);
  }
}
