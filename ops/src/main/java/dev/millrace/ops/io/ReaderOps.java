package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.queue.Queue;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.ops.waiting.Background;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongBiFunction;
import java.util.stream.Stream;

/** Readers of records from files whose names are in a queue, and the ops that ask them. */
final class ReaderOps {
  /** A kind of reader: its op's name, its attribute, and how it opens a file. */
  private enum Flavor {
    RECORDS("TFRecordReader", "compression_type: string = ''", ReaderOps::records),
    LINES(
        "TextLineReader",
        "skip_header_lines: int = 0",
        node -> {
          int skipped = node.intAttr("skip_header_lines");
          return work -> new TextLines(work, skipped);
        }),
    BLOCKS("FixedLengthRecordReader", "encoding: string = ''", FixedLengthRecords::opener),
    WHOLE("WholeFileReader", null, node -> work -> once(work, WholeFiles.contents(work))),
    IDENTITY("IdentityReader", null, node -> work -> once(work, null));

    final String label;
    final String attr;
    final Function<Node, Function<String, Reader.Source>> opener;

    Flavor(String label, String attr, Function<Node, Function<String, Reader.Source>> opener) {
      this.label = label;
      this.attr = attr;
      this.opener = opener;
    }
  }

  static final List<Op> ALL =
      Stream.concat(
              Stream.of(Flavor.values()).map(ReaderOps::handle),
              Stream.of(
                  read(),
                  readUpTo(),
                  count("NumRecordsProduced", "records_produced", Reader::produced),
                  count("NumWorkUnitsCompleted", "units_completed", Reader::completed),
                  reset()))
          .toList();

  private ReaderOps() {}

  private static Op handle(Flavor flavor) {
    Op.Builder op = Op.define(flavor.label + "V2");
    if (flavor == Flavor.LINES) {
      op.attr(flavor.attr);
    }
    if (flavor == Flavor.BLOCKS) {
      FixedLengthRecords.SIZES.forEach(op::attr);
    }
    op.attr("container: string = ''").attr("shared_name: string = ''");
    if (flavor == Flavor.RECORDS || flavor == Flavor.BLOCKS) {
      op.attr(flavor.attr);
    }
    return op.output("reader_handle: resource")
        .stateful()
        .shape(Shapes.scalar())
        .kernelPerNode(node -> maker(node, flavor))
        .noGradient("a handle is not a number")
        .build();
  }

  private static Kernel maker(Node node, Flavor flavor) {
    String container = node.stringAttr("container");
    String name = ResourceHandles.nameOf(node);
    Function<String, Reader.Source> opener = flavor.opener.apply(node);
    Tensor handle = ResourceHandles.of(node, flavor.label);
    return c -> {
      c.resources()
          .getOrCreate(container, name, Reader.class, () -> new Reader(flavor.label, opener));
      c.output(0, handle);
    };
  }

  private static Op.Builder define(String name) {
    return Op.define("Reader" + name + "V2")
        .stateful()
        .input("reader_handle: resource")
        .noGradient("what a file holds depends on nothing in the graph");
  }

  private static Op read() {
    return define("Read")
        .input("queue_handle: resource")
        .output("key: string")
        .output("value: string")
        .shape(c -> List.of(Shape.scalar(), Shape.scalar()))
        .asyncKernel(
            node ->
                Background.of(
                    c -> {
                      for (Reader.Entry r : records(c, 1)) {
                        c.output(0, Tensor.scalar(r.key()));
                        c.output(1, bytes(Shape.scalar(), r.value()));
                      }
                    }))
        .build();
  }

  private static Op readUpTo() {
    return define("ReadUpTo")
        .input("queue_handle: resource")
        .input("num_records: int64")
        .output("keys: string")
        .output("values: string")
        .shape(c -> List.of(Shape.of(-1), Shape.of(-1)))
        .asyncKernel(node -> Background.of(c -> readUpTo(c)))
        .build();
  }

  private static void readUpTo(KernelContext c) {
    long n = FileNames.scalar(c, 2).longAt(0);
    if (n < 1) {
      throw MillraceException.invalid(
          "%s '%s': num_records is %d; it must be 1 or more.",
          c.node().op().name(), c.node().name(), n);
    }
    List<Reader.Entry> records = records(c, n);
    if (!records.isEmpty()) {
      Shape shape = Shape.of(records.size());
      c.output(0, Tensor.vector(records.stream().map(Reader.Entry::key).toArray(String[]::new)));
      c.output(1, bytes(shape, records.stream().map(Reader.Entry::value).toArray()));
    }
  }

  private static List<Reader.Entry> records(KernelContext c, long n) {
    Queue queue = ResourceHandles.resource(c, 1, Queue.class);
    return reader(c).read(c, queue, n);
  }

  private static Reader reader(KernelContext c) {
    return ResourceHandles.resource(c, 0, Reader.class);
  }

  private static Tensor bytes(Shape shape, Object... values) {
    return Refs.ofObjects(DType.STRING, shape, values);
  }

  private static Op count(
      String name, String output, ToLongBiFunction<Reader, KernelContext> what) {
    return define(name)
        .output(output + ": int64")
        .shape(Shapes.scalar())
        .asyncKernel(
            node ->
                Background.of(
                    c -> c.allocate(0, Shape.scalar()).setLong(0, what.applyAsLong(reader(c), c))))
        .build();
  }

  private static Op reset() {
    return define("Reset")
        .shape(Shapes.none())
        .asyncKernel(node -> Background.of(c -> reader(c).reset(c)))
        .build();
  }

  private static Function<String, Reader.Source> records(Node node) {
    RecordReader.Compression compression =
        switch (node.stringAttr("compression_type")) {
          case "" -> RecordReader.Compression.NONE;
          case "GZIP" -> RecordReader.Compression.GZIP;
          case "ZLIB" -> RecordReader.Compression.ZLIB;
          default ->
              throw MillraceException.invalid(
                  "%s '%s': compression_type is '%s'; it must be '', 'GZIP' or 'ZLIB'.",
                  node.op().name(), node.name(), node.stringAttr("compression_type"));
        };
    return work -> {
      RecordReader in = RecordReader.open(FileNames.path(work), compression);
      return new Reader.Source() {
        @Override
        public Reader.Entry next() {
          String key = work + ":" + in.position();
          byte[] value = in.next();
          return value == null ? null : new Reader.Entry(key, value);
        }

        @Override
        public void close() {
          in.close();
        }
      };
    };
  }

  /** A single record; of value null, its name is its value. */
  private static Reader.Source once(String work, byte[] value) {
    byte[] bytes = value == null ? Tensor.scalar(work).bytesAt(0) : value;
    return new Reader.Source() {
      private boolean given;

      @Override
      public Reader.Entry next() {
        given = true;
        return new Reader.Entry(work, bytes);
      }

      @Override
      public boolean isAtEnd() {
        return given;
      }
    };
  }
}
