package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.ops.io.FileNames;
import dev.millrace.ops.io.WholeFiles;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A dataset that keeps the elements of another in a tensor bundle, as TensorFlow does: the first
 * walk that comes to the end writes it, those after it read it. Only one may write at a time.
 */
final class FileCache extends DatasetValue {
  private final DatasetValue input;
  private final Path prefix;
  private final String key;

  FileCache(KernelContext c) {
    prefix = FileNames.path(text(c, 1));
    super(typesOf(c.node()), shapesOf(c.node()));
    key = "%7d_%" + String.valueOf(types().size() - 1).length() + "d";
    input = holdInput(c, 0);
  }

  @Override
  long cardinality() {
    return input.cardinality();
  }

  private String key(long element, int component) {
    return key.formatted(element, component);
  }

  @Override
  DatasetElements elements(Iteration iteration) {
    return new DatasetElements() {
      private DatasetElements current;

      @Override
      Tensor[] next(Cancellation c) {
        if (current == null) {
          Path index = prefix.resolveSibling(prefix.getFileName() + ".index");
          current = Files.exists(index) ? new Reading() : new Writing(iteration);
        }
        return current.next(c);
      }

      @Override
      public void close() {
        if (current != null) {
          current.close();
          current = null;
        }
      }
    };
  }

  private final class Reading extends DatasetElements {
    private final BundleReader in = new BundleReader(prefix);
    private long at;

    @Override
    Tensor[] next(Cancellation c) {
      if (!in.contains(key(at, 0))) {
        return null;
      }
      Tensor[] element = new Tensor[types().size()];
      try {
        for (int i = 0; i < element.length; i++) {
          element[i] = in.read(key(at, i));
        }
      } catch (Throwable t) {
        release(element);
        throw t;
      }
      at++;
      return element;
    }

    @Override
    public void close() {
      in.close();
    }
  }

  private final class Writing extends DatasetElements {
    private final Path lock = prefix.resolveSibling(prefix.getFileName() + "_0.lockfile");
    private final DatasetElements all;
    private BundleWriter out;
    private long at;

    Writing(Iteration iteration) {
      lock();
      try {
        out = new BundleWriter(prefix);
        all = input.elements(iteration);
      } catch (Throwable t) {
        unlock();
        throw t;
      }
    }

    private void lock() {
      try {
        Path folder = lock.toAbsolutePath().getParent();
        Files.createDirectories(folder);
        Files.createFile(lock);
      } catch (FileAlreadyExistsException e) {
        throw new MillraceException(
            Code.ALREADY_EXISTS,
            ("There appears to be a concurrent caching iterator running - cache lockfile already"
                    + " exists ('%s'). If you are sure no other running computations are using this"
                    + " cache prefix, delete the lockfile and re-initialize the iterator.")
                .formatted(lock));
      } catch (IOException e) {
        throw WholeFiles.failure("create", lock, e);
      }
    }

    private void unlock() {
      if (out != null) {
        out.close();
        out = null;
      }
      try {
        Files.deleteIfExists(lock);
      } catch (IOException e) {
        throw WholeFiles.failure("delete", lock, e);
      }
    }

    @Override
    Tensor[] next(Cancellation c) {
      if (out == null) {
        return null;
      }
      Tensor[] element = all.next(c);
      if (element == null) {
        out.finish();
        unlock();
        return null;
      }
      try {
        for (int i = 0; i < element.length; i++) {
          out.add(key(at, i), element[i]);
        }
      } catch (Throwable t) {
        release(element);
        throw t;
      }
      at++;
      return element;
    }

    @Override
    public void close() {
      try {
        all.close();
      } finally {
        if (out != null) {
          unlock();
        }
      }
    }
  }
}
