package dev.millrace.serving.model;

import com.google.protobuf.CodedInputStream;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.AssetFileDef;
import dev.millrace.proto.CollectionDef;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.SavedModel;
import dev.millrace.proto.SignatureDef;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The files of a SavedModel: the graph chosen by its tags, and where the variables and assets are.
 *
 * @param folder where it is
 * @param meta the graph with its signatures
 */
public record SavedModelFolder(Path folder, MetaGraphDef meta) {
  /** The file that makes a folder a SavedModel. */
  public static final String FILE = "saved_model.pb";

  private static final String INIT_OP = "__saved_model_init_op";
  private static final String TRAIN_OP = "__saved_model_train_op";
  private static final List<String> INIT_COLLECTIONS =
      List.of("saved_model_main_op", "legacy_init_op");

  /** Whether there is a SavedModel in {@code folder}. */
  public static boolean isIn(Path folder) {
    return Files.isRegularFile(folder.resolve(FILE));
  }

  /** Reads the graph with exactly these tags. */
  public static SavedModelFolder read(Path folder, Set<String> tags) {
    SavedModel model = parse(folder);
    List<Set<String>> found = new ArrayList<>();
    for (MetaGraphDef m : model.getMetaGraphsList()) {
      Set<String> has = new HashSet<>(m.getMetaInfoDef().getTagsList());
      if (has.equals(tags)) {
        return new SavedModelFolder(folder, m);
      }
      found.add(has);
    }
    throw new MillraceException(
        Code.NOT_FOUND,
        "The SavedModel in "
            + folder
            + " has no graph with the tags "
            + tags
            + "; it has graphs with "
            + found
            + ".");
  }

  private static SavedModel parse(Path folder) {
    Path file = folder.resolve(FILE);
    try (InputStream in = Files.newInputStream(file)) {
      CodedInputStream coded = CodedInputStream.newInstance(in, 1 << 16);
      coded.setSizeLimit(Integer.MAX_VALUE);
      return SavedModel.parseFrom(coded);
    } catch (NoSuchFileException e) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "There is no SavedModel in "
              + folder
              + ": it has no "
              + FILE
              + ". Name the folder that has one.",
          e);
    } catch (IOException e) {
      throw new MillraceException(
          Code.DATA_LOSS, file + " cannot be read as a SavedModel: " + e.getMessage(), e);
    }
  }

  /** The signatures that can be called, by name. */
  public Map<String, ModelSignature> signatures() {
    Map<String, ModelSignature> all = new TreeMap<>();
    meta.getSignatureDefMap()
        .forEach(
            (name, def) -> {
              if (!name.equals(INIT_OP) && !name.equals(TRAIN_OP) && isDense(def)) {
                all.put(name, ModelSignature.of(name, def));
              }
            });
    return all;
  }

  private static boolean isDense(SignatureDef def) {
    return def.getOutputsCount() > 0
        && def.getInputsMap().values().stream().noneMatch(i -> i.getName().isEmpty())
        && def.getOutputsMap().values().stream().noneMatch(o -> o.getName().isEmpty());
  }

  /** The node that prepares tables and the like; empty if there is none. */
  public String initOp() {
    SignatureDef signature = meta.getSignatureDefMap().get(INIT_OP);
    if (signature != null && signature.getOutputsMap().containsKey(INIT_OP)) {
      return node(signature.getOutputsMap().get(INIT_OP).getName());
    }
    for (String key : INIT_COLLECTIONS) {
      CollectionDef c = meta.getCollectionDefMap().get(key);
      if (c != null && c.getNodeList().getValueCount() > 0) {
        return node(c.getNodeList().getValue(0));
      }
    }
    return "";
  }

  /** The node that restores the variables; empty if there are none. */
  public String restoreOp() {
    return hasVariables() ? node(meta.getSaverDef().getRestoreOpName()) : "";
  }

  /** The tensor that names the checkpoint to restore from. */
  public String checkpointTensor() {
    return meta.getSaverDef().getFilenameTensorName();
  }

  /** Whether there are variables to restore. Throws if the model needs some and has no file. */
  private boolean hasVariables() {
    return !meta.getSaverDef().getRestoreOpName().isEmpty()
        && Files.exists(checkpoint().resolveSibling("variables.index"));
  }

  /** The checkpoint of its variables. */
  public Path checkpoint() {
    return folder.toAbsolutePath().resolve("variables").resolve("variables");
  }

  /** The path of each asset, by the name of the tensor that takes it. */
  public Map<String, Path> assets() {
    Map<String, Path> assets = new TreeMap<>();
    Path base = folder.toAbsolutePath().normalize().resolve("assets");
    for (AssetFileDef a : meta.getAssetFileDefList()) {
      Path file = base.resolve(a.getFilename()).normalize();
      if (!file.startsWith(base)) {
        throw MillraceException.invalid(
            "The SavedModel in %s names the asset '%s', which is outside of its folder.",
            folder, a.getFilename());
      }
      if (!Files.isReadable(file)) {
        throw new MillraceException(
            Code.DATA_LOSS, "The asset " + file + " of the SavedModel is not there.");
      }
      assets.put(a.getTensorInfo().getName(), file);
    }
    return assets;
  }

  /** The node of a tensor. */
  static String node(String tensor) {
    int colon = tensor.lastIndexOf(':');
    return colon < 0 ? tensor : tensor.substring(0, colon);
  }
}
