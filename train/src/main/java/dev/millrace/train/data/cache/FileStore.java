package dev.millrace.train.data.cache;

import dev.millrace.storage.Failures;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.storage.record.RecordWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * Keeps elements in a TFRecord file, which takes its name when it is complete. Processes may share
 * it: each writes under a name of its own until then.
 */
record FileStore(Path file) implements CacheStore {
  @Override
  public Supplier<byte[]> open() {
    if (!Files.exists(file)) {
      return null;
    }
    RecordReader reader = RecordReader.open(file);
    return () -> {
      byte[] record = reader.next();
      if (record == null) {
        reader.close();
      }
      return record;
    };
  }

  @Override
  public Collector collect() {
    Path own = file.resolveSibling(file.getFileName() + ".part-" + UUID.randomUUID());
    try {
      Files.createDirectories(own.toAbsolutePath().getParent());
    } catch (IOException e) {
      throw Failures.io("Cannot make the folder of", own, e);
    }
    RecordWriter writer = RecordWriter.create(own);
    return new Collector() {
      private boolean closed;

      @Override
      public void add(byte[] element) {
        writer.write(element);
      }

      @Override
      public void complete() {
        closed = true;
        writer.close();
        try {
          Files.move(own, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
          throw Failures.io("Cannot name", file, e);
        }
      }

      @Override
      public void close() {
        if (!closed) {
          closed = true;
          writer.close();
          try {
            Files.deleteIfExists(own);
          } catch (IOException e) {
            throw Failures.io("Cannot delete", own, e);
          }
        }
      }
    };
  }

  @Override
  public CacheStore split(int i) {
    return new FileStore(file.resolveSibling(file.getFileName() + "-" + i));
  }
}
