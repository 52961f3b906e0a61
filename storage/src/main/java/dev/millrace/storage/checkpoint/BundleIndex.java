package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.proto.BundleHeaderProto;
import dev.millrace.proto.VersionDef;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Failures;
import dev.millrace.storage.table.TableReader;
import dev.millrace.storage.table.TableWriter;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The index of a tensor bundle: the location of every tensor and of every slice of a partitioned
 * tensor. A bundle named {@code PREFIX} consists of this index, {@code PREFIX.index}, and the data
 * files that it refers to.
 *
 * @param entries by key, in ascending order of the keys
 */
record BundleIndex(int shards, SequencedMap<ByteString, BundleEntryProto> entries) {
  private static final Object[] PUBLISHING = Stream.generate(Object::new).limit(64).toArray();

  /** The format version that is written, and the newest version that can be read. */
  private static final int VERSION = 1;

  private static final ByteString HEADER_KEY = ByteString.EMPTY;

  /** The suffix of a data file's name. */
  private static final Pattern DATA = Pattern.compile("\\.data-\\d{5}-of-\\d{5}$");

  static Path file(Path prefix) {
    return prefix.resolveSibling(prefix.getFileName() + ".index");
  }

  static Path dataFile(Path prefix, int shard, int shards) {
    return prefix.resolveSibling(
        String.format("%s.data-%05d-of-%05d", prefix.getFileName(), shard, shards));
  }

  /**
   * The smallest number of data files, from {@code atLeast} up, whose file names are all unused. A
   * bundle that replaces another uses other file names, so that one of the two is complete at any
   * moment. Replacing the index switches between them atomically. Readers open only files that the
   * index refers to.
   */
  static int unusedShards(Path prefix, int atLeast) {
    for (int total = atLeast; ; total++) {
      boolean used = false;
      for (int shard = 0; shard < total && !used; shard++) {
        used = Files.exists(dataFile(prefix, shard, total));
      }
      if (!used) {
        return total;
      }
    }
  }

  /**
   * The lock to hold from choosing the names of data files until the older files are removed.
   * Otherwise two saves of this process under one prefix would remove each other's files.
   */
  static Object publishing(Path prefix) {
    return PUBLISHING[Math.floorMod(prefix.hashCode(), PUBLISHING.length)];
  }

  /** Removes the data files of the replaced bundle. */
  static void removeOtherData(Path prefix, int shards) {
    String start = prefix.getFileName() + ".data-";
    String end = String.format("-of-%05d", shards);
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(
            prefix.getParent(),
            f -> {
              String name = f.getFileName().toString();
              return name.startsWith(start) && DATA.matcher(name).find() && !name.endsWith(end);
            })) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw Failures.io("Cannot remove the old data files of", prefix, e);
    }
  }

  /** A map that keeps entries in the order of the index. */
  static SequencedMap<ByteString, BundleEntryProto> newEntries() {
    return new TreeMap<>(TableWriter.KEY_ORDER);
  }

  /** Whether a key is the name of a tensor, rather than the key of the header or of a slice. */
  static boolean isName(ByteString key) {
    return !key.isEmpty() && key.byteAt(0) != 0;
  }

  /** Reads and checks the index of the bundle {@code prefix}. */
  static BundleIndex read(Path prefix) {
    Path file = file(prefix);
    if (!Files.exists(file)) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "No checkpoint %s: there is no file %s. Name a checkpoint by its path up to but not"
                  + " including '.index'.",
              prefix, file));
    }
    // The table is already sorted.
    SequencedMap<ByteString, BundleEntryProto> entries = new LinkedHashMap<>();
    BundleHeaderProto[] header = new BundleHeaderProto[1];
    TableReader.scan(
        file,
        (key, value) -> {
          try {
            if (key.equals(HEADER_KEY)) {
              header[0] = BundleHeaderProto.parseFrom(value);
            } else {
              entries.put(key, BundleEntryProto.parseFrom(value));
            }
          } catch (InvalidProtocolBufferException e) {
            throw Failures.corrupt(file, "the entry of '%s' is damaged.", key.toStringUtf8());
          }
        });
    check(file, header[0]);
    return new BundleIndex(header[0].getNumShards(), entries);
  }

  private static void check(Path file, BundleHeaderProto header) {
    if (header == null) {
      throw Failures.corrupt(file, "has no header: it is damaged or not the index of a bundle.");
    }
    if (header.getNumShards() < 1) {
      throw Failures.corrupt(
          file, "speaks of %d data files; there must be one.", header.getNumShards());
    }
    if (header.getVersion().getMinConsumer() > VERSION) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          String.format(
              "%s: asks for a reader of version %d; this one is %d. Save it with an older"
                  + " TensorFlow.",
              file, header.getVersion().getMinConsumer(), VERSION));
    }
    if (header.getEndianness() != BundleHeaderProto.Endianness.LITTLE) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          file + ": was written on a big-endian machine, which cannot be read here.");
    }
  }

  /** Writes this index to {@code file}. */
  void write(AtomicFile file) {
    TableWriter table = new TableWriter(file);
    BundleHeaderProto header =
        BundleHeaderProto.newBuilder()
            .setNumShards(shards)
            .setVersion(VersionDef.newBuilder().setProducer(VERSION))
            .build();
    table.add(HEADER_KEY, header.toByteString());
    entries.forEach((key, entry) -> table.add(key, entry.toByteString()));
    table.finish();
  }
}
