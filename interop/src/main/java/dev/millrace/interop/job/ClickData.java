package dev.millrace.interop.job;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;

/** Made-up clicks as CSV, with the columns of {@link ClickModel}. Some ids are far more common. */
final class ClickData {
  private ClickData() {}

  /** Writes {@code rows} of them; the same for the same seed. */
  static void write(Path file, int rows, long seed) throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    try (BufferedWriter out = Files.newBufferedWriter(file)) {
      StringBuilder line = new StringBuilder("click");
      for (int i = 0; i < ClickModel.NUMBERS; i++) {
        line.append(",n").append(i);
      }
      for (int i = 0; i < ClickModel.CATEGORIES; i++) {
        line.append(",c").append(i);
      }
      out.append(line).append('\n');
      for (int row = 0; row < rows; row++) {
        line.setLength(0);
        double score = 0;
        for (int i = 0; i < ClickModel.NUMBERS; i++) {
          int thousandths = random.nextInt(1000);
          score += (i % 3 - 1) * (thousandths - 500) / 500.;
          line.append(",0.").append(Integer.toString(1000 + thousandths), 1, 4);
        }
        for (int i = 0; i < ClickModel.CATEGORIES; i++) {
          int id = (int) (Math.pow(random.nextDouble(), 3) * ClickModel.IDS);
          score += (id * 31 + i) % 7 - 3;
          line.append(',').append(id);
        }
        out.append(score / 8 > random.nextDouble(-1, 1) ? '1' : '0').append(line).append('\n');
      }
    }
  }
}
