package dev.millrace.ops.dataset;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Procedure;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.list.Optionals;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.proto.ResourceHandleProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Ops that make iterators, set them to datasets and take elements from them. */
final class Iterators {
  private static final String NONE = "what an iterator gives depends on nothing that is trained";

  private static final Op GET_NEXT = getNext("IteratorGetNext");
  private static final Op GET_NEXT_SYNC = getNext("IteratorGetNextSync");

  private static final Op GET_NEXT_AS_OPTIONAL =
      elements("IteratorGetNextAsOptional")
          .input("iterator: resource")
          .output("optional: variant")
          .stateful()
          .shape(Shapes.scalar())
          .waitsIn(Phase.INPUT)
          .asyncKernel(
              node ->
                  (c, done) ->
                      iterator(c)
                          .next(
                              c,
                              done,
                              e -> c.output(0, Optionals.of(e == null ? List.of() : List.of(e)))))
          .noGradient(NONE)
          .build();

  private static final Op MAKE =
      Op.define("MakeIterator")
          .input("dataset: variant")
          .input("iterator: resource")
          .stateful()
          .shape(Shapes.none())
          .asyncKernel(
              node ->
                  DataThreads.kernel(
                      c -> ResourceHandles.resource(c, 1, DatasetIterator.class).set(c.input(0))))
          .noGradient("it has no outputs")
          .build();

  private static final Op ONE_SHOT =
      Op.define("OneShotIterator")
          .attr("dataset_factory: func")
          .attr("output_types: list(type) >= 1")
          .attr("output_shapes: list(shape) >= 1")
          .attr("container: string = ''")
          .attr("shared_name: string = ''")
          .output("handle: resource")
          .stateful()
          .shape(Shapes.scalar())
          .asyncKernel(
              node ->
                  (c, done) -> {
                    DatasetIterator iterator = named(c, node);
                    if (iterator.isSet()) {
                      c.output(0, handle(c, node));
                      done.run();
                    } else {
                      DataThreads.kernel(Iterators::setToFactory).start(c, done);
                    }
                  })
          .noGradient(NONE)
          .build();

  private static final Op TO_STRING =
      Op.define("IteratorToStringHandle")
          .input("resource_handle: resource")
          .output("string_handle: string")
          .stateful()
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                iterator(c);
                Resources.Handle h = ResourceHandles.at(c, 0);
                byte[] encoded =
                    ResourceHandleProto.newBuilder()
                        .setDevice(h.device())
                        .setContainer(h.container())
                        .setName(h.name())
                        .setMaybeTypeName(h.kind())
                        .build()
                        .toByteArray();
                c.output(0, Refs.ofObjects(DType.STRING, Shape.scalar(), new Object[] {encoded}));
              })
          .noGradient("it is text")
          .build();

  static final List<Op> ALL =
      List.of(
          iterator("Iterator"),
          iterator("IteratorV2"),
          MAKE,
          ONE_SHOT,
          GET_NEXT,
          GET_NEXT_SYNC,
          GET_NEXT_AS_OPTIONAL,
          TO_STRING,
          fromString("IteratorFromStringHandle"),
          fromString("IteratorFromStringHandleV2"));

  private Iterators() {}

  private static Op.Builder elements(String name) {
    return Op.define(name)
        .attr("output_types: list(type) >= 1")
        .attr("output_shapes: list(shape) >= 1");
  }

  private static Op iterator(String name) {
    return Op.define(name)
        .attr("shared_name: string")
        .attr("container: string")
        .attr("output_types: list(type) >= 1")
        .attr("output_shapes: list(shape) >= 1")
        .output("handle: resource")
        .stateful()
        .shape(Shapes.scalar())
        .kernelPerNode(
            node ->
                c -> {
                  named(c, node);
                  c.output(0, handle(c, node));
                })
        .noGradient(NONE)
        .build();
  }

  /** Where a node's iterator is kept: one that has no shared name is its session's alone. */
  private static String container(KernelContext c, Node node) {
    String given = node.stringAttr("container");
    if (!given.isEmpty()) {
      return given;
    }
    return node.stringAttr("shared_name").isEmpty()
        ? c.resources().ownContainer()
        : Resources.DEFAULT_CONTAINER;
  }

  private static Tensor handle(KernelContext c, Node node) {
    Resources.Handle h =
        new Resources.Handle(
            node.device(), container(c, node), ResourceHandles.nameOf(node), "Iterator");
    return Refs.ofObjects(DType.RESOURCE, Shape.scalar(), new Object[] {h});
  }

  /** The iterator that a node stands for, made now if there is none. */
  private static DatasetIterator named(KernelContext c, Node node) {
    List<DType> types = DatasetValue.typesOf(node);
    List<Shape> shapes = DatasetValue.shapesOf(node);
    DatasetIterator found =
        c.resources()
            .getOrCreate(
                container(c, node),
                ResourceHandles.nameOf(node),
                DatasetIterator.class,
                () -> new DatasetIterator(types, shapes));
    found.check(types, shapes);
    return found;
  }

  private static void setToFactory(KernelContext c) {
    Node node = c.node();
    Procedure factory = c.procedure(node.functionAttr("dataset_factory"));
    named(c, node)
        .setOnce(
            () -> {
              Tensor[] made = factory.call(List.of(), c.cancellation());
              if (made.length != 1) {
                DatasetElements.release(made);
                throw MillraceException.invalid(
                    "The `dataset_factory` function must return a single dataset.");
              }
              return made[0];
            });
    c.output(0, handle(c, node));
  }

  private static DatasetIterator iterator(KernelContext c) {
    return ResourceHandles.resource(c, 0, DatasetIterator.class);
  }

  private static Op getNext(String name) {
    return elements(name)
        .input("iterator: resource")
        .output("components: output_types")
        .stateful()
        .shape(c -> c.node().shapesAttr("output_shapes"))
        .waitsIn(Phase.INPUT)
        .asyncKernel(node -> (c, done) -> iterator(c).next(c, done, e -> give(c, e)))
        .noGradient(NONE)
        .build();
  }

  /** Sets the outputs to the components of an element, which it takes over. */
  static void give(KernelContext c, Tensor[] element) {
    if (element == null) {
      throw new MillraceException(Code.OUT_OF_RANGE, "End of sequence");
    }
    if (element.length != c.node().outputCount()) {
      int given = element.length;
      DatasetElements.release(element);
      throw MillraceException.invalid(
          "Number of components does not match: expected %d types but got %d.",
          c.node().outputCount(), given);
    }
    for (int i = 0; i < element.length; i++) {
      if (element[i].dtype() != c.node().output(i).dtype()) {
        DType given = element[i].dtype();
        DatasetElements.release(element);
        throw MillraceException.invalid(
            "Data type mismatch at component %d: expected %s but got %s.",
            i, c.node().output(i).dtype(), given);
      }
    }
    for (int i = 0; i < element.length; i++) {
      c.output(i, element[i]);
    }
  }

  private static Op fromString(String name) {
    return Op.define(name)
        .attr("output_types: list(type) >= 0 = []")
        .attr("output_shapes: list(shape) >= 0 = []")
        .input("string_handle: string")
        .output("resource_handle: resource")
        .stateful()
        .shape(Shapes.scalar())
        .kernel(Iterators::find)
        .noGradient(NONE)
        .build();
  }

  private static void find(KernelContext c) {
    ResourceHandleProto h;
    try {
      if (!c.input(0).shape().isScalar()) {
        throw MillraceException.invalid("string_handle must be a scalar");
      }
      h = ResourceHandleProto.parseFrom(c.input(0).bytesAt(0));
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid(
          "Could not parse string_handle as a valid ResourceHandle: %s", e.getMessage());
    }
    String here = c.node().device();
    if (!here.isEmpty() && !h.getDevice().isEmpty() && !h.getDevice().equals(here)) {
      throw MillraceException.invalid(
          "Attempted create an iterator on device \"%s\" from handle defined on device \"%s\"",
          here, h.getDevice());
    }
    DatasetIterator found = c.resources().get(h.getContainer(), h.getName(), DatasetIterator.class);
    if (!DatasetValue.typesOf(c.node()).isEmpty()) {
      found.check(DatasetValue.typesOf(c.node()), DatasetValue.shapesOf(c.node()));
    }
    c.output(
        0,
        Refs.ofObjects(
            DType.RESOURCE,
            Shape.scalar(),
            new Object[] {
              new Resources.Handle(h.getDevice(), h.getContainer(), h.getName(), "Iterator")
            }));
  }
}
