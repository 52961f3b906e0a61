package dev.millrace.train.checkpoint;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.CheckpointState;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which of the checkpoints in a folder are kept. After each save it updates the folder's state file
 * and then removes what is too old, so the file never names what is gone.
 */
final class Retention {
  private static final Logger LOG = LoggerFactory.getLogger(Retention.class);

  /** A checkpoint and when it was saved, in seconds since the epoch. */
  private record Kept(Path prefix, double time) {}

  private final SaverOptions options;
  private final List<Kept> kept = new ArrayList<>();
  private Path folder;

  /**
   * Checkpoints saved after this time are the next to be kept for good. The state file says when
   * the span began, so that a job that is often started anew has some kept too.
   */
  private double nextForGood;

  Retention(SaverOptions options) {
    this.options = options;
  }

  /** Takes over the checkpoints that an earlier run saved in {@code directory}. */
  void recover(Path directory, double now) {
    if (directory.equals(folder)) {
      return;
    }
    folder = directory;
    kept.clear();
    nextForGood = now + options.keepOneEvery().toSeconds();
    CheckpointState state;
    try {
      state = CheckpointStateFile.read(directory).orElse(CheckpointState.getDefaultInstance());
    } catch (MillraceException e) {
      if (e.code() != Code.DATA_LOSS) {
        throw e;
      }
      // Written anew with this save. What it named is not removed by us any more, but kept.
      LOG.warn("{} It is replaced.", e.getMessage());
      return;
    }
    if (state.getLastPreservedTimestamp() > 0) {
      nextForGood = state.getLastPreservedTimestamp() + options.keepOneEvery().toSeconds();
    }
    List<String> paths = state.getAllModelCheckpointPathsList();
    for (int i = 0; i < paths.size(); i++) {
      boolean timed = i < state.getAllModelCheckpointTimestampsCount();
      Path prefix = Path.of(paths.get(i));
      if (CheckpointFolder.isComplete(prefix)) {
        kept.add(new Kept(prefix, timed ? state.getAllModelCheckpointTimestamps(i) : now));
      }
    }
  }

  /** A checkpoint was saved: records it as the latest and removes those beyond the limit. */
  void saved(Path prefix, double now) {
    kept.removeIf(k -> k.prefix.equals(prefix));
    kept.add(new Kept(prefix, now));
    List<Path> old = new ArrayList<>();
    while (options.maxToKeep() > 0 && kept.size() > options.maxToKeep()) {
      Kept oldest = kept.removeFirst();
      if (oldest.time > nextForGood) {
        nextForGood += options.keepOneEvery().toSeconds();
      } else {
        old.add(oldest.prefix);
      }
    }
    CheckpointState.Builder state =
        CheckpointState.newBuilder()
            .setModelCheckpointPath(prefix.toString())
            .setLastPreservedTimestamp(nextForGood - options.keepOneEvery().toSeconds());
    for (Kept k : kept) {
      state.addAllModelCheckpointPaths(k.prefix.toString());
      state.addAllModelCheckpointTimestamps(k.time);
    }
    CheckpointStateFile.write(folder, state.build());
    old.forEach(CheckpointFolder::delete);
  }

  /** The checkpoints kept, oldest first. */
  List<Path> prefixes() {
    return kept.stream().map(Kept::prefix).toList();
  }
}
