package dev.millrace.ops.summary;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Encodes images as PNG: eight bits per channel, not interlaced. */
final class Png {
  private static final byte[] SIGNATURE = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

  /** The length, type and checksum around a chunk's data. */
  private static final int CHUNK_OVERHEAD = 12;

  private Png() {}

  /** The file of an image of 1 (grey), 3 (RGB) or 4 (RGBA) channels, row by row. */
  static byte[] encode(byte[] pixels, int height, int width, int channels) {
    ByteBuffer header = ByteBuffer.allocate(13);
    int colorType = channels == 1 ? 0 : channels == 3 ? 2 : 6;
    header.putInt(width).putInt(height).put((byte) 8).put((byte) colorType);
    byte[] data = deflate(pixels, height, width * channels);
    ByteBuffer out = ByteBuffer.allocate(SIGNATURE.length + 3 * CHUNK_OVERHEAD + 13 + data.length);
    out.put(SIGNATURE);
    chunk(out, "IHDR", header.array());
    chunk(out, "IDAT", data);
    chunk(out, "IEND", new byte[0]);
    return out.array();
  }

  /** The compressed rows, each as the difference to the row above (filter type 2). */
  private static byte[] deflate(byte[] pixels, int height, int rowBytes) {
    byte[] filtered = new byte[height * (rowBytes + 1)];
    for (int y = 0, to = 0; y < height; y++) {
      filtered[to++] = 2;
      for (int x = 0; x < rowBytes; x++) {
        int above = y == 0 ? 0 : pixels[(y - 1) * rowBytes + x];
        filtered[to++] = (byte) (pixels[y * rowBytes + x] - above);
      }
    }
    try (Deflater deflater = new Deflater()) {
      deflater.setInput(filtered);
      deflater.finish();
      byte[] out = new byte[filtered.length + filtered.length / 1000 + 64];
      int n = 0;
      while (!deflater.finished()) {
        n += deflater.deflate(out, n, out.length - n);
      }
      return java.util.Arrays.copyOf(out, n);
    }
  }

  private static void chunk(ByteBuffer out, String type, byte[] data) {
    byte[] name = type.getBytes(StandardCharsets.US_ASCII);
    CRC32 crc = new CRC32();
    crc.update(name);
    crc.update(data);
    out.putInt(data.length).put(name).put(data).putInt((int) crc.getValue());
  }
}
