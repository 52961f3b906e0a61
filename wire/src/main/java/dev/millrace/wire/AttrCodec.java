package dev.millrace.wire;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.NameAttrList;
import dev.millrace.tensor.DType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Converts attribute values from and to protobuf messages. Keeps values of unknown kinds unchanged.
 */
final class AttrCodec {
  private AttrCodec() {}

  static AttrValue decode(dev.millrace.proto.AttrValue p) {
    try {
      return switch (p.getValueCase()) {
        case S -> new AttrValue.Str(p.getS().toByteArray());
        case I -> new AttrValue.Int(p.getI());
        case F -> new AttrValue.Real(p.getF());
        case B -> new AttrValue.Bool(p.getB());
        case TYPE -> type(p.getTypeValue(), p);
        case SHAPE -> new AttrValue.Dims(TensorCodec.decode(p.getShape()));
        case TENSOR -> new AttrValue.Value(TensorCodec.decode(p.getTensor()));
        case LIST -> list(p);
        case FUNC -> function(p.getFunc());
        case PLACEHOLDER -> new AttrValue.Placeholder(p.getPlaceholder());
        case VALUE_NOT_SET -> new AttrValue.Opaque(p.toByteArray());
      };
    } catch (IndexOutOfBoundsException e) {
      throw MillraceException.invalid("A malformed attribute value: %s", e.getMessage());
    }
  }

  /** Keeps a type that this version does not know. Only a kernel that computes with it fails. */
  private static AttrValue type(int number, dev.millrace.proto.AttrValue p) {
    if (number <= 0 || number % DType.REF_OFFSET > DType.UINT64.number()) {
      return new AttrValue.Opaque(p.toByteArray());
    }
    return new AttrValue.Type(DType.of(number));
  }

  private static AttrValue list(dev.millrace.proto.AttrValue p) {
    dev.millrace.proto.AttrValue.ListValue l = p.getList();
    List<AttrValue> v = new ArrayList<>();
    l.getSList().forEach(s -> v.add(new AttrValue.Str(s.toByteArray())));
    l.getIList().forEach(i -> v.add(new AttrValue.Int(i)));
    l.getFList().forEach(f -> v.add(new AttrValue.Real(f)));
    l.getBList().forEach(b -> v.add(new AttrValue.Bool(b)));
    for (int i = 0; i < l.getTypeCount(); i++) {
      int number = l.getTypeValue(i);
      if (number <= 0 || number % DType.REF_OFFSET > DType.UINT64.number()) {
        return new AttrValue.Opaque(p.toByteArray());
      }
      v.add(new AttrValue.Type(DType.of(number)));
    }
    l.getShapeList().forEach(s -> v.add(new AttrValue.Dims(TensorCodec.decode(s))));
    l.getTensorList().forEach(t -> v.add(new AttrValue.Value(TensorCodec.decode(t))));
    l.getFuncList().forEach(f -> v.add(function(f)));
    return new AttrValue.Many(List.copyOf(v));
  }

  private static AttrValue function(NameAttrList f) {
    Map<String, AttrValue> attrs = new LinkedHashMap<>();
    f.getAttrMap().forEach((k, a) -> attrs.put(k, decode(a)));
    return new AttrValue.Func(f.getName(), attrs);
  }

  static dev.millrace.proto.AttrValue encode(AttrValue v) {
    dev.millrace.proto.AttrValue.Builder b = dev.millrace.proto.AttrValue.newBuilder();
    switch (v) {
      case AttrValue.Str s -> b.setS(ByteString.copyFrom(s.bytes()));
      case AttrValue.Int i -> b.setI(i.value());
      case AttrValue.Real f -> b.setF(f.value());
      case AttrValue.Bool x -> b.setB(x.value());
      case AttrValue.Type t -> b.setType(TensorCodec.encode(t.value()));
      case AttrValue.Dims s -> b.setShape(TensorCodec.encode(s.value()));
      case AttrValue.Value t -> b.setTensor(TensorCodec.encodeConstant(t.value()));
      case AttrValue.Func f -> b.setFunc(function(f));
      case AttrValue.Placeholder p -> b.setPlaceholder(p.name());
      case AttrValue.Many m -> b.setList(list(m));
      case AttrValue.Opaque o -> {
        try {
          b.mergeFrom(o.encoded());
        } catch (InvalidProtocolBufferException e) {
          throw new IllegalStateException(e);
        }
      }
    }
    return b.build();
  }

  private static NameAttrList function(AttrValue.Func f) {
    NameAttrList.Builder b = NameAttrList.newBuilder().setName(f.name());
    f.attrs().forEach((k, a) -> b.putAttr(k, encode(a)));
    return b.build();
  }

  private static dev.millrace.proto.AttrValue.ListValue list(AttrValue.Many m) {
    dev.millrace.proto.AttrValue.ListValue.Builder b =
        dev.millrace.proto.AttrValue.ListValue.newBuilder();
    for (AttrValue e : m.values()) {
      switch (e) {
        case AttrValue.Str s -> b.addS(ByteString.copyFrom(s.bytes()));
        case AttrValue.Int i -> b.addI(i.value());
        case AttrValue.Real f -> b.addF(f.value());
        case AttrValue.Bool x -> b.addB(x.value());
        case AttrValue.Type t -> b.addType(DataType.forNumber(t.value().number()));
        case AttrValue.Dims s -> b.addShape(TensorCodec.encode(s.value()));
        case AttrValue.Value t -> b.addTensor(TensorCodec.encodeConstant(t.value()));
        case AttrValue.Func f -> b.addFunc(function(f));
        default -> throw new IllegalStateException("a list of " + e);
      }
    }
    return b.build();
  }
}
