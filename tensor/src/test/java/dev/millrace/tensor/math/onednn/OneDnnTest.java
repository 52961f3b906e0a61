package dev.millrace.tensor.math.onednn;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Matrices;
import dev.millrace.tensor.math.conv.Conv2D;
import dev.millrace.tensor.math.conv.Window;
import dev.millrace.tensor.math.gemm.Gemm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(value = OS.LINUX, architectures = "amd64")
class OneDnnTest {
  @Test
  void isLoadedWhereTheArtifactIs() {
    assumeTrue(Config.ofProcess().get(ComputeSettings.NATIVE));
    assertTrue(OneDnn.isAvailable(), OneDnn.describe());
    assertTrue(OneDnn.describe().startsWith("oneDNN 3."), OneDnn.describe());
  }

  @Test
  void isNotLoadedWhenTurnedOff() throws Exception {
    assertEquals(
        "no oneDNN: turned off by -Dmillrace.native=false", child("-Dmillrace.native=false"));
  }

  @Test
  void productsAndConvolutionsMapNoLibraryWhenTurnedOff() throws Exception {
    assertEquals("[]", child("-Dmillrace.native=false", "-Dtest.mapped=true"));
    assertTrue(child("-Dtest.mapped=true").contains("libdnnl"));
  }

  /** The first line a JVM of its own prints that asks {@link OneDnn} what it is. */
  private static String child(String... options) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("--add-modules=jdk.incubator.vector");
    command.addAll(List.of(options));
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(Child.class.getName());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      String output = new String(process.getInputStream().readAllBytes());
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the child did not end");
      return output.lines().filter(l -> !l.startsWith("WARNING: ")).collect(joining("\n"));
    } finally {
      process.destroyForcibly();
    }
  }

  /** Run in a JVM of its own. */
  static final class Child {
    public static void main(String[] args) throws IOException {
      if (Boolean.getBoolean("test.mapped")) {
        multiplyAndConvolve();
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
          System.out.println(
              maps.map(l -> l.substring(l.lastIndexOf('/') + 1))
                  .filter(name -> name.matches("lib.*(dnnl|gomp|OpenCL|mkl|blas).*"))
                  .distinct()
                  .toList());
        }
        return;
      }
      System.out.println(OneDnn.describe());
    }

    private static void multiplyAndConvolve() {
      Random random = new Random(1);
      Tensor a = Matrices.random(DType.FLOAT, random, 100, 100);
      Tensor c = Tensor.allocate(DType.FLOAT, a.shape());
      Gemm.run(DType.FLOAT, false, false, 100, 100, 100, a.data(), a.data(), c.data(), false);
      Window three = Window.same(10, 3, 1, 1);
      Conv2D conv = new Conv2D(DType.FLOAT, 1, 10, 10, 1, 1, three, three);
      conv.forward(a.data(), a.data().asSlice(0, 36), c.data());
    }
  }
}
