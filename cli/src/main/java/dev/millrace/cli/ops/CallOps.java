package dev.millrace.cli.ops;

import java.util.List;

/** Ops that call functions: a graph is rid of them when it is imported, so none is registered. */
final class CallOps {
  static final List<String> NAMES =
      List.of(
          "Case",
          "If",
          "PartitionedCall",
          "RemoteCall",
          "StatefulPartitionedCall",
          "StatelessCase",
          "StatelessIf",
          "StatelessWhile",
          "SymbolicGradient",
          "While");

  private CallOps() {}
}
