package dev.millrace.cli;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cli.launch.JobDisplay;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/** Where a training that is started as a whole puts its files, so that none is overwritten. */
final class LogFolder {
  private LogFolder() {}

  /**
   * The folder {@code given}, or a new one if that is null. With a checkpoint in it, training must
   * be meant to go on, there must be steps left to make, and the model must be the same.
   *
   * @param model fails if a checkpoint is not of the model to be trained
   */
  static Path choose(Path given, boolean resume, long steps, Consumer<Path> model) {
    if (resume && given == null) {
      throw MillraceException.invalid(
          "--resume goes on from an earlier run: name its folder with --log-dir.");
    }
    Path folder = given != null ? given : JobDisplay.newFolder("mnist");
    if (Files.exists(folder) && !Files.isDirectory(folder)) {
      throw MillraceException.invalid("--log-dir %s is a file; it must be a folder.", folder);
    }
    Optional<Path> latest = CheckpointFolder.latest(folder);
    if (resume) {
      checkGoesOn(folder, latest, steps, model);
    } else if (latest.isPresent()) {
      throw new MillraceException(
          Code.ALREADY_EXISTS,
          String.format(
              "%s holds a checkpoint already: %s. Go on from it with --resume, or use another"
                  + " --log-dir.",
              folder, latest.get().getFileName()));
    }
    return folder;
  }

  private static void checkGoesOn(
      Path folder, Optional<Path> latest, long steps, Consumer<Path> model) {
    if (latest.isEmpty()) {
      throw MillraceException.invalid(
          "There is no checkpoint in %s to go on from. Name the folder of the earlier run with"
              + " --log-dir, or leave out --resume.",
          folder);
    }
    try (BundleReader reader = new BundleReader(latest.get())) {
      if (reader.contains("global_step")) {
        try (Tensor made = reader.read("global_step")) {
          if (made.longValue() >= steps) {
            throw MillraceException.invalid(
                "%s has been trained for %d steps, and %d are wanted. Give more with --steps or"
                    + " --epochs.",
                latest.get(), made.longValue(), steps);
          }
        }
      }
      model.accept(latest.get());
    } catch (MillraceException e) {
      if (e.code() != Code.DATA_LOSS) {
        throw e;
      }
      // Damaged: training says so, and goes on from the one before.
    }
  }
}
