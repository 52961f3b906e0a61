package dev.millrace.ops.summary;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.proto.DataType;
import dev.millrace.proto.HistogramProto;
import dev.millrace.proto.Summary;
import dev.millrace.proto.SummaryMetadata;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.awt.image.BufferedImage;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The expected numbers are what TensorFlow 2.21 gives for the same inputs. */
class SummaryOpsTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output constant(Tensor t) {
    return session.constant(t);
  }

  private Summary run(Output summary) {
    try {
      return Summary.parseFrom(session.fetch(summary).bytesAt(0));
    } catch (com.google.protobuf.InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private void fails(String why, Output summary) {
    MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(summary));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void scalarsHaveATagEach() {
    Output tags = constant(Tensor.vector("a", "b"));
    Summary s = run(scope.add(ScalarSummary.OP, tags, constant(Tensor.vector(1.5, 2))).output());
    assertEquals(2, s.getValueCount());
    assertEquals("b", s.getValue(1).getTag());
    assertEquals(1.5f, s.getValue(0).getSimpleValue());
    assertEquals(
        3f,
        run(ScalarSummary.of(scope, "n", constant(Tensor.scalar(3)))).getValue(0).getSimpleValue());
    fails(
        "tags and values are not the same shape: [2] != [3]",
        scope.add(ScalarSummary.OP, tags, constant(Tensor.vector(1f, 2f, 3f))).output());
  }

  @Test
  void histogramsHaveTensorFlowsBuckets() {
    Output values = constant(Tensor.vector(-3, 0, 0.5, 0.5, 2, 1e25));
    HistogramProto h = run(HistogramSummary.of(scope, "h", values)).getValue(0).getHisto();
    assertEquals(-3, h.getMin());
    assertEquals(1e25, h.getMax());
    assertEquals(6, h.getNum());
    assertEquals(1e25, h.getSum());
    assertEquals(1.0000000000000003e+50, h.getSumSquares());
    assertEquals(
        List.of(
            -3.1665833053880363,
            -2.8787120958073054,
            0.0,
            1e-12,
            0.47069243095356195,
            0.51776167404891815,
            1.9661990955585713,
            2.1628190051144287,
            9.9207756218597835e+19,
            Double.MAX_VALUE),
        h.getBucketLimitList());
    assertEquals(List.of(0., 1., 0., 1., 0., 2., 0., 1., 0., 1.), h.getBucketList());
  }

  @Test
  void theLastRunOfEmptyBucketsIsKept() {
    Tensor bytes = Tensor.of(Shape.of(3), (byte) 1, (byte) 2, (byte) 250);
    HistogramProto h = run(HistogramSummary.of(scope, "h", constant(bytes))).getValue(0).getHisto();
    assertEquals(62505, h.getSumSquares());
    assertEquals(
        List.of(
            0.917246389039776,
            1.0089710279437536,
            1.9661990955585713,
            2.1628190051144287,
            230.81378875890724,
            253.89516763479799,
            Double.MAX_VALUE),
        h.getBucketLimitList());
    assertEquals(List.of(0., 1., 0., 1., 0., 1., 0.), h.getBucketList());
    Output none = constant(Tensor.vector(new float[0]));
    HistogramProto empty = run(HistogramSummary.of(scope, "h", none)).getValue(0).getHisto();
    assertEquals(Double.MAX_VALUE, empty.getMin());
    assertEquals(-Double.MAX_VALUE, empty.getMax());
    assertEquals(List.of(Double.MAX_VALUE), empty.getBucketLimitList());
  }

  @Test
  void whatIsNotFiniteHasNoHistogram() {
    fails(
        "Nan in summary histogram for: h",
        HistogramSummary.of(scope, "h", constant(Tensor.vector(1f, Float.NaN))));
    fails(
        "Infinity in summary histogram for: h",
        HistogramSummary.of(scope, "h", constant(Tensor.vector(1f, Float.NEGATIVE_INFINITY))));
  }

  // ---- images ----

  private Summary images(Tensor t, int most) {
    return run(
        scope
            .node(ImageSummary.OP)
            .input(constant(Tensor.scalar("im")))
            .input(constant(t))
            .attr("max_images", most)
            .add()
            .output());
  }

  private static List<Integer> pixels(Summary.Value v) {
    try {
      byte[] png = v.getImage().getEncodedImageString().toByteArray();
      BufferedImage image = ImageIO.read(new ByteArrayInputStream(png));
      assertEquals(v.getImage().getHeight(), image.getHeight());
      assertEquals(v.getImage().getWidth(), image.getWidth());
      Raster r = image.getRaster();
      assertEquals(v.getImage().getColorspace(), r.getNumBands());
      List<Integer> all = new ArrayList<>();
      for (int y = 0; y < image.getHeight(); y++) {
        for (int x = 0; x < image.getWidth(); x++) {
          Arrays.stream(r.getPixel(x, y, (int[]) null)).forEach(all::add);
        }
      }
      return all;
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void imagesAreStretchedOneByOne() {
    Tensor t = Tensor.of(Shape.of(2, 2, 2, 1), 0f, .25f, .5f, .75f, 1f, 1.25f, 1.5f, 1.75f);
    Summary s = images(t, 3);
    assertEquals("im/image/0", s.getValue(0).getTag());
    assertEquals(List.of(0, 85, 170, 255), pixels(s.getValue(0)));
    assertEquals("im/image/1", s.getValue(1).getTag());
    assertEquals(List.of(145, 182, 218, 254), pixels(s.getValue(1)));
  }

  @Test
  void negativeImagesAreCentred() {
    Tensor t = Tensor.of(Shape.of(1, 2, 2, 1), -1f, -2 / 3f, -1 / 3f, 0f);
    Summary s = images(t, 1);
    assertEquals("im/image", s.getValue(0).getTag());
    assertEquals(List.of(1, 43, 85, 128), pixels(s.getValue(0)));
  }

  @Test
  void pixelsThatAreNotFiniteGetTheBadColour() {
    Tensor rgb = Tensor.of(Shape.of(1, 2, 1, 3), 1f, 2f, 3f, Float.NaN, 1f, 1f);
    assertEquals(List.of(85, 170, 255, 255, 0, 0), pixels(images(rgb, 3).getValue(0)));
    Tensor rgba =
        Tensor.of(Shape.of(1, 2, 1, 4), 1f, 2f, 3f, .5f, Float.POSITIVE_INFINITY, 1f, 1f, 1f);
    Summary s =
        run(
            scope
                .node(ImageSummary.OP)
                .input(constant(Tensor.scalar("im")))
                .input(constant(rgba))
                .attr("bad_color", Tensor.of(Shape.of(4), new byte[] {1, 2, 3, 4}))
                .add()
                .output());
    assertEquals(List.of(85, 170, 255, 42, 1, 2, 3, 4), pixels(s.getValue(0)));
    Tensor nothing = Tensor.of(Shape.of(1, 1, 2, 1), Float.NaN, Float.NaN);
    assertEquals(List.of(255, 255), pixels(images(nothing, 3).getValue(0)));
  }

  @Test
  void tinyImagesAreNotStretched() {
    assertEquals(
        List.of(0, 0),
        pixels(images(Tensor.of(Shape.of(1, 1, 2, 1), 1e-8f, 5e-8f), 3).getValue(0)));
    assertEquals(
        List.of(128, 128),
        pixels(images(Tensor.of(Shape.of(1, 1, 2, 1), -1e-8f, 5e-8f), 3).getValue(0)));
  }

  @Test
  void everyTypeOfImageWorks() {
    Tensor half = Tensor.allocate(DType.HALF, Shape.of(1, 1, 2, 1));
    half.setDouble(0, .25);
    half.setDouble(1, 1);
    assertEquals(List.of(63, 255), pixels(images(half, 3).getValue(0)));
    Tensor twice = Tensor.of(Shape.of(1, 1, 2, 1), -.25, 1.);
    assertEquals(List.of(96, 255), pixels(images(twice, 3).getValue(0)));
    Tensor bytes = Tensor.of(Shape.of(1, 1, 1, 3), (byte) 7, (byte) 8, (byte) 200);
    assertEquals(List.of(7, 8, 200), pixels(images(bytes, 3).getValue(0)));
    byte[] many = new byte[300 * 200];
    new java.util.Random(5).nextBytes(many);
    List<Integer> back = pixels(images(Tensor.of(Shape.of(1, 300, 200, 1), many), 1).getValue(0));
    for (int i = 0; i < many.length; i++) {
      assertEquals(many[i] & 0xFF, back.get(i));
    }
  }

  @Test
  void imagesMustLookLikeImages() {
    Output tag = constant(Tensor.scalar("im"));
    fails(
        "last dim 1, 3, or 4, not [1,1,1,2]",
        scope
            .add(ImageSummary.OP, tag, constant(Tensor.of(Shape.of(1, 1, 1, 2), 1f, 2f)))
            .output());
    fails(
        "must have a height and a width",
        scope
            .add(ImageSummary.OP, tag, constant(Tensor.of(Shape.of(1, 0, 2, 1), new float[0])))
            .output());
    assertEquals(0, images(Tensor.of(Shape.of(0, 2, 2, 1), new float[0]), 1).getValueCount());
  }

  // ---- the rest ----

  @Test
  void audioIsWrittenAsWav() {
    Output clips = constant(Tensor.of(Shape.of(2, 4), 0f, .5f, -1f, 1.5f, 1f, 0f, 0f, 0f));
    Output rate = constant(Tensor.scalar(8000f));
    Output tag = constant(Tensor.scalar("au"));
    Summary s = run(scope.add(AudioSummary.V2, tag, clips, rate).output());
    Summary.Audio a = s.getValue(0).getAudio();
    assertEquals("au/audio/0", s.getValue(0).getTag());
    assertEquals("au/audio/1", s.getValue(1).getTag());
    assertEquals("audio/wav", a.getContentType());
    assertEquals(4, a.getLengthFrames());
    assertEquals(
        "524946462c00000057415645666d74201000000001000100401f0000803e0000020010006461746108000000"
            + "000000400080ff7f",
        HexFormat.of().formatHex(a.getEncodedAudioString().toByteArray()));
    Tensor stereo = Tensor.of(Shape.of(1, 4, 2), 0f, .125f, .25f, .375f, .5f, .625f, .75f, .875f);
    Summary two = run(scope.add(AudioSummary.V2, tag, constant(stereo), rate).output());
    assertEquals(2, two.getValue(0).getAudio().getNumChannels());
    assertEquals(
        "524946463400000057415645666d74201000000001000200401f0000007d0000040010006461746110000000"
            + "00000010002000300040005000600070",
        HexFormat.of().formatHex(two.getValue(0).getAudio().getEncodedAudioString().toByteArray()));
  }

  @Test
  void tensorsAreKeptWhole() {
    Output t = constant(Tensor.vector(1f, 2f));
    Summary.Value v1 = run(scope.withName("node").add(TensorSummary.V1, t).output()).getValue(0);
    assertEquals("node", v1.getNodeName());
    assertEquals(DataType.DT_FLOAT, v1.getTensor().getDtype());
    assertArrayEquals(
        new byte[] {0, 0, (byte) 0x80, 0x3F, 0, 0, 0, 0x40},
        v1.getTensor().getTensorContent().toByteArray());
    SummaryMetadata metadata = SummaryMetadata.newBuilder().setDisplayName("q").build();
    Object[] bytes = {metadata.toByteArray()};
    Output meta = constant(Tensor.ofObjects(DType.STRING, Shape.scalar(), bytes));
    Summary.Value v2 =
        run(scope
                .add(
                    TensorSummary.V2,
                    constant(Tensor.scalar("t")),
                    constant(Tensor.vector("x", "y")),
                    meta)
                .output())
            .getValue(0);
    assertEquals("t", v2.getTag());
    assertEquals(metadata, v2.getMetadata());
    assertEquals("y", v2.getTensor().getStringVal(1).toStringUtf8());
  }

  @Test
  void mergingKeepsAllValuesAndRefusesATagTwice() {
    Output a = ScalarSummary.of(scope, "a", constant(Tensor.scalar(1f)));
    Output b = ScalarSummary.of(scope, "b", constant(Tensor.scalar(2f)));
    Summary s = run(MergeSummary.of(scope, List.of(a, b)));
    assertEquals("a", s.getValue(0).getTag());
    assertEquals(2f, s.getValue(1).getSimpleValue());
    fails("Duplicate tag a found in summary inputs", MergeSummary.of(scope, List.of(a, a)));
    fails(
        "Could not parse",
        MergeSummary.of(scope, List.of(constant(Tensor.scalar("not a summary")))));
  }
}
