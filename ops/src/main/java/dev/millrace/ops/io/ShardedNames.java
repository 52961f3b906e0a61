package dev.millrace.ops.io;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Locale;

/** The names of the files of which a sharded checkpoint consists. */
public final class ShardedNames {
  public static final Op FILENAME =
      Op.define("ShardedFilename")
          .input("basename: string")
          .input("shard: int32")
          .input("num_shards: int32")
          .output("filename: string")
          .shape(Shapes.scalar())
          .kernel(
              c ->
                  c.output(
                      0,
                      name(
                          "%s-%05d-of-%05d",
                          FileNames.scalar(c, 0).stringAt(0),
                          FileNames.scalar(c, 1).longAt(0),
                          FileNames.scalar(c, 2).longAt(0))))
          .noGradient("a name is not a number")
          .build();

  public static final Op FILESPEC =
      Op.define("ShardedFilespec")
          .input("basename: string")
          .input("num_shards: int32")
          .output("filename: string")
          .shape(Shapes.scalar())
          .kernel(
              c ->
                  c.output(
                      0,
                      name(
                          "%s-?????-of-%05d",
                          FileNames.scalar(c, 0).stringAt(0), FileNames.scalar(c, 1).longAt(0))))
          .noGradient("a name is not a number")
          .build();

  static final List<Op> ALL = List.of(FILENAME, FILESPEC);

  private ShardedNames() {}

  /** The name of one shard of many. */
  public static Output of(Scope scope, Output basename, Output shard, Output shards) {
    return scope.add(FILENAME, basename, shard, shards).output();
  }

  private static Tensor name(String format, Object... args) {
    return Tensor.scalar(String.format(Locale.ROOT, format, args));
  }
}
