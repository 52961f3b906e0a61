package dev.millrace.train.checkpoint;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.proto.AssetFileDef;
import dev.millrace.proto.CollectionDef;
import dev.millrace.proto.DataType;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.SignatureDef;
import dev.millrace.proto.TensorInfo;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.runtime.Session;
import dev.millrace.storage.AtomicFile;
import dev.millrace.train.variable.GraphVariable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A trained model for others to serve: TensorFlow's SavedModel, a folder with the part of the graph
 * that computes the outputs of some signatures, and the variables, tables and vocabulary files that
 * it needs. Devices are left out, so that it runs anywhere, and its variables are resources, as
 * TensorFlow 2 has them.
 *
 * <p>Threading: used by one thread at a time.
 */
public final class SavedModel {
  /** The signature that servers look for unless told otherwise. */
  public static final String SERVING = "serving_default";

  private static final String PREDICT = "tensorflow/serving/predict";
  private static final String ASSETS = "assets";

  /** Saves the variables of the model's own graph; null if it has none. */
  private final Saver values;

  private final MetaGraphDef meta;

  /** The files to copy, by their names in the folder of assets. */
  private final Map<String, Path> assets = new LinkedHashMap<>();

  /**
   * What a caller gives and gets, by name.
   *
   * @param method what kind of answer it is, in TensorFlow's words
   */
  public record Signature(Map<String, Output> inputs, Map<String, Output> outputs, String method) {
    /** A signature for predictions. */
    public Signature(Map<String, Output> inputs, Map<String, Output> outputs) {
      this(inputs, outputs, PREDICT);
    }
  }

  private SavedModel(Graph graph, Map<String, Signature> signatures) {
    List<Output> ends = new ArrayList<>();
    signatures.values().forEach(s -> ends.addAll(s.outputs.values()));
    signatures.values().forEach(s -> ends.addAll(s.inputs.values()));
    ExportedGraph exported = ExportedGraph.of(graph, ends);
    Scope scope = Scope.of(exported.graph());
    MetaGraphDef.Builder b;
    if (exported.variables().isEmpty()) {
      values = null;
      b = MetaGraphDef.newBuilder();
    } else {
      values =
          Saver.of(
              Scope.of(graph), List.copyOf(exported.variables().keySet()), SaverOptions.DEFAULT);
      List<GraphVariable> copies = List.copyOf(exported.variables().values());
      b =
          MetaGraph.encode(
              exported.graph(), Saver.of(scope, copies, SaverOptions.DEFAULT).def(), copies);
    }
    if (!exported.tableInitializers().isEmpty()) {
      addTables(exported, b);
    }
    b.setGraphDef(MetaGraph.encode(exported.graph()));
    b.getMetaInfoDefBuilder().addTags("serve");
    signatures.forEach((name, s) -> b.putSignatureDef(name, encode(s, exported)));
    meta = b.build();
  }

  /**
   * Prepares exports of a model with these signatures. Adds the nodes to its graph that save the
   * variables, so that any number of exports may follow while the model is trained.
   */
  public static SavedModel of(Graph graph, Map<String, Signature> signatures) {
    return new SavedModel(graph, signatures);
  }

  /**
   * Exports to {@code folder}, which must be empty or not exist, with the values that the variables
   * have in {@code session}: a single signature, under the name of the usual one.
   */
  public static void export(Session session, Graph graph, Path folder, Signature signature) {
    of(graph, Map.of(SERVING, signature)).export(session, folder);
  }

  /**
   * Exports to {@code folder}, which must be empty or not exist, with the values that the variables
   * have in {@code session}. It is written beside and takes its name when it is complete and on
   * disk: who watches for new models, as servers do, never sees part of one.
   */
  public void export(Session session, Path folder) {
    Path target = folder.toAbsolutePath().normalize();
    Path temporary =
        CheckpointFolder.withSuffix(
            target, ".tempstate" + Long.toHexString(Context.current().timers().now()));
    prepare(target, temporary);
    try {
      write(session, temporary);
      AtomicFile.moveFolder(temporary, target);
    } catch (RuntimeException e) {
      CheckpointFolder.deleteTree(temporary);
      throw e;
    }
  }

  private void write(Session session, Path folder) {
    if (values != null) {
      values.export(session, folder.resolve("variables").resolve("variables"));
    }
    if (!assets.isEmpty()) {
      AtomicFile.makeDirectories(folder.resolve(ASSETS));
    }
    assets.forEach((name, file) -> copyAsset(file, folder.resolve(ASSETS).resolve(name)));
    AtomicFile.write(
        folder.resolve("saved_model.pb"),
        dev.millrace.proto.SavedModel.newBuilder()
            .setSavedModelSchemaVersion(1)
            .addMetaGraphs(meta)
            .build()
            .toByteArray());
  }

  private static void copyAsset(Path file, Path to) {
    try {
      AtomicFile.write(to, Files.readAllBytes(file));
    } catch (IOException e) {
      throw new MillraceException(
          Code.NOT_FOUND, "The model's vocabulary " + file + " cannot be copied: " + e, e);
    }
  }

  /** Names the node that fills the tables, and the vocabulary files that it reads. */
  private void addTables(ExportedGraph exported, MetaGraphDef.Builder meta) {
    Node all = exported.fillTables();
    meta.putCollectionDef(
        "saved_model_main_op",
        CollectionDef.newBuilder()
            .setNodeList(CollectionDef.NodeList.newBuilder().addValue(all.name()))
            .build());
    Set<Output> done = new HashSet<>();
    for (Node n : exported.tableInitializers()) {
      if (!n.op().name().startsWith("InitializeTableFromTextFile")
          || !n.input(1).node().op().name().equals("Const")
          || !done.add(n.input(1))) {
        continue;
      }
      Path file = Path.of(n.input(1).node().tensorAttr("value").stringValue());
      meta.addAssetFileDef(
          AssetFileDef.newBuilder()
              .setFilename(assetName(file))
              .setTensorInfo(TensorInfo.newBuilder().setName(n.input(1).name())));
    }
  }

  /** The name of a file among the assets: its own, or that with a number if another one has it. */
  private String assetName(Path file) {
    String own = String.valueOf(file.getFileName());
    String name = own;
    for (int i = 1; assets.containsKey(name) && !assets.get(name).equals(file); i++) {
      name = i + "_" + own;
    }
    assets.put(name, file);
    return name;
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

  private static SignatureDef encode(Signature s, ExportedGraph graph) {
    SignatureDef.Builder b = SignatureDef.newBuilder().setMethodName(s.method);
    s.inputs.forEach((name, o) -> b.putInputs(name, encode(graph.output(o))));
    s.outputs.forEach((name, o) -> b.putOutputs(name, encode(graph.output(o))));
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
