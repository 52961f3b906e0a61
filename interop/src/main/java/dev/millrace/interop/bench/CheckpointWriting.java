package dev.millrace.interop.bench;

import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Shape;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.checkpoint.SaverOptions;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * Puts 64 MiB on the disk, again and again: as it is, and as a checkpoint. Argument: the folder.
 */
public final class CheckpointWriting {
  private static final int VARIABLES = 4;
  private static final int FLOATS = 4 << 20;
  private static final int PIECE_BYTES = 1 << 20;

  private CheckpointWriting() {}

  /** The disk itself: one file, written from front to back and forced. */
  public static final class Disk implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      Path folder = Path.of(arguments.getFirst());
      ByteBuffer piece = ByteBuffer.allocateDirect(PIECE_BYTES);
      byte[] noise = new byte[PIECE_BYTES];
      new Random(1).nextBytes(noise);
      piece.put(noise);
      return new Writing("the disk itself", () -> write(folder.resolve("data"), piece));
    }

    private static void write(Path file, ByteBuffer piece) {
      try (FileChannel channel =
          FileChannel.open(
              file,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE)) {
        for (long left = 4L * VARIABLES * FLOATS; left > 0; left -= PIECE_BYTES) {
          piece.clear();
          while (piece.hasRemaining()) {
            channel.write(piece);
          }
        }
        channel.force(true);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** A saver, which also sums the bytes up, names the checkpoint the latest and removes another. */
  public static final class Checkpoint implements ContenderProcess.Maker {
    private long step;

    @Override
    public Contender make(List<String> arguments) {
      Scope scope = Scope.of(StandardOps.newGraph());
      VariableScope variables = VariableScope.of(scope);
      for (int i = 0; i < VARIABLES; i++) {
        variables.variable("v" + i, Shape.of(FLOATS), Initializers.randomUniform(-1, 1));
      }
      Saver saver = Saver.of(scope, SaverOptions.DEFAULT.withMaxToKeep(1).withMetaGraph(false));
      Session session = new LocalSession(scope.graph());
      session.run(Variables.initializer(scope));
      Path folder = Path.of(arguments.getFirst());
      return new Writing("checkpoint", () -> saver.save(session, folder.resolve("model"), step++));
    }
  }

  private record Writing(String name, Runnable write) implements Contender {
    @Override
    public Sample run(Duration duration) {
      return Sample.of(write, duration);
    }

    @Override
    public void close() {
      // The files are in a folder of the one who asks.
    }
  }
}
