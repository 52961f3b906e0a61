package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** The bucket that the hash of each string falls into. */
final class HashBuckets {
  static final List<Op> ALL =
      List.of(
          define("StringToHashBucketFast", false, "input", node -> StringHash::farm),
          define("StringToHashBucket", false, "string_tensor", node -> StringHash::murmur),
          define("StringToHashBucketStrong", true, "input", HashBuckets::keyed));

  private HashBuckets() {}

  private static Op define(
      String name, boolean isKeyed, String input, Function<Node, ToLongFunction<byte[]>> hash) {
    Op.Builder op = Words.define(name).attr("num_buckets: int >= 1");
    if (isKeyed) {
      op.attr("key: list(int)");
    }
    return op.input(input + ": string")
        .output("output: int64")
        .shape(Shapes.like(0))
        .kernelPerNode(
            node -> {
              long buckets = node.longAttr("num_buckets");
              ToLongFunction<byte[]> of = hash.apply(node);
              return c -> {
                Tensor in = c.input(0);
                Tensor out = c.allocate(0, in.shape());
                for (long i = 0; i < in.elements(); i++) {
                  out.setLong(i, Long.remainderUnsigned(of.applyAsLong(in.bytesAt(i)), buckets));
                }
              };
            })
        .build();
  }

  private static ToLongFunction<byte[]> keyed(Node node) {
    long[] key = node.longsAttr("key");
    if (key.length != 2) {
      throw MillraceException.invalid("Key must have 2 elements");
    }
    return s -> StringHash.sip(key[0], key[1], s);
  }
}
