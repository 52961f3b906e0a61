package dev.millrace.ops.io;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Reads and writes whole files. */
public final class WholeFiles {
  public static final Op READ =
      Op.define("ReadFile")
          .input("filename: string")
          .output("contents: string")
          .shape(Shapes.scalar())
          .asyncKernel(node -> Background.of(WholeFiles::read))
          .noGradient("what a file holds depends on nothing in the graph")
          .build();

  public static final Op WRITE =
      Op.define("WriteFile")
          .input("filename: string")
          .input("contents: string")
          .stateful()
          .shape(Shapes.none())
          .asyncKernel(node -> Background.of(WholeFiles::write))
          .noGradient("it has no outputs")
          .build();

  static final List<Op> ALL = List.of(READ, WRITE);

  private WholeFiles() {}

  private static void read(KernelContext c) {
    Object[] contents = {contents(FileNames.scalar(c, 0).stringAt(0))};
    c.output(0, Refs.ofObjects(DType.STRING, Shape.scalar(), contents));
  }

  /** All that is in the file of this name. */
  public static byte[] contents(String name) {
    Path file = FileNames.path(name);
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw failure("read", file, e);
    }
  }

  private static void write(KernelContext c) {
    Path file = FileNames.at(c, 0);
    try {
      if (file.getParent() != null) {
        Files.createDirectories(file.getParent());
      }
      Files.write(file, FileNames.scalar(c, 1).bytesAt(0));
    } catch (IOException e) {
      throw failure("write", file, e);
    }
  }

  public static MillraceException failure(String what, Path file, IOException e) {
    boolean missing = e instanceof NoSuchFileException;
    return new MillraceException(
        missing ? Code.NOT_FOUND : Code.UNKNOWN,
        "Cannot %s file %s: %s.".formatted(what, file, missing ? "it does not exist" : e),
        e);
  }
}
