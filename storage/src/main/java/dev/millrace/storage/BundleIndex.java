package dev.millrace.storage;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.proto.BundleHeaderProto;
import dev.millrace.proto.VersionDef;
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
 * The index of a tensor bundle: for every tensor, and every slice of a partitioned one, where its
 * bytes are. A bundle named {@code PREFIX} is this index, in {@code PREFIX.index}, and the data
 * files it speaks of.
 *
 * @param entries by key, in ascending order of the keys
 */
record BundleIndex(int shards, SequencedMap<ByteString, BundleEntryProto> entries) {
  private static final Object[] PUBLISHING = Stream.generate(Object::new).limit(64).toArray();

  /** The version of the format written here, and the newest that can be read. */
  private static final int VERSION = 1;

  private static final ByteString HEADER_KEY = ByteString.EMPTY;

  /** How the name of a data file ends. */
  private static final Pattern DATA = Pattern.compile("\\.data-\\d{5}-of-\\d{5}$");

  static Path file(Path prefix) {
    return prefix.resolveSibling(prefix.getFileName() + ".index");
  }

  static Path dataFile(Path prefix, int shard, int shards) {
    return prefix.resolveSibling(
        String.format("%s.data-%05d-of-%05d", prefix.getFileName(), shard, shards));
  }

  /**
   * The number of data files, {@code atLeast} or more, under which none exists yet. A bundle that
   * replaces another is written under other names, so that at any moment one of them is whole:
   * which one is decided by the index, in one step. Readers open only the files that entries speak
   * of.
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
   * The lock to hold from choosing the names of a bundle's data files until the older ones are
   * removed. Two saves of this process under one prefix would otherwise remove each other's files.
   */
  static Object publishing(Path prefix) {
    return PUBLISHING[Math.floorMod(prefix.hashCode(), PUBLISHING.length)];
  }

  /** Removes the data files of a bundle that this one has replaced. */
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

  /** Whether a key is a tensor's name, and not that of the header or of a slice. */
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
    // The table is in order already.
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
