package dev.millrace.cli.project;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.SplittableRandom;

/** Made-up clicks on ads: they depend on the site, on the ad and, a little, on the numbers. */
final class Clicks {
  private static final int SITES = 100;
  private static final int ADS = 500;
  private static final int DEVICES = 5;

  private Clicks() {}

  /** Writes {@code n} of them; the same for the same seed. */
  static void write(Path file, int n, long seed) throws IOException {
    double[] site = weights(SITES, 1.5);
    double[] ad = weights(ADS, 1.5);
    SplittableRandom random = new SplittableRandom(seed);
    try (BufferedWriter out = Files.newBufferedWriter(file)) {
      out.write("click,hour,price,age,site,ad,device\n");
      for (int i = 0; i < n; i++) {
        double hour = random.nextDouble();
        double price = random.nextDouble();
        double age = random.nextDouble();
        int s = random.nextInt(SITES);
        int a = random.nextInt(ADS);
        int d = random.nextInt(DEVICES);
        double score = site[s] + ad[a] + 2 * (price - .5) + (d == 0 ? .5 : 0);
        int click = random.nextDouble() < 1 / (1 + Math.exp(-2 * score)) ? 1 : 0;
        out.write(
            String.format(
                Locale.ROOT, "%d,%.3f,%.3f,%.3f,%d,%d,%d%n", click, hour, price, age, s, a, d));
      }
    }
  }

  private static double[] weights(int n, double width) {
    SplittableRandom random = new SplittableRandom(n);
    return random.doubles(n, -width, width).toArray();
  }
}
