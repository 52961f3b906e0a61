package dev.millrace.cluster.link;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * What two processes tell each other before they link, by a call a TensorFlow process does not
 * know.
 *
 * @param version of the link's frames; processes of different versions do not link
 * @param identity who speaks
 * @param cluster the speaker's cluster, encoded
 * @param devices the speaker's devices as GetStatus tells them, encoded
 * @param folder the folder it shares on its host; empty if none
 * @param port where it accepts links from other hosts; 0 if nowhere
 * @param ticketHigh with {@code ticketLow} what the other one shows when it connects: random
 *     numbers, or zeros
 * @param ticketLow see {@code ticketHigh}
 */
public record Greeting(
    int version,
    TaskIdentity identity,
    byte[] cluster,
    byte[] devices,
    String folder,
    int port,
    long ticketHigh,
    long ticketLow) {
  /** Changes whenever the frames do. */
  public static final int VERSION = 4;

  /** The form on the wire. */
  public byte[] encode() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    try {
      out.writeInt(version);
      out.writeUTF(identity.task());
      out.writeLong(identity.incarnation());
      out.writeUTF(identity.address());
      out.writeInt(cluster.length);
      out.write(cluster);
      out.writeInt(devices.length);
      out.write(devices);
      out.writeUTF(folder);
      out.writeInt(port);
      out.writeLong(ticketHigh);
      out.writeLong(ticketLow);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return bytes.toByteArray();
  }

  /** Reads the form on the wire. */
  public static Greeting decode(byte[] bytes) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    int version = in.readInt();
    TaskIdentity identity = new TaskIdentity(in.readUTF(), in.readLong(), in.readUTF());
    return new Greeting(
        version,
        identity,
        block(in),
        block(in),
        in.readUTF(),
        in.readInt(),
        in.readLong(),
        in.readLong());
  }

  private static byte[] block(DataInputStream in) throws IOException {
    int n = in.readInt();
    if (n < 0 || n > in.available()) {
      throw new IOException("a greeting that claims " + n + " bytes");
    }
    return in.readNBytes(n);
  }
}
