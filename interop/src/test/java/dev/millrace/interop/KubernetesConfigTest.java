package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cli.k8s.JobSettings;
import dev.millrace.cli.k8s.Manifests;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The TF_CONFIG of every pod means the same to TensorFlow as to Millrace. */
@NeedsPython
class KubernetesConfigTest {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  @Test
  void tensorFlowTakesTheConfigurationOfEveryPod() {
    JobSettings job =
        new JobSettings(
            "mnist",
            "default",
            "cluster.local",
            "millrace:1",
            2,
            3,
            2222,
            "2",
            "4Gi",
            "10Gi",
            null,
            10,
            60,
            List.of("train", "mnist"));
    List<String> configs = new ArrayList<>();
    List<String> expected = new ArrayList<>();
    for (Map<String, Object> object : new Manifests(job).objects()) {
      if (object.get("kind").equals("Job")) {
        String template = variable(object);
        int pods = ((Number) at(object, "spec", "completions")).intValue();
        for (int i = 0; i < pods; i++) {
          String text = template.replace("$(POD_INDEX)", Integer.toString(i));
          configs.add(text);
          expected.add(asMillrace(TfConfig.parse(text)));
        }
      }
    }
    assertEquals(5, configs.size());
    assertEquals(
        expected, PythonTensorFlow.find().run("tf_config.py", configs, LIMIT).lines().toList());
  }

  private static String asMillrace(TfConfig config) {
    TaskId task = config.task();
    return Stream.concat(
            Stream.of(task.job(), Integer.toString(task.index())),
            config.cluster().tasks().stream().map(config.cluster()::address))
        .collect(Collectors.joining(" "));
  }

  private static String variable(Map<String, Object> job) {
    List<?> containers = (List<?>) at(job, "spec", "template", "spec", "containers");
    return ((List<?>) ((Map<?, ?>) containers.getFirst()).get("env"))
        .stream()
            .map(v -> (Map<?, ?>) v)
            .filter(v -> v.get("name").equals(TfConfig.VARIABLE))
            .map(v -> (String) v.get("value"))
            .findFirst()
            .orElseThrow();
  }

  private static Object at(Map<?, ?> object, String... path) {
    Object here = object;
    for (String step : path) {
      here = ((Map<?, ?>) here).get(step);
    }
    return here;
  }
}
