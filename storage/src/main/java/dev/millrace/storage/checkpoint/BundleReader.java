package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.proto.TensorSliceProto;
import dev.millrace.storage.Failures;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a checkpoint: a tensor bundle, of one data file or many, written by Millrace or TensorFlow.
 * Reads tensors on demand, whole or in part, independently of the parts in which they were saved.
 * Verifies the checksum of every piece that it reads.
 *
 * <p>Threading: any number of threads may read at once.
 */
public final class BundleReader implements AutoCloseable {
  private final Path prefix;
  private final BundleIndex index;
  private final BundleData data;

  /**
   * Opens the bundle {@code prefix} and reads its index. Fails with NOT_FOUND if it does not exist.
   */
  public BundleReader(Path prefix) {
    this.prefix = prefix;
    this.index = BundleIndex.read(prefix);
    this.data = new BundleData(prefix, index.shards());
  }

  /** The names of all tensors, in order. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    for (ByteString key : index.entries().keySet()) {
      if (BundleIndex.isName(key)) {
        names.add(key.toStringUtf8());
      }
    }
    return names;
  }

  /** Whether the bundle contains a tensor of this name, whole or in parts. */
  public boolean contains(String name) {
    ByteString key = ByteString.copyFromUtf8(name);
    return BundleIndex.isName(key) && index.entries().containsKey(key);
  }

  /** The element type of a tensor. */
  public DType dtype(String name) {
    return dtypeOf(name, entry(name));
  }

  /** The shape of a tensor; for a partitioned tensor, the full shape. */
  public Shape shape(String name) {
    return shapeOf(name, entry(name));
  }

  /** The parts a tensor was saved in; empty if it was saved whole. */
  public List<TensorSlice> slices(String name) {
    return entry(name).getSlicesList().stream().map(TensorSlice::of).toList();
  }

  /** The whole tensor. The caller owns it. */
  public Tensor read(String name) {
    return Refs.handle(readCounted(name), name);
  }

  /** The whole tensor, with one counted reference that the caller releases. */
  public Tensor readCounted(String name) {
    BundleEntryProto entry = entry(name);
    Shape full = shapeOf(name, entry);
    return read(name, entry, full, TensorSlice.whole(full.rank()));
  }

  /** Part of a tensor. The whole must have the shape the caller says it has. */
  public Tensor read(String name, ShapeAndSlice part) {
    return Refs.handle(readCounted(name, part), name);
  }

  /** Part of a tensor, with one counted reference that the caller releases. */
  public Tensor readCounted(String name, ShapeAndSlice part) {
    BundleEntryProto entry = entry(name);
    Shape full = shapeOf(name, entry);
    if (!full.equals(part.shape())) {
      throw MillraceException.invalid(
          "Tensor '%s' has shape %s in checkpoint %s, but a slice of a tensor of shape %s was asked"
              + " for ('%s').",
          name, full, prefix, part.shape(), part);
    }
    return read(name, entry, full, part.slice());
  }

  /** Verifies the checksums of a tensor without keeping its data; fails if it is damaged. */
  public void verify(String name) {
    BundleEntryProto entry = entry(name);
    Shape full = shapeOf(name, entry);
    for (Piece piece : wholePieces(name, entry, full, TensorSlice.whole(full.rank()))) {
      data.verify(name, piece.entry(), dtypeOf(name, entry), piece.slice().shapeIn(full));
    }
  }

  private Tensor read(String name, BundleEntryProto entry, Shape full, TensorSlice wanted) {
    List<Piece> pieces = wholePieces(name, entry, full, wanted);
    Tensor out = Refs.allocate(dtypeOf(name, entry), wanted.shapeIn(full));
    try {
      for (Piece piece : pieces) {
        data.read(name, piece.entry(), piece.slice().shapeIn(full), piece.in(wanted, full), out);
      }
    } catch (Throwable t) {
      Refs.release(out);
      throw t;
    }
    return out;
  }

  /** The stored pieces that cover the wanted slice, with their sizes checked. */
  private List<Piece> wholePieces(
      String name, BundleEntryProto entry, Shape full, TensorSlice wanted) {
    DType dtype = dtypeOf(name, entry);
    if (!dtype.isPlain() && dtype != DType.STRING) {
      throw unreadable(name, "a " + dtype + " tensor cannot be restored.", null);
    }
    Shape shape = wanted.shapeIn(full);
    List<Piece> pieces = pieces(name, entry, full, wanted);
    long found = 0;
    for (Piece piece : pieces) {
      data.check(name, piece.entry(), dtype, piece.slice().shapeIn(full));
      found += piece.in(wanted, full).elements();
    }
    if (found != shape.elements()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "Checkpoint %s has only %d of %d elements of slice '%s' of tensor '%s': the %d parts"
                  + " saved do not cover it.",
              prefix, found, shape.elements(), wanted, name, entry.getSlicesCount()));
    }
    return pieces;
  }

  /** One stored part of a tensor. */
  private record Piece(BundleEntryProto entry, TensorSlice slice) {
    CommonRuns in(TensorSlice wanted, Shape full) {
      return new CommonRuns(slice, wanted, full);
    }
  }

  /** The stored pieces that overlap the wanted slice. */
  private List<Piece> pieces(String name, BundleEntryProto entry, Shape full, TensorSlice wanted) {
    if (entry.getSlicesCount() == 0) {
      return List.of(new Piece(entry, TensorSlice.whole(full.rank())));
    }
    BundleEntryProto exact = index.entries().get(wanted.keyOf(name));
    if (exact != null) {
      return List.of(new Piece(exact, wanted));
    }
    List<Piece> pieces = new ArrayList<>();
    for (TensorSliceProto proto : entry.getSlicesList()) {
      TensorSlice slice = TensorSlice.of(proto);
      BundleEntryProto part = index.entries().get(slice.keyOf(name));
      if (part == null || !slice.fits(full)) {
        throw corrupt("slice '%s' of tensor '%s' is missing or does not fit.", slice, name);
      }
      Piece piece = new Piece(part, slice);
      if (piece.in(wanted, full).elements() > 0) {
        for (Piece other : pieces) {
          if (other.in(slice, full).elements() > 0) {
            throw corrupt("slices '%s' and '%s' of '%s' overlap.", slice, other.slice(), name);
          }
        }
        pieces.add(piece);
      }
    }
    return pieces;
  }

  private BundleEntryProto entry(String name) {
    BundleEntryProto entry = index.entries().get(ByteString.copyFromUtf8(name));
    if (entry == null || !contains(name)) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "Key %s not found in checkpoint %s, which has %d other tensors.",
              name, prefix, names().size()));
    }
    return entry;
  }

  private DType dtypeOf(String name, BundleEntryProto entry) {
    try {
      return DType.of(entry.getDtypeValue());
    } catch (MillraceException e) {
      throw unreadable(name, e.getMessage(), e);
    }
  }

  private MillraceException unreadable(
      String name, @Nullable String why, @Nullable Throwable cause) {
    return new MillraceException(
        Code.UNIMPLEMENTED,
        String.format("Tensor '%s' in checkpoint %s: %s", name, prefix, why),
        cause);
  }

  private Shape shapeOf(String name, BundleEntryProto entry) {
    Shape shape = ShapeMessages.shape(entry.getShape());
    if (shape != null) {
      return shape;
    }
    throw corrupt("tensor '%s' has a shape that no tensor has.", name);
  }

  private MillraceException corrupt(String format, Object... args) {
    return Failures.corrupt(BundleIndex.file(prefix), format, args);
  }

  @Override
  public void close() {
    data.close();
  }
}
