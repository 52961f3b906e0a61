package dev.millrace.interop.conformance;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.proto.HistogramProto;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.Tensor;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.util.Optional;
import javax.imageio.ImageIO;

/** When two serialized summaries say the same: pictures by their pixels, sums up to rounding. */
final class SummaryCloseness {
  private static final double ROUNDING = 1e-9;

  private SummaryCloseness() {}

  static Optional<String> difference(Tensor expected, Tensor actual) {
    Optional<String> outside =
        expected.shape().equals(actual.shape())
            ? Optional.empty()
            : Optional.of("shape " + actual.shape() + ", should be " + expected.shape());
    for (long i = 0; i < expected.elements() && outside.isEmpty(); i++) {
      try {
        Summary e = Summary.parseFrom(expected.bytesAt(i));
        Summary a = Summary.parseFrom(actual.bytesAt(i));
        if (!same(e, a)) {
          return Optional.of("says\n" + a + "should say\n" + e);
        }
      } catch (InvalidProtocolBufferException e) {
        return Optional.of("not a summary: " + e.getMessage());
      }
    }
    return outside;
  }

  private static boolean same(Summary e, Summary a) {
    if (e.getValueCount() != a.getValueCount()) {
      return false;
    }
    for (int i = 0; i < e.getValueCount(); i++) {
      if (!same(e.getValue(i), a.getValue(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean same(Summary.Value e, Summary.Value a) {
    if (e.getValueCase() != a.getValueCase() || !e.getTag().equals(a.getTag())) {
      return false;
    }
    return switch (e.getValueCase()) {
      case HISTO -> same(e.getHisto(), a.getHisto());
      case IMAGE ->
          plain(e.getImage()).equals(plain(a.getImage()))
              && samePixels(
                  e.getImage().getEncodedImageString(), a.getImage().getEncodedImageString());
      default -> e.equals(a);
    };
  }

  private static Summary.Image plain(Summary.Image image) {
    return image.toBuilder().clearEncodedImageString().build();
  }

  private static boolean same(HistogramProto e, HistogramProto a) {
    boolean same =
        near(e.getMin(), a.getMin())
            && near(e.getMax(), a.getMax())
            && near(e.getNum(), a.getNum())
            && near(e.getSum(), a.getSum())
            && near(e.getSumSquares(), a.getSumSquares())
            && e.getBucketList().equals(a.getBucketList())
            && e.getBucketLimitCount() == a.getBucketLimitCount();
    for (int i = 0; same && i < e.getBucketLimitCount(); i++) {
      same = near(e.getBucketLimit(i), a.getBucketLimit(i));
    }
    return same;
  }

  private static boolean near(double e, double a) {
    return e == a || Math.abs(e - a) <= ROUNDING * Math.abs(e);
  }

  private static boolean samePixels(ByteString e, ByteString a) {
    try {
      BufferedImage x = ImageIO.read(e.newInput());
      BufferedImage y = ImageIO.read(a.newInput());
      for (int row = 0; row < x.getHeight(); row++) {
        for (int column = 0; column < x.getWidth(); column++) {
          if (x.getRGB(column, row) != y.getRGB(column, row)) {
            return false;
          }
        }
      }
      return true;
    } catch (IOException | RuntimeException unreadable) {
      return false;
    }
  }
}
