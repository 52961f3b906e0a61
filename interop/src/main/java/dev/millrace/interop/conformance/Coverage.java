package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.OpCase.Knowledge;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** In which types, and at which edges, cases try each op. */
public final class Coverage {
  /** What can go wrong where the plain cases go right. */
  enum Edge {
    /** An input without elements. */
    EMPTY,
    /** An input of rank 0. */
    SCALAR,
    /** An input with NaN or an infinity. */
    SPECIAL,
    /** A case that must fail. */
    FAILURE
  }

  private final Map<String, Set<DType>> types = new HashMap<>();
  private final Map<String, Set<Edge>> edges = new HashMap<>();

  public void add(OpCase c) {
    c.graph(Knowledge.SHAPES).getNodeList().forEach(this::addTypes);
    addEdges(c.op(), c.inputs(), c.error());
  }

  /** Of a scenario every op is at the edges its values are at. */
  public void add(Scenario s) {
    List<Tensor> values = s.values();
    Code error =
        s.steps().stream()
            .map(Scenario.Step::error)
            .filter(e -> e != Code.OK)
            .findFirst()
            .orElse(Code.OK);
    for (NodeDef node : s.graphDef().getNodeList()) {
      addTypes(node);
      addEdges(node.getOp(), values, error);
    }
  }

  private void addTypes(NodeDef node) {
    for (String attr : typeAttributes(node.getOp())) {
      for (DType type : Kernels.TESTED) {
        if (type.number() == type(node, attr)) {
          types
              .computeIfAbsent(node.getOp() + " " + attr, k -> EnumSet.noneOf(DType.class))
              .add(type);
        }
      }
    }
  }

  private void addEdges(String op, Iterable<Tensor> inputs, Code error) {
    Set<Edge> at = edges.computeIfAbsent(op, k -> EnumSet.noneOf(Edge.class));
    if (error != Code.OK) {
      at.add(Edge.FAILURE);
    }
    for (Tensor t : inputs) {
      if (t.elements() == 0) {
        at.add(Edge.EMPTY);
      }
      if (t.shape().rank() == 0) {
        at.add(Edge.SCALAR);
      }
      if (t.dtype().isFloating() && hasSpecial(t)) {
        at.add(Edge.SPECIAL);
      }
    }
  }

  private static boolean hasSpecial(Tensor t) {
    for (double v : t.toDoubles()) {
      if (!Double.isFinite(v)) {
        return true;
      }
    }
    return false;
  }

  /** The edges an op is tried at. */
  Set<Edge> edges(String op) {
    return edges.getOrDefault(op, Set.of());
  }

  /** Whether cases of an op are of one type at most where TensorFlow computes several. */
  boolean isOfOneType(String op, String attr) {
    return Kernels.types(op, attr).size() > 1
        && types.getOrDefault(op + " " + attr, Set.of()).size() < 2;
  }

  /** The types TensorFlow has a kernel of an op for that no case is of. */
  public List<DType> missing(String op, String attr) {
    List<DType> missing = new ArrayList<>(Kernels.types(op, attr));
    missing.removeAll(types.getOrDefault(op + " " + attr, Set.of()));
    return missing;
  }

  /** The attributes of an op that are a type. */
  public static List<String> typeAttributes(String op) {
    return GraphWriter.definition(op).getAttrList().stream()
        .filter(a -> a.getType().equals("type"))
        .map(OpDef.AttrDef::getName)
        .toList();
  }

  /** The number of the type a node's attribute is, given or by default. */
  public static int type(NodeDef node, String attr) {
    for (OpDef.AttrDef a : GraphWriter.definition(node.getOp()).getAttrList()) {
      if (a.getName().equals(attr)) {
        return node.getAttrOrDefault(attr, a.getDefaultValue()).getTypeValue();
      }
    }
    return 0;
  }
}
