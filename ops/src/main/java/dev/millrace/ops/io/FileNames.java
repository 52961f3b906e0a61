package dev.millrace.ops.io;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.FileRoots;
import dev.millrace.graph.KernelContext;
import dev.millrace.tensor.Tensor;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** Names of files as they come in tensors. */
public final class FileNames {
  private FileNames() {}

  /** The path in input {@code i}, which must be a scalar. */
  static Path at(KernelContext c, int i) {
    return path(scalar(c, i).stringAt(0));
  }

  /** Input {@code i}, which must be a scalar. */
  static Tensor scalar(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid(
          "%s '%s': input %d (%s) must be a scalar; it has shape %s.",
          c.node().op().name(),
          c.node().name(),
          i,
          c.node().op().inputs().get(i).name(),
          t.shape());
    }
    return t;
  }

  /** A path, or a URL of scheme {@code file}; fails if graphs may not use it here. */
  public static Path path(String name) {
    int scheme = name.indexOf("://");
    if (scheme >= 0 && !name.startsWith("file://")) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "'%s': there is no file system for '%s' here. Use a path that all tasks have mounted."
              .formatted(name, name.substring(0, scheme + 3)));
    }
    String plain = scheme >= 0 ? name.substring("file://".length()) : name;
    try {
      return FileRoots.checked(Path.of(plain));
    } catch (InvalidPathException e) {
      throw MillraceException.invalid("'%s' cannot be a path: %s.", name, e.getReason());
    }
  }
}
