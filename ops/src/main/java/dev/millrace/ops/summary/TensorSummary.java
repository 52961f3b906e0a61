package dev.millrace.ops.summary;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.proto.Summary;
import dev.millrace.proto.SummaryMetadata;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** A whole tensor, for TensorBoard's plugins. */
public final class TensorSummary {
  /** Under the node's name, without a tag. */
  public static final Op V1 =
      Summaries.define(
              Op.define("TensorSummary")
                  .attr("T: type")
                  .attr("description: string = ''")
                  .attr("labels: list(string) = []")
                  .attr("display_name: string = ''")
                  .input("tensor: T"))
          .kernel(
              c -> {
                Summary.Builder summary = Summary.newBuilder();
                summary
                    .addValueBuilder()
                    .setNodeName(c.node().name())
                    .setTensor(toProto(c.input(0)));
                Summaries.deliver(c, summary);
              })
          .build();

  /** Under a tag, with the metadata that says which plugin shows it. */
  public static final Op V2 =
      Summaries.define(
              Op.define("TensorSummaryV2")
                  .attr("T: type")
                  .input("tag: string")
                  .input("tensor: T")
                  .input("serialized_summary_metadata: string"))
          .kernel(
              c -> {
                Summary.Builder summary = Summary.newBuilder();
                summary
                    .addValueBuilder()
                    .setTag(Summaries.tag(c, 0))
                    .setTensor(toProto(c.input(1)))
                    .setMetadata(metadata(c.input(2)));
                Summaries.deliver(c, summary);
              })
          .build();

  static final List<Op> ALL = List.of(V1, V2);

  private TensorSummary() {}

  private static SummaryMetadata metadata(Tensor t) {
    try {
      return t.elements() == 0
          ? SummaryMetadata.getDefaultInstance()
          : SummaryMetadata.parseFrom(t.bytesAt(0));
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid(
          "The serialized_summary_metadata is not a SummaryMetadata message: %s", e.getMessage());
    }
  }

  private static TensorProto toProto(Tensor t) {
    TensorProto.Builder proto = TensorProto.newBuilder().setDtypeValue(t.dtype().number());
    for (long d : t.shape().dims()) {
      proto.getTensorShapeBuilder().addDimBuilder().setSize(d);
    }
    proto.getTensorShapeBuilder();
    if (t.dtype().isPlain()) {
      proto.setTensorContent(ByteString.copyFrom(t.data().asByteBuffer()));
    } else if (t.dtype() == DType.STRING) {
      for (Object s : t.objects()) {
        proto.addStringVal(ByteString.copyFrom((byte[]) s));
      }
    } else {
      throw new MillraceException(
          Code.UNIMPLEMENTED, "A tensor of type " + t.dtype() + " cannot be in a summary.");
    }
    return proto.build();
  }
}
