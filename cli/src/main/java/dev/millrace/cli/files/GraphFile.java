package dev.millrace.cli.files;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.SavedModel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Reads a graph from a file, by the file's name: a SavedModel ({@code saved_model.pb}), a
 * checkpoint's MetaGraph ({@code .meta}) or a GraphDef; each as text if it ends in {@code txt}. Of
 * a folder, its SavedModel or the graph that training left there.
 */
final class GraphFile {
  private GraphFile() {}

  static GraphDef read(Path file) {
    GraphDef graph = parse(file);
    if (graph.getNodeCount() == 0) {
      throw new MillraceException(
          Code.DATA_LOSS, file + " is not a graph: there is no node in it.");
    }
    return graph;
  }

  private static GraphDef parse(Path file) {
    Path f = Files.isDirectory(file) ? in(file) : file;
    String name = f.getFileName().toString();
    byte[] bytes;
    try {
      bytes = Files.readAllBytes(f);
    } catch (IOException e) {
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot read " + f + ": it is missing or unreadable.", e);
    }
    boolean text = name.endsWith("txt");
    try {
      if (name.startsWith("saved_model.")) {
        SavedModel m = parse(SavedModel.newBuilder(), bytes, text).build();
        if (m.getMetaGraphsCount() == 0) {
          throw new InvalidProtocolBufferException("it has no graph");
        }
        return m.getMetaGraphs(0).getGraphDef();
      }
      if (name.contains(".meta")) {
        return parse(MetaGraphDef.newBuilder(), bytes, text).build().getGraphDef();
      }
      return parse(GraphDef.newBuilder(), bytes, text).build();
    } catch (InvalidProtocolBufferException | TextFormat.ParseException e) {
      throw new MillraceException(
          Code.DATA_LOSS,
          f
              + " is not a graph: "
              + e.getMessage()
              + " Expected is a GraphDef, or a MetaGraphDef in a file called .meta, or a"
              + " SavedModel in one called saved_model.pb.",
          e);
    }
  }

  private static Path in(Path folder) {
    for (String name : List.of("saved_model.pb", "saved_model.pbtxt", "graph.pbtxt")) {
      if (Files.exists(folder.resolve(name))) {
        return folder.resolve(name);
      }
    }
    throw new MillraceException(
        Code.NOT_FOUND,
        "There is no graph in " + folder + ": neither saved_model.pb nor graph.pbtxt.");
  }

  private static <B extends Message.Builder> B parse(B builder, byte[] bytes, boolean text)
      throws InvalidProtocolBufferException, TextFormat.ParseException {
    if (text) {
      TextFormat.merge(new String(bytes, StandardCharsets.UTF_8), builder);
    } else {
      builder.mergeFrom(bytes);
    }
    return builder;
  }
}
