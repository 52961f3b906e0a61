package dev.millrace.train.checkpoint;

import com.google.protobuf.ByteString;
import dev.millrace.graph.Graph;
import dev.millrace.proto.CollectionDef;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.SaveSliceInfoDef;
import dev.millrace.proto.SaverDef;
import dev.millrace.proto.VariableDef;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.storage.checkpoint.TensorSlice;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import dev.millrace.wire.GraphCodec;
import java.util.List;

/** Graphs with all that is needed to go on with them: their variables and how to restore them. */
public final class MetaGraph {
  private static final List<String> VARIABLE_LISTS =
      List.of(
          GraphKeys.GLOBAL_VARIABLES,
          GraphKeys.LOCAL_VARIABLES,
          GraphKeys.TRAINABLE_VARIABLES,
          GraphKeys.GLOBAL_STEP);

  private MetaGraph() {}

  /** The graph alone. */
  static GraphDef encode(Graph graph) {
    return GraphCodec.encode(graph);
  }

  /** The graph, its lists of variables, and how to restore them. */
  public static MetaGraphDef.Builder encode(Graph graph, SaverDef saver) {
    return encode(graph, saver, null);
  }

  /** Encodes the graph with its saver, and of its variables only {@code some}; null for all. */
  static MetaGraphDef.Builder encode(Graph graph, SaverDef saver, List<GraphVariable> some) {
    MetaGraphDef.Builder meta =
        MetaGraphDef.newBuilder().setGraphDef(encode(graph)).setSaverDef(saver);
    for (String key : VARIABLE_LISTS) {
      List<GraphVariable> variables =
          Variables.of(graph, key).stream().filter(v -> some == null || some.contains(v)).toList();
      if (!variables.isEmpty()) {
        CollectionDef.BytesList.Builder list = CollectionDef.BytesList.newBuilder();
        variables.forEach(v -> list.addValue(encode(v)));
        meta.putCollectionDef(key, CollectionDef.newBuilder().setBytesList(list).build());
      }
    }
    return meta;
  }

  private static ByteString encode(GraphVariable v) {
    VariableDef.Builder def =
        VariableDef.newBuilder()
            .setVariableName(v.handle().name())
            .setInitializerName(v.initializer().name())
            .setSnapshotName(v.read().name())
            .setInitialValueName(v.initialValue().name())
            .setIsResource(v.isResource())
            .setTrainable(v.trainable());
    if (v.part() != null) {
      def.setSaveSliceInfoDef(encode(v.part().whole(), v.part().slice()));
    }
    return def.build().toByteString();
  }

  private static SaveSliceInfoDef encode(String whole, ShapeAndSlice part) {
    SaveSliceInfoDef.Builder def = SaveSliceInfoDef.newBuilder().setFullName(whole);
    TensorSlice slice = part.slice();
    for (int i = 0; i < part.shape().rank(); i++) {
      def.addFullShape(part.shape().dim(i))
          .addVarOffset(slice.start(i))
          .addVarShape(part.sliceShape().dim(i));
    }
    return def.build();
  }
}
