package dev.millrace.job.report;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.base.MillraceException;
import dev.millrace.runtime.Session;
import dev.millrace.storage.AtomicFile;
import dev.millrace.train.checkpoint.Saver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The best model of all evaluations: a checkpoint in a folder of its own, and beside it a note of
 * its metric. The note is read again when the job goes on, so that a worse model does not take the
 * place of a better one.
 *
 * <p>Threading: used by the thread that evaluates.
 */
public final class BestModel {
  /** The folder in that of the job. */
  public static final String FOLDER = "best";

  /** The note in the folder. */
  public static final String NOTE = "best.json";

  private static final Logger LOG = LoggerFactory.getLogger(BestModel.class);

  private final String metric;
  private final boolean highest;

  /** Null if only the figures are kept. */
  private final Path folder;

  private final Saver saver;
  private double value = Double.NaN;
  private long step = -1;

  /**
   * The best by {@code metric}.
   *
   * @param highest whether more of it is better
   * @param parent the folder that holds that of the best model; null to keep none
   */
  public BestModel(String metric, boolean highest, Path parent, Saver saver) {
    this.metric = metric;
    this.highest = highest;
    folder = parent == null ? null : parent.resolve(FOLDER);
    this.saver = saver;
    if (folder != null) {
      read();
    }
  }

  /** The step of the best model; -1 if there is none. */
  public long step() {
    return step;
  }

  private void read() {
    Path note = folder.resolve(NOTE);
    try {
      Map<String, Object> saved = JSON.std.mapFrom(Files.readString(note));
      if (metric.equals(saved.get("metric"))
          && saved.get("value") instanceof Number v
          && saved.get("step") instanceof Number s) {
        value = v.doubleValue();
        step = s.longValue();
      } else {
        LOG.info("The best model in {} was not kept by '{}': it is replaced.", folder, metric);
      }
    } catch (NoSuchFileException e) {
      return;
    } catch (IOException e) {
      throw MillraceException.failedPrecondition(
          "%s cannot be read: %s. Remove the folder to keep the best model anew.",
          note, e.getMessage());
    }
  }

  /** Keeps the model that {@code session} has at {@code now} if it is better than all before. */
  public void offer(Session session, long now, Map<String, Double> metrics) {
    Double found = metrics.get(metric);
    if (found == null) {
      throw MillraceException.invalid(
          "The best model is to be kept by '%s'; the metrics of the model are %s.",
          metric, metrics.keySet());
    }
    boolean better = Double.isNaN(value) || (highest ? found > value : found < value);
    if (!better || Double.isNaN(found)) {
      return;
    }
    value = found;
    step = now;
    if (folder == null) {
      return;
    }
    AtomicFile.makeDirectories(folder);
    saver.save(session, folder.resolve("model.ckpt"), now);
    // After the checkpoint: a note without its model would keep worse ones out.
    Map<String, Object> note = new LinkedHashMap<>();
    note.put("metric", metric);
    note.put("value", value);
    note.put("step", step);
    try {
      byte[] text = (JSON.std.asString(note) + "\n").getBytes(StandardCharsets.UTF_8);
      AtomicFile.write(folder.resolve(NOTE), text);
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }
}
