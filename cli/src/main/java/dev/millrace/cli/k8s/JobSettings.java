package dev.millrace.cli.k8s;

import dev.millrace.base.MillraceException;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What a training job on Kubernetes is to be.
 *
 * @param name what its objects are called
 * @param domain the cluster's DNS domain
 * @param ps how many parameter servers; 0 for a ring
 * @param cpu processors for each task, as Kubernetes writes quantities
 * @param memory memory for each task
 * @param storage size of the volume for checkpoints and events
 * @param storageClass its class; null for the cluster's default
 * @param retries how many failed pods of a job are replaced before it counts as failed
 * @param graceSeconds how long a task may take to save and leave
 * @param args what each task runs: the arguments of the image's {@code millrace}
 */
public record JobSettings(
    String name,
    String namespace,
    String domain,
    String image,
    int ps,
    int workers,
    int port,
    String cpu,
    String memory,
    String storage,
    String storageClass,
    int retries,
    int graceSeconds,
    List<String> args) {
  private static final Pattern NAME = Pattern.compile("[a-z]([-a-z0-9]{0,38}[a-z0-9])?");
  private static final Pattern QUANTITY =
      Pattern.compile("[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?");

  /** Checks what Kubernetes would refuse later. */
  public JobSettings {
    checkName("--name", name);
    checkName("--namespace", namespace);
    if (image.isBlank() || !image.equals(image.strip()) || image.contains(" ")) {
      throw MillraceException.invalid("--image is '%s', which is not the name of an image.", image);
    }
    if (ps < 0 || workers < 1) {
      throw MillraceException.invalid(
          "A job needs at least one worker and no negative number of parameter servers, not %d"
              + " workers and %d ps.",
          workers, ps);
    }
    if (port < 1024 || port > 65535) {
      throw MillraceException.invalid("--port is %d; who is not root can use 1024 to 65535.", port);
    }
    checkQuantity("--cpu", cpu);
    checkQuantity("--memory", memory);
    checkQuantity("--storage", storage);
    args = List.copyOf(args);
  }

  private static void checkName(String flag, String name) {
    if (!NAME.matcher(name).matches()) {
      throw MillraceException.invalid(
          "%s is '%s'; it must be at most 40 lower-case letters, digits and dashes, a letter first"
              + " and no dash last.",
          flag, name);
    }
  }

  private static void checkQuantity(String flag, String quantity) {
    if (!QUANTITY.matcher(quantity).matches()) {
      throw MillraceException.invalid(
          "%s is '%s', which is not a quantity such as 2, 500m or 4Gi.", flag, quantity);
    }
  }

  /** Whether there are only workers, which reduce their gradients around a ring. */
  public boolean isRing() {
    return ps == 0;
  }
}
