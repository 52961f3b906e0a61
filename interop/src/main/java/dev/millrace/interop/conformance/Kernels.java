package dev.millrace.interop.conformance;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.RealTensorFlow;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.OpDef;
import dev.millrace.tensor.DType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** For which element types TensorFlow has a CPU kernel of an op. */
public final class Kernels {
  /** The types cases are made of: all but quantised and opaque ones. */
  public static final Set<DType> TESTED =
      EnumSet.of(
          DType.FLOAT,
          DType.DOUBLE,
          DType.HALF,
          DType.BFLOAT16,
          DType.INT8,
          DType.INT16,
          DType.INT32,
          DType.INT64,
          DType.UINT8,
          DType.UINT16,
          DType.UINT32,
          DType.UINT64,
          DType.COMPLEX64,
          DType.COMPLEX128,
          DType.BOOL,
          DType.STRING);

  /** The ops that Millrace computes on real numbers only, though TensorFlow takes complex ones. */
  private static final Pattern REAL_ONLY =
      Pattern.compile(
          "(Resource)?(Sparse)?Apply.*|BiasAdd(Grad|V1)?|ClipByValue|SparseAdd(Grad)?"
              + "|SparseFillEmptyRowsGrad|SparseSliceGrad|SparseTensorDense(Add|MatMul)");

  // Field numbers of KernelList, KernelDef and KernelDef.AttrConstraint.
  private static final int KERNEL = 1;
  private static final int DEVICE_TYPE = 2;
  private static final int CONSTRAINT = 3;
  private static final int LABEL = 5;
  private static final int NAME = 1;
  private static final int ALLOWED = 2;

  private static final Map<String, List<DType>> TYPES = new ConcurrentHashMap<>();

  private Kernels() {}

  /** The tested types the type attribute {@code attr} of {@code op} may have, FLOAT first. */
  public static List<DType> types(String op, String attr) {
    return TYPES.computeIfAbsent(op + " " + attr, key -> registered(op, attr));
  }

  private static List<DType> registered(String op, String attr) {
    Set<DType> types = EnumSet.noneOf(DType.class);
    for (ByteString kernel :
        fields(RealTensorFlow.kernels(op)).getField(KERNEL).getLengthDelimitedList()) {
      UnknownFieldSet k = fields(kernel);
      if (text(k, DEVICE_TYPE).equals("CPU") && text(k, LABEL).isEmpty()) {
        types.addAll(constraint(k, attr));
      }
    }
    types.retainAll(declared(op, attr));
    types.retainAll(TESTED);
    if (REAL_ONLY.matcher(op).matches()) {
      types.removeIf(DType::isComplex);
    }
    return List.copyOf(types);
  }

  /** Whether any type attribute of an op may be that, or it has none. */
  static boolean computesOn(String op, DType type) {
    List<OpDef.AttrDef> attrs = GraphWriter.definition(op).getAttrList();
    List<String> names =
        attrs.stream().filter(a -> a.getType().equals("type")).map(OpDef.AttrDef::getName).toList();
    return names.isEmpty() || names.stream().anyMatch(name -> types(op, name).contains(type));
  }

  private static Set<DType> constraint(UnknownFieldSet kernel, String attr) {
    for (ByteString bytes : kernel.getField(CONSTRAINT).getLengthDelimitedList()) {
      UnknownFieldSet constraint = fields(bytes);
      if (text(constraint, NAME).equals(attr)) {
        try {
          AttrValue allowed =
              AttrValue.parseFrom(constraint.getField(ALLOWED).getLengthDelimitedList().getFirst());
          return known(allowed.getList().getTypeList());
        } catch (InvalidProtocolBufferException e) {
          throw new IllegalStateException(e);
        }
      }
    }
    return EnumSet.allOf(DType.class);
  }

  private static Set<DType> declared(String op, String attr) {
    for (OpDef.AttrDef a : GraphWriter.definition(op).getAttrList()) {
      if (a.getName().equals(attr) && a.hasAllowedValues()) {
        return known(a.getAllowedValues().getList().getTypeList());
      }
    }
    return EnumSet.allOf(DType.class);
  }

  private static Set<DType> known(List<DataType> types) {
    List<DType> known = new ArrayList<>();
    for (DataType type : types) {
      if (type != DataType.UNRECOGNIZED && type.getNumber() <= DType.UINT64.number()) {
        known.add(DType.of(type.getNumber()));
      }
    }
    return known.isEmpty() ? EnumSet.noneOf(DType.class) : EnumSet.copyOf(known);
  }

  private static UnknownFieldSet fields(ByteString bytes) {
    try {
      return UnknownFieldSet.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String text(UnknownFieldSet message, int field) {
    List<ByteString> values = message.getField(field).getLengthDelimitedList();
    return values.isEmpty() ? "" : values.getFirst().toStringUtf8();
  }
}
