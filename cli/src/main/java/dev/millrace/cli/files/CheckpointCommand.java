package dev.millrace.cli.files;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.Amount;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Table;
import dev.millrace.proto.CheckpointState;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.array.ArrayFiles;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Looks into checkpoints, ours and TensorFlow's. */
@Command(
    name = "checkpoint",
    description = "Look into checkpoints, Millrace's and TensorFlow's, and convert them.",
    footer = {
      "",
      "Examples:",
      "  millrace checkpoint ls logs",
      "  millrace checkpoint show logs/model.ckpt-3000",
      "  millrace checkpoint verify logs",
      "  millrace checkpoint export logs weights.npz",
      "  millrace checkpoint import weights.safetensors start/model.ckpt-0",
    })
public final class CheckpointCommand implements Runnable {
  private static final String PLACE =
      "A checkpoint's path, with or without .index, or a folder, which means the latest in it.";

  @Spec CommandSpec spec;

  @Override
  public void run() {
    throw ErrorPrinter.noSubcommand(spec);
  }

  @Command(
      name = "ls",
      description = "List the checkpoints of a folder, oldest first.",
      footer = {"", "Example:", "  millrace checkpoint ls logs"})
  int ls(
      @Mixin CommandOutput report,
      @Parameters(paramLabel = "FOLDER", description = "Where they were saved.") Path folder) {
    List<SavedCheckpoint> all = SavedCheckpoint.in(folder);
    if (report.json) {
      report.json(all.stream().map(SavedCheckpoint::facts).toList());
      return 0;
    }
    Table table = new Table("step", "name", "tensors", "size", "saved", "");
    for (SavedCheckpoint c : all) {
      table.row(
          c.step() < 0 ? "-" : c.step(),
          c.prefix().getFileName(),
          c.tensors() < 0 ? "damaged" : c.tensors(),
          Amount.bytes(c.bytes()),
          c.saved(),
          c.latest() ? "latest" : "");
    }
    table.print(report.out());
    return 0;
  }

  @Command(
      name = "show",
      description = "List the tensors of a checkpoint, or show one of them.",
      footer = {
        "",
        "Examples:",
        "  millrace checkpoint show logs",
        "  millrace checkpoint show logs/model.ckpt-3000 logits/bias",
      })
  int show(
      @Mixin CommandOutput report,
      @Parameters(paramLabel = "CHECKPOINT", description = PLACE) Path place,
      @Parameters(paramLabel = "TENSOR", arity = "0..1", description = "The tensor to show.")
          String name) {
    Path prefix = SavedCheckpoint.find(place);
    try (BundleReader reader = new BundleReader(prefix)) {
      if (name != null) {
        showOne(report, reader, name);
      } else {
        showAll(report, prefix, reader);
      }
    }
    return 0;
  }

  private static void showAll(CommandOutput report, Path prefix, BundleReader reader) {
    List<Map<String, Object>> facts = new ArrayList<>();
    Table table = new Table("tensor", "type", "shape", "parts", "size");
    long numbers = 0;
    long bytes = 0;
    for (String name : reader.names()) {
      DType dtype = reader.dtype(name);
      Shape shape = reader.shape(name);
      int parts = Math.max(1, reader.slices(name).size());
      long size = dtype.isPlain() ? shape.elements() * dtype.bytes() : -1;
      numbers += shape.elements();
      bytes += Math.max(0, size);
      table.row(name, dtype, shape, parts, size < 0 ? "-" : Amount.bytes(size));
      Map<String, Object> f = new LinkedHashMap<>();
      f.put("name", name);
      f.put("type", dtype.toString());
      f.put("shape", java.util.Arrays.stream(shape.dims()).boxed().toList());
      f.put("parts", parts);
      f.put("bytes", size < 0 ? null : size);
      facts.add(f);
    }
    if (report.json) {
      report.json(Map.of("checkpoint", prefix.toString(), "tensors", facts));
      return;
    }
    report.out().println(prefix);
    table.print(report.out());
    report
        .out()
        .printf(
            Locale.ROOT,
            "%d tensors, %,d elements, %s%n",
            facts.size(),
            numbers,
            Amount.bytes(bytes));
  }

  private static void showOne(CommandOutput report, BundleReader reader, String name) {
    try (Tensor t = reader.read(name)) {
      TensorFacts facts = TensorFacts.of(name, t);
      if (report.json) {
        report.json(facts.asMap());
      } else {
        facts.print(report.out());
      }
    }
  }

  @Command(
      name = "verify",
      description = "Read every tensor of checkpoints and compare it with its checksum.",
      footer = {"", "Example:", "  millrace checkpoint verify logs && echo whole"})
  int verify(
      @Mixin CommandOutput report,
      @Parameters(
              paramLabel = "CHECKPOINT",
              description =
                  "A checkpoint's path, with or without .index, or a folder, which means all in"
                      + " it.")
          Path place) {
    List<CheckpointDamage> all =
        SavedCheckpoint.allAt(place).stream().map(CheckpointDamage::in).toList();
    if (report.json) {
      report.json(all.stream().map(CheckpointDamage::facts).toList());
    } else {
      all.forEach(c -> c.print(report.out()));
    }
    return all.stream().allMatch(CheckpointDamage::isNone) ? 0 : ErrorPrinter.FAILURE;
  }

  @Command(
      name = "export",
      description = "Write the tensors of a checkpoint to a file of NumPy or safetensors.",
      footer = {
        "",
        "Examples:",
        "  millrace checkpoint export logs weights.npz",
        "  millrace checkpoint export logs/model.ckpt-3000 weights.safetensors --only '.*/kernel'",
      })
  int export(
      @Mixin CommandOutput report,
      @Parameters(paramLabel = "CHECKPOINT", description = PLACE) Path place,
      @Parameters(paramLabel = "FILE", description = "Its name ends in .npz or .safetensors.")
          Path file,
      @Option(
              names = "--only",
              paramLabel = "PATTERN",
              description = "Only tensors whose whole name matches this regular expression.")
          Pattern only) {
    Path prefix = SavedCheckpoint.find(place);
    List<String> names =
        ArrayFiles.fromCheckpoint(prefix, file, n -> only == null || only.matcher(n).matches());
    return written(report, names, file);
  }

  @Command(
      name = "import",
      description = "Write the tensors of a file of NumPy or safetensors to a checkpoint.",
      footer = {
        "",
        "Example:",
        "  millrace checkpoint import weights.npz start/model.ckpt-0",
      })
  int imports(
      @Mixin CommandOutput report,
      @Parameters(paramLabel = "FILE", description = "Its name ends in .npz or .safetensors.")
          Path file,
      @Parameters(
              paramLabel = "CHECKPOINT",
              description = "The path of the new checkpoint, such as logs/model.ckpt-0.")
          Path checkpoint) {
    if (Files.isDirectory(checkpoint)) {
      throw MillraceException.invalid(
          "%s is a folder; name the checkpoint in it, such as %s.",
          checkpoint, checkpoint.resolve("model.ckpt-0"));
    }
    List<String> names = ArrayFiles.toCheckpoint(file, checkpoint);
    CheckpointStateFile.write(
        AtomicFile.folderOf(checkpoint),
        CheckpointState.newBuilder()
            .setModelCheckpointPath(checkpoint.toAbsolutePath().toString())
            .addAllModelCheckpointPaths(checkpoint.toAbsolutePath().toString())
            .build());
    return written(report, names, checkpoint);
  }

  private static int written(CommandOutput report, List<String> names, Path to) {
    if (report.json) {
      report.json(Map.of("written", to.toString(), "tensors", names));
    } else {
      report.out().printf(Locale.ROOT, "%s: %d tensors%n", to, names.size());
    }
    return 0;
  }
}
