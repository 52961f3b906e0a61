package dev.millrace.ops.accumulator;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** The ops of this package: those that stand for an accumulator and those that use one. */
public final class AccumulatorOps {
  public static final List<Op> ALL =
      Stream.concat(
              Stream.of(HandleKind.values())
                  .flatMap(
                      kind ->
                          Stream.of(
                              handle(kind, "ConditionalAccumulator", DenseAccumulator::new),
                              apply(
                                  kind,
                                  "AccumulatorApplyGradient",
                                  DenseAccumulator.class,
                                  op -> op.input("gradient: dtype")),
                              take(
                                  kind,
                                  "AccumulatorTakeGradient",
                                  DenseAccumulator.class,
                                  op ->
                                      op.output("average: dtype").shape(c -> List.of(declared(c)))),
                              numAccumulated(kind),
                              setGlobalStep(kind))),
              Stream.of(
                  handle(
                      HandleKind.REFERENCE, "SparseConditionalAccumulator", SparseAccumulator::new),
                  apply(
                      HandleKind.REFERENCE,
                      "SparseAccumulatorApplyGradient",
                      SparseAccumulator.class,
                      op ->
                          op.attr("has_known_shape: bool")
                              .input("gradient_indices: int64")
                              .input("gradient_values: dtype")
                              .input("gradient_shape: int64")),
                  take(
                      HandleKind.REFERENCE,
                      "SparseAccumulatorTakeGradient",
                      SparseAccumulator.class,
                      op ->
                          op.output("indices: int64")
                              .output("values: dtype")
                              .output("shape: int64")
                              .shape(
                                  c ->
                                      List.of(
                                          Shape.of(-1), Shape.unknown(), Shape.unknownOfRank(1))))))
          .toList();

  private AccumulatorOps() {}

  /** Adds an accumulator of gradients of this type and shape, averaging them; gives its handle. */
  public static Output of(Scope scope, DType dtype, Shape shape, String sharedName) {
    return scope
        .node("ResourceConditionalAccumulator")
        .attr("dtype", dtype)
        .attr("shape", shape)
        .attr("shared_name", sharedName)
        .add()
        .output();
  }

  /** Adds a node that applies a gradient computed in step {@code localStep}. */
  public static Node apply(Scope scope, Output handle, Output localStep, Output gradient) {
    return scope
        .node(name(handle, "AccumulatorApplyGradient"))
        .input(handle)
        .input(localStep)
        .input(gradient)
        .add();
  }

  /** Adds a node that waits for {@code required} gradients and gives their average. */
  public static Output take(Scope scope, Output handle, Output required, DType dtype) {
    return scope
        .node(name(handle, "AccumulatorTakeGradient"))
        .input(handle)
        .input(required)
        .attr("dtype", dtype)
        .add()
        .output();
  }

  /** Adds a node that sets the step whose gradients are collected. */
  public static Node setGlobalStep(Scope scope, Output handle, Output step) {
    return scope.node(name(handle, "AccumulatorSetGlobalStep")).input(handle).input(step).add();
  }

  /** The shape of the gradients in the accumulator of input 0, if its node is in the graph. */
  private static Shape declared(ShapeContext c) {
    Node n = c.node().input(0).node();
    return n.op().name().endsWith("ConditionalAccumulator")
        ? n.shapeAttr("shape")
        : Shape.unknown();
  }

  private static String name(Output handle, String op) {
    return handle.isRef() ? op : "Resource" + op;
  }

  private static Op.Builder define(HandleKind kind, String name) {
    return Op.define(kind == HandleKind.RESOURCE ? "Resource" + name : name);
  }

  private static Op.Builder user(HandleKind kind, String name) {
    return kind.using(define(kind, name))
        .input("handle: " + kind.type)
        .noGradient("what is accumulated comes from other steps");
  }

  private static Op handle(
      HandleKind kind, String name, Function<GradientAccumulator.Spec, GradientAccumulator> maker) {
    return define(kind, name)
        .attr("dtype: numbertype")
        .attr("shape: shape")
        .attr("container: string = ''")
        .attr("shared_name: string = ''")
        .attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
        .output("handle: " + kind.type)
        .stateful()
        .shape(c -> List.of(kind == HandleKind.REFERENCE ? Shape.of(2) : Shape.scalar()))
        .kernelPerNode(node -> handleKernel(node, kind, name, maker))
        .noGradient("a handle is not a number")
        .build();
  }

  private static Kernel handleKernel(
      Node node,
      HandleKind kind,
      String label,
      Function<GradientAccumulator.Spec, GradientAccumulator> maker) {
    DType type = node.typeAttr("dtype");
    if (!type.isFloating()) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s' is implemented for half, bfloat16, float and double, not for %s."
              .formatted(label, node.name(), type));
    }
    String container = node.stringAttr("container");
    GradientAccumulator.Spec spec =
        new GradientAccumulator.Spec(
            label,
            ResourceHandles.nameOf(node),
            type,
            node.shapeAttr("shape"),
            node.stringAttr("reduction_type").equals("MEAN"));
    Consumer<KernelContext> handle = kind.maker(node, label);
    return c -> {
      GradientAccumulator a =
          c.resources()
              .getOrCreate(
                  container, spec.name(), GradientAccumulator.class, () -> maker.apply(spec));
      if (!a.spec().equals(spec)) {
        throw MillraceException.invalid(
            "Shared accumulator '%s' was made as %s, but is now asked for as %s.",
            spec.name(), a.spec(), spec);
      }
      handle.accept(c);
    };
  }

  private static Op apply(
      HandleKind kind,
      String name,
      Class<? extends GradientAccumulator> type,
      Function<Op.Builder, Op.Builder> gradient) {
    Op.Builder op =
        user(kind, name).attr("dtype: numbertype").input("local_step: int64").shape(Shapes.none());
    return gradient
        .apply(op)
        .kernelPerNode(
            node -> {
              DType dtype = node.typeAttr("dtype");
              return c -> accumulator(c, kind, type, dtype).apply(c, scalar(c).longAt(0));
            })
        .build();
  }

  private static Op take(
      HandleKind kind,
      String name,
      Class<? extends GradientAccumulator> type,
      Function<Op.Builder, Op.Builder> outputs) {
    Op.Builder op = user(kind, name).attr("dtype: numbertype").input("num_required: int32");
    return outputs
        .apply(op)
        .asyncKernel(
            node -> {
              DType dtype = node.typeAttr("dtype");
              return (c, done) ->
                  accumulator(c, kind, type, dtype).take(c, scalar(c).intValue(), done);
            })
        .build();
  }

  private static Op numAccumulated(HandleKind kind) {
    return user(kind, "AccumulatorNumAccumulated")
        .output("num_accumulated: int32")
        .shape(Shapes.scalar())
        .kernel(
            c ->
                c.allocate(0, Shape.scalar())
                    .setLong(0, kind.resource(c, GradientAccumulator.class).count()))
        .build();
  }

  private static Op setGlobalStep(HandleKind kind) {
    return user(kind, "AccumulatorSetGlobalStep")
        .input("new_global_step: int64")
        .shape(Shapes.none())
        .kernel(
            c -> kind.resource(c, GradientAccumulator.class).setGlobalStep(c, scalar(c).longAt(0)))
        .build();
  }

  private static GradientAccumulator accumulator(
      KernelContext c, HandleKind kind, Class<? extends GradientAccumulator> type, DType dtype) {
    GradientAccumulator a = kind.resource(c, type);
    if (a.spec().dtype() != dtype) {
      throw MillraceException.invalid(
          "%s '%s': accumulator '%s' is for %s, the op for %s.",
          c.node().op().name(), c.node().name(), a.spec().name(), a.spec().dtype(), dtype);
    }
    return a;
  }

  /** Input 1, which must be a scalar. */
  private static Tensor scalar(KernelContext c) {
    Tensor t = c.input(1);
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid(
          "%s '%s': Argument %s must be scalar, but had bad shape %s.",
          c.node().op().name(), c.node().name(), c.node().op().inputs().get(1).name(), t.shape());
    }
    return t;
  }
}
