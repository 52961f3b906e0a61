package dev.millrace.train.checkpoint;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.proto.DataType;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.SignatureDef;
import dev.millrace.proto.TensorInfo;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.runtime.Session;
import dev.millrace.storage.AtomicFile;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A trained model for others to serve: TensorFlow's SavedModel, a folder with the part of the graph
 * that computes the outputs and the variables it needs. Devices are left out, so that it runs
 * anywhere.
 */
public final class SavedModel {
  /** The signature that servers look for unless told otherwise. */
  public static final String SERVING = "serving_default";

  private SavedModel() {}

  /** What a caller gives and gets, by name. */
  public record Signature(Map<String, Output> inputs, Map<String, Output> outputs) {}

  /**
   * Exports to {@code folder}, which must be empty or not exist, with the values that the variables
   * have in {@code session}. It is written beside and takes its name when it is complete and on
   * disk: who watches for new models, as servers do, never sees part of one.
   */
  public static void export(Session session, Graph graph, Path folder, Signature signature) {
    Path target = folder.toAbsolutePath().normalize();
    Path temporary =
        CheckpointFolder.withSuffix(target, ".tempstate" + Long.toHexString(Timers.system().now()));
    prepare(target, temporary);
    try {
      write(session, graph, temporary, signature);
      AtomicFile.moveFolder(temporary, target);
    } catch (RuntimeException e) {
      CheckpointFolder.deleteTree(temporary);
      throw e;
    }
  }

  private static void write(Session session, Graph graph, Path folder, Signature signature) {
    Set<Node> computing = behind(nodes(signature.outputs.values()));
    List<GraphVariable> variables =
        Variables.global(graph).stream().filter(v -> computing.contains(v.node())).toList();
    MetaGraphDef.Builder meta;
    if (variables.isEmpty()) {
      meta = MetaGraphDef.newBuilder().setGraphDef(part(graph, computing));
    } else {
      Saver saver = Saver.of(Scope.of(graph), variables, SaverOptions.DEFAULT);
      saver.export(session, folder.resolve("variables").resolve("variables"));
      Set<Node> needed =
          behind(
              List.of(
                  graph.output(saver.def().getSaveTensorName()).node(),
                  graph.node(saver.def().getRestoreOpName())));
      needed.addAll(computing);
      for (GraphVariable v : variables) {
        needed.addAll(behind(List.of(v.initializer(), v.read().node())));
      }
      meta = MetaGraph.encode(graph, saver.def(), variables);
      meta.setGraphDef(part(graph, needed));
      meta.removeCollectionDef(GraphKeys.LOCAL_VARIABLES);
    }
    meta.getMetaInfoDefBuilder().addTags("serve");
    meta.putSignatureDef(SERVING, encode(signature));
    AtomicFile.write(
        folder.resolve("saved_model.pb"),
        dev.millrace.proto.SavedModel.newBuilder()
            .setSavedModelSchemaVersion(1)
            .addMetaGraphs(meta)
            .build()
            .toByteArray());
  }

  private static void prepare(Path folder, Path temporary) {
    try {
      if (Files.exists(folder)) {
        checkEmpty(folder);
      }
      Files.createDirectories(temporary.getParent());
      CheckpointFolder.removeLeftOversOf(folder); // of an export that was killed
      Files.createDirectory(temporary);
    } catch (IOException e) {
      throw new MillraceException(
          Code.PERMISSION_DENIED, "Cannot export to " + folder + ": " + e, e);
    }
  }

  private static void checkEmpty(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      if (files.findAny().isPresent()) {
        throw new MillraceException(
            Code.ALREADY_EXISTS,
            folder + " is not empty; a model is exported to a folder of its own.");
      }
    }
  }

  private static List<Node> nodes(Collection<Output> outputs) {
    return outputs.stream().map(Output::node).toList();
  }

  /** The nodes that have to run for these. */
  private static Set<Node> behind(List<Node> roots) {
    Set<Node> found = new HashSet<>(roots);
    Deque<Node> open = new ArrayDeque<>(roots);
    while (!open.isEmpty()) {
      Node n = open.pop();
      n.inputs().stream().map(Output::node).filter(found::add).forEach(open::push);
      n.controlInputs().stream().filter(found::add).forEach(open::push);
    }
    return found;
  }

  private static GraphDef part(Graph graph, Set<Node> nodes) {
    Set<String> names = new HashSet<>();
    nodes.forEach(n -> names.add(n.name()));
    GraphDef all = MetaGraph.encode(graph);
    GraphDef.Builder part = all.toBuilder().clearNode();
    for (NodeDef n : all.getNodeList()) {
      if (names.contains(n.getName())) {
        // Colocation may name nodes that are left out; without devices it says nothing.
        part.addNode(n.toBuilder().clearDevice().removeAttr("_class"));
      }
    }
    return part.build();
  }

  private static SignatureDef encode(Signature s) {
    SignatureDef.Builder b = SignatureDef.newBuilder().setMethodName("tensorflow/serving/predict");
    s.inputs.forEach((name, o) -> b.putInputs(name, encode(o)));
    s.outputs.forEach((name, o) -> b.putOutputs(name, encode(o)));
    return b.build();
  }

  private static TensorInfo encode(Output o) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    if (o.shape().hasRank()) {
      for (long d : o.shape().dims()) {
        shape.addDimBuilder().setSize(d);
      }
    } else {
      shape.setUnknownRank(true);
    }
    return TensorInfo.newBuilder()
        .setName(o.name())
        .setDtype(DataType.forNumber(o.dtype().number()))
        .setTensorShape(shape)
        .build();
  }
}
