package dev.millrace.ops.summary;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The first clips of a batch of audio, as WAV files of 16 bits. */
public final class AudioSummary {
  public static final Op V2 =
      Summaries.define(
              Op.define("AudioSummaryV2")
                  .attr("max_outputs: int >= 1 = 3")
                  .input("tag: string")
                  .input("tensor: float")
                  .input("sample_rate: float"))
          .kernelPerNode(
              node -> {
                long most = node.longAttr("max_outputs");
                return c -> compute(c, c.input(2).floatValue(), most);
              })
          .build();

  /** What the header of a WAVE file has no room for. */
  private static final float MOST_RATE = 0x1p32f;

  /** The older op, with the rate as an attribute. */
  public static final Op V1 =
      Summaries.define(
              Op.define("AudioSummary")
                  .attr("sample_rate: float")
                  .attr("max_outputs: int >= 1 = 3")
                  .input("tag: string")
                  .input("tensor: float"))
          .kernelPerNode(
              node -> {
                float rate = node.floatAttr("sample_rate");
                long most = node.longAttr("max_outputs");
                return c -> compute(c, rate, most);
              })
          .build();

  static final List<Op> ALL = List.of(V1, V2);

  private AudioSummary() {}

  private static void compute(KernelContext c, float rate, long most) {
    String tag = Summaries.tag(c, 0);
    Tensor t = c.input(1);
    Shape s = t.shape();
    if (s.rank() != 2 && s.rank() != 3) {
      throw MillraceException.invalid(
          "%s '%s': Tensor must be 3-D or 2-D (clips, frames, channels), got: %s.",
          c.node().op().name(), c.node().name(), s);
    }
    if (!(rate > 0 && rate < MOST_RATE)) {
      throw MillraceException.invalid(
          "%s '%s': sample_rate must be above 0 and below 2^32, not %s.",
          c.node().op().name(), c.node().name(), rate);
    }
    int frames = Math.toIntExact(s.dim(1));
    int channels = s.rank() == 3 ? Math.toIntExact(s.dim(2)) : 1;
    Summary.Builder summary = Summary.newBuilder();
    for (long i = 0; i < Math.min(most, s.dim(0)); i++) {
      summary
          .addValueBuilder()
          .setTag(Summaries.numbered(tag, "audio", i, most))
          .getAudioBuilder()
          .setSampleRate(rate)
          .setNumChannels(channels)
          .setLengthFrames(frames)
          .setContentType("audio/wav")
          .setEncodedAudioString(ByteString.copyFrom(wav(t, i, frames, channels, rate)));
    }
    Summaries.deliver(c, summary);
  }

  private static byte[] wav(Tensor t, long clip, int frames, int channels, float rate) {
    int samples = Math.multiplyExact(frames, channels);
    int bytes = Math.multiplyExact(samples, 2);
    int perSecond = Math.round(rate);
    ByteBuffer out = ByteBuffer.allocate(Math.addExact(44, bytes)).order(ByteOrder.LITTLE_ENDIAN);
    out.put(ascii("RIFF")).putInt(36 + bytes).put(ascii("WAVE"));
    out.put(ascii("fmt ")).putInt(16).putShort((short) 1).putShort((short) channels);
    out.putInt(perSecond).putInt(perSecond * channels * 2);
    out.putShort((short) (channels * 2)).putShort((short) 16);
    out.put(ascii("data")).putInt(bytes);
    for (int k = 0; k < samples; k++) {
      double v = t.doubleAt(clip * samples + k) * 32768;
      double rounded = Math.signum(v) * Math.floor(Math.abs(v) + 0.5);
      out.putShort((short) Math.clamp(rounded, Short.MIN_VALUE, Short.MAX_VALUE));
    }
    return out.array();
  }

  private static byte[] ascii(String s) {
    return s.getBytes(StandardCharsets.US_ASCII);
  }
}
