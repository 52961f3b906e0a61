package dev.millrace.storage;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;

/**
 * Makes one bundle of several, as TensorFlow's MergeV2Checkpoints does: the indexes become one, the
 * data files are renamed, no tensor is copied. This is how the tasks of a cluster save one
 * checkpoint together.
 */
public final class BundleMerge {
  private final Path target;
  private final SequencedMap<ByteString, BundleEntryProto> entries = BundleIndex.newEntries();

  /** The data files of the merged bundle, as they are called now. */
  private final List<Path> dataFiles = new ArrayList<>();

  private BundleMerge(Path target) {
    this.target = target.toAbsolutePath();
  }

  /**
   * Merges the bundles {@code sources} into {@code target}, in place of an older one with this
   * prefix. The sources are gone after, and with {@code deleteOldDirs} their directories too where
   * nothing else is in them. When this returns, all of the target is on disk; after a crash in the
   * middle an older target is still there.
   *
   * @param allowMissing whether a source that does not exist is left out; NOT_FOUND otherwise
   */
  public static void merge(
      List<Path> sources, Path target, boolean deleteOldDirs, boolean allowMissing) {
    List<Path> present = new ArrayList<>();
    for (Path source : sources) {
      if (!allowMissing || Files.exists(BundleIndex.file(source))) {
        present.add(source.toAbsolutePath());
      }
    }
    if (present.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "None of the %d checkpoints to merge exists: %s.", sources.size(), sources));
    }
    BundleMerge merge = new BundleMerge(target);
    for (Path source : present) {
      merge.take(source);
    }
    merge.publish();
    merge.removeSources(present, deleteOldDirs);
  }

  private void take(Path source) {
    BundleIndex index = BundleIndex.read(source);
    int[] numbers = new int[index.shards()];
    for (int shard = 0; shard < numbers.length; shard++) {
      Path file = BundleIndex.dataFile(source, shard, numbers.length);
      numbers[shard] = Files.exists(file) ? dataFiles.size() : -1;
      if (numbers[shard] >= 0) {
        dataFiles.add(file);
      }
    }
    index
        .entries()
        .forEach(
            (key, entry) -> {
              boolean isPartitioned = entry.getSlicesCount() > 0;
              BundleEntryProto moved =
                  isPartitioned
                      ? entry
                      : entry.toBuilder().setShardId(number(source, entry, numbers)).build();
              entries.merge(key, moved, (a, b) -> join(key, a, b));
            });
  }

  /** Which data file of the merged bundle an entry is in. */
  private static int number(Path source, BundleEntryProto entry, int[] numbers) {
    int shard = entry.getShardId();
    if (shard < 0 || shard >= numbers.length || numbers[shard] < 0) {
      throw Failures.corrupt(
          BundleIndex.dataFile(source, shard, numbers.length),
          "is missing, so checkpoint %s cannot be merged.",
          source);
    }
    return numbers[shard];
  }

  /** The entry of a partitioned tensor that has slices in two bundles. */
  private BundleEntryProto join(ByteString key, BundleEntryProto a, BundleEntryProto b) {
    if (a.getSlicesCount() == 0 || b.getSlicesCount() == 0) {
      throw MillraceException.invalid(
          "Two of the checkpoints merged into %s have a tensor '%s'.", target, key.toStringUtf8());
    }
    if (a.getDtypeValue() != b.getDtypeValue() || !a.getShape().equals(b.getShape())) {
      throw MillraceException.invalid(
          "The checkpoints merged into %s have slices of '%s' that differ in type or full shape.",
          target, key.toStringUtf8());
    }
    return a.toBuilder().addAllSlices(b.getSlicesList()).build();
  }

  private void publish() {
    AtomicFile.makeDirectories(target.getParent());
    synchronized (BundleIndex.publishing(target)) {
      publishAlone();
    }
  }

  private void publishAlone() {
    int shards = BundleIndex.unusedShards(target, dataFiles.size());
    try (AtomicFile index = new AtomicFile(BundleIndex.file(target))) {
      new BundleIndex(shards, entries).write(index);
      index.seal();
      for (Path file : dataFiles) {
        sync(file);
      }
      for (int i = 0; i < dataFiles.size(); i++) {
        AtomicFile.move(dataFiles.get(i), BundleIndex.dataFile(target, i, shards));
      }
      AtomicFile.syncDirectory(target.getParent());
      index.publish();
    }
    AtomicFile.syncDirectory(target.getParent());
    BundleIndex.removeOtherData(target, shards);
  }

  /** Whoever wrote a source may not have waited for the disk. */
  private static void sync(Path file) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.force(true);
    } catch (IOException e) {
      throw Failures.io("Cannot sync", file, e);
    }
  }

  private void removeSources(List<Path> sources, boolean deleteOldDirs) {
    Set<Path> directories = new LinkedHashSet<>();
    for (Path source : sources) {
      directories.add(source.getParent());
      Path index = BundleIndex.file(source);
      if (!source.equals(target)) {
        delete(index);
      }
    }
    directories.remove(target.getParent());
    if (deleteOldDirs) {
      directories.forEach(BundleMerge::delete);
    }
  }

  private static void delete(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (DirectoryNotEmptyException e) {
      // Somebody else's files: they stay.
    } catch (IOException e) {
      throw Failures.io("Cannot remove", path, e);
    }
  }
}
