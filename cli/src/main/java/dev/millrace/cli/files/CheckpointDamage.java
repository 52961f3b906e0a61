package dev.millrace.cli.files;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.checkpoint.BundleReader;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What of a checkpoint does not agree with its checksums.
 *
 * @param prefix the checkpoint
 * @param tensors how many it has; 0 if its index cannot be read
 * @param damage a sentence for each tensor that cannot be read, or for the index
 */
record CheckpointDamage(Path prefix, int tensors, List<String> damage) {
  /** Reads all there is. */
  static CheckpointDamage in(Path prefix) {
    List<String> damage = new ArrayList<>();
    int tensors = 0;
    try (BundleReader reader = new BundleReader(prefix)) {
      for (String name : reader.names()) {
        tensors++;
        try {
          reader.verify(name);
        } catch (MillraceException e) {
          damage.add(e.getMessage());
        }
      }
    } catch (MillraceException e) {
      if (e.code() != Code.DATA_LOSS) {
        throw e;
      }
      damage.add(e.getMessage());
    }
    return new CheckpointDamage(prefix, tensors, List.copyOf(damage));
  }

  boolean isNone() {
    return damage.isEmpty();
  }

  void print(PrintWriter out) {
    if (isNone()) {
      out.printf("%s is whole: %d tensors agree with their checksums.%n", prefix, tensors);
      return;
    }
    damage.forEach(out::println);
    String what = tensors == 0 ? "its index" : damage.size() + " of " + tensors + " tensors";
    out.printf("%s is damaged: %s.%n", prefix, what);
  }

  Map<String, Object> facts() {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("checkpoint", prefix.toString());
    facts.put("tensors", tensors);
    facts.put("damage", damage);
    return facts;
  }
}
