package dev.millrace.storage.checkpoint;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.proto.BundleHeaderProto;
import dev.millrace.proto.DataType;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.table.TableWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Bundles with any header, entry and data are read or refused. */
class BundleReaderFuzzTest {
  private static final Path PREFIX = Fuzzing.newFile("bundle");

  private static void write(byte[] header, byte[] entry, byte[] data) throws IOException {
    Files.write(BundleIndex.dataFile(PREFIX, 0, 1), data);
    try (AtomicFile file = new AtomicFile(BundleIndex.file(PREFIX))) {
      TableWriter table = new TableWriter(file);
      table.add(ByteString.EMPTY, ByteString.copyFrom(header));
      table.add(ByteString.copyFromUtf8("a"), ByteString.copyFrom(entry));
      table.finish();
      file.publish();
    }
  }

  private static byte[] seed(DataType type, int bytes) {
    byte[] header = BundleHeaderProto.newBuilder().setNumShards(1).build().toByteArray();
    byte[] entry =
        BundleEntryProto.newBuilder()
            .setDtype(type)
            .setShape(
                TensorShapeProto.newBuilder().addDim(TensorShapeProto.Dim.newBuilder().setSize(2)))
            .setSize(bytes)
            .build()
            .toByteArray();
    return Fuzzing.joined(
        new byte[] {(byte) header.length, (byte) entry.length}, header, entry, new byte[bytes]);
  }

  static Stream<byte[]> seeds() {
    return Stream.of(
        seed(DataType.DT_FLOAT, 8), seed(DataType.DT_STRING, 8), seed(DataType.DT_BOOL, 2));
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) throws IOException {
    int header = bytes.length < 2 ? 0 : bytes[0] & 0xFF;
    int entry = header + (bytes.length < 2 ? 0 : bytes[1] & 0xFF);
    write(
        Fuzzing.part(bytes, 2, 2 + header),
        Fuzzing.part(bytes, 2 + header, 2 + entry),
        Fuzzing.part(bytes, 2 + entry, bytes.length));
    try (BundleReader in = new BundleReader(PREFIX)) {
      for (String name : in.names()) {
        in.slices(name);
        in.read(name).close();
      }
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
