package dev.millrace.tensor.math.elementwise;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.INIT_NAME;
import static java.lang.constant.ConstantDescs.MTD_void;

import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Makes the loop of a {@link Recipe}: a hidden class whose one method goes through the rows of the
 * operands. {@link VectorLoops} makes what is done within a row with the Vector API, {@link
 * ScalarLoops} with one element at a time.
 *
 * <p>Why code is generated: a vector stays in a register only where the compiler sees the whole
 * computation in one method. A loop that calls its formula through an object depends on inlining,
 * which is refused once the formula has been compiled on its own to more than 2,500 bytes; vectors
 * are then boxed and the loop is ten times slower. Here nothing is left to inline but the Vector
 * API itself, which always is.
 */
abstract class LoopCompiler {
  static final ClassDesc SEGMENT = desc(MemorySegment.class);
  private static final ClassDesc LOOP = ClassDesc.of(LoopCompiler.class.getPackageName(), "Loop");

  private static final MethodTypeDesc RUN =
      MethodType.methodType(
              void.class,
              MemorySegment[].class,
              long[].class,
              long[].class,
              long.class,
              long.class,
              double[].class)
          .describeConstable()
          .orElseThrow();

  // Slots of the arguments of run.
  private static final int MEMORY = 1;
  private static final int AT = 2;
  private static final int STEP = 3;
  private static final int ROWS = 4;
  static final int N = 6;
  private static final int PARAMETERS = 8;

  final List<Recipe.Store> stores;
  final LaneType type;
  final CodeBuilder code;
  private final int singles;

  /** Slots of the memory and the byte offset of each operand. */
  final int[] memory;

  final int[] offset;

  /** Slots of values that do not change from element to element. */
  final Map<Expression, Integer> invariants = new HashMap<>();

  /** Slots of the values of the element at hand; emptied for each copy of the body. */
  private final Map<Expression, Integer> values = new HashMap<>();

  /** Slot of the place in the row. */
  int index;

  LoopCompiler(
      int operands, List<Recipe.Store> stores, LaneType type, int singles, CodeBuilder code) {
    this.stores = stores;
    this.type = type;
    this.singles = singles;
    this.code = code;
    this.memory = new int[operands];
    this.offset = new int[operands];
  }

  static ElementLoop compile(int operands, List<Recipe.Store> stores, LaneType type, int singles) {
    byte[] bytes =
        ClassFile.of()
            .build(
                LOOP,
                c ->
                    c.withInterfaceSymbols(desc(ElementLoop.class))
                        .withMethodBody(
                            INIT_NAME,
                            MTD_void,
                            ClassFile.ACC_PUBLIC,
                            b -> b.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void).return_())
                        .withMethodBody(
                            "run",
                            RUN,
                            ClassFile.ACC_PUBLIC,
                            b -> of(operands, stores, type, singles, b).emitRun()));
    try {
      MethodHandles.Lookup made = MethodHandles.lookup().defineHiddenClass(bytes, true);
      return (ElementLoop)
          made.findConstructor(made.lookupClass(), MethodType.methodType(void.class)).invoke();
    } catch (Throwable t) {
      throw new IllegalStateException("cannot make the loop of " + stores, t);
    }
  }

  private static LoopCompiler of(
      int operands, List<Recipe.Store> stores, LaneType type, int singles, CodeBuilder code) {
    return VectorModule.isPresent()
        ? new VectorLoops(operands, stores, type, singles, code)
        : new ScalarLoops(operands, stores, type, singles, code);
  }

  private void emitRun() {
    Set<Expression> leaves = new LinkedHashSet<>();
    Set<Integer> operands = new TreeSet<>();
    for (Recipe.Store s : stores) {
      operands.add(s.operand());
      collectLeaves(s.value(), leaves);
    }
    for (Expression leaf : leaves) {
      switch (leaf) {
        case Formula.Input(int k) -> operands.add(k);
        case Condition.Flag(int k) -> operands.add(k);
        default -> emitSteady((Formula) leaf);
      }
    }
    for (int k : operands) {
      memory[k] = code.allocateLocal(TypeKind.REFERENCE);
      code.aload(MEMORY).loadConstant(k).aaload().astore(memory[k]);
      offset[k] = code.allocateLocal(TypeKind.LONG);
      code.aload(AT).loadConstant(k).laload().lstore(offset[k]);
    }
    index = code.allocateLocal(TypeKind.LONG);
    Label row = code.newLabel();
    Label end = code.newLabel();
    code.labelBinding(row).lload(ROWS).lconst_0().lcmp().ifle(end);
    for (Expression leaf : leaves) {
      emitIfSingle(leaf);
    }
    code.lconst_0().lstore(index);
    emitRow();
    for (int k : operands) {
      code.lload(offset[k]).aload(STEP).loadConstant(k).laload().ladd().lstore(offset[k]);
    }
    code.lload(ROWS).lconst_1().lsub().lstore(ROWS).goto_(row);
    code.labelBinding(end).return_();
  }

  private void collectLeaves(Expression e, Set<Expression> leaves) {
    switch (e) {
      case Formula.Call c -> c.arguments().forEach(f -> collectLeaves(f, leaves));
      case Formula.Choice c -> {
        collectLeaves(c.condition(), leaves);
        collectLeaves(c.yes(), leaves);
        collectLeaves(c.no(), leaves);
      }
      case Formula.ByPrecision p -> collectLeaves(forType(p), leaves);
      case Condition.Compare c -> {
        collectLeaves(c.x(), leaves);
        collectLeaves(c.y(), leaves);
      }
      case Condition.Is c -> collectLeaves(c.x(), leaves);
      case Condition.Both c -> {
        collectLeaves(c.a(), leaves);
        collectLeaves(c.b(), leaves);
      }
      case Formula.Input _, Formula.Parameter _, Formula.Constant _, Condition.Flag _ ->
          leaves.add(e);
    }
  }

  final Formula forType(Formula.ByPrecision p) {
    return type == LaneType.FLOAT ? p.single() : p.twice();
  }

  /** Computes the elements of a row from {@link #index} on. */
  abstract void emitRow();

  /** Computes all values before it stores the first, as an operand may be both read and written. */
  final void emitBody() {
    values.clear();
    values.putAll(invariants);
    int[] slots = stores.stream().mapToInt(s -> slotOf(s.value())).toArray();
    for (int i = 0; i < slots.length; i++) {
      Recipe.Store s = stores.get(i);
      if (s.value() instanceof Condition) {
        emitStoreFlags(s.operand(), slots[i]);
      } else {
        emitStore(s.operand(), slots[i]);
      }
    }
  }

  /** The slot of a value, which is computed if it has not been. */
  final int slotOf(Expression e) {
    Integer known = values.get(e);
    if (known != null) {
      return known;
    }
    switch (e) {
      case Formula.ByPrecision p -> {
        return slotOf(forType(p));
      }
      case Formula f -> emitFormula(f);
      case Condition c -> emitCondition(c);
    }
    int slot = store(e);
    values.put(e, slot);
    return slot;
  }

  /** Pushes the value of a formula other than a number that is the same for all elements. */
  abstract void emitFormula(Formula f);

  /** Pushes the value of a condition. */
  abstract void emitCondition(Condition c);

  /** Writes what is in a slot to operand {@code k}. */
  abstract void emitStore(int k, int slot);

  /** Writes the truth values in a slot to operand {@code k}. */
  abstract void emitStoreFlags(int k, int slot);

  /** The kind of the values of an expression. */
  abstract TypeKind kind(Expression e);

  /** Turns the one element that was pushed into a value of the loop. */
  abstract void emitSpread();

  /** Pushes a value of the loop from the one flag that operand {@code k} has for the row. */
  abstract void emitSingleFlag(int k);

  /** Pushes the memory of operand k and the byte offset of the element at hand. */
  final void emitAddress(int k, int shift) {
    code.aload(memory[k]).lload(offset[k]).lload(index);
    if (shift > 0) {
      code.loadConstant(shift).lshl();
    }
    code.ladd();
  }

  /** Leaves in a slot, before the loops, a number that is the same for all elements. */
  private void emitSteady(Formula f) {
    switch (f) {
      case Formula.Constant(double value) -> {
        switch (type) {
          case FLOAT -> code.loadConstant((float) value);
          case DOUBLE -> code.loadConstant(value);
          case LONG -> code.loadConstant((long) value);
          default -> code.loadConstant((int) value);
        }
      }
      case Formula.Parameter(int i) -> {
        code.aload(PARAMETERS).loadConstant(i).daload();
        code.conversion(TypeKind.DOUBLE, TypeKind.from(desc(type.element)));
      }
      default -> throw new IllegalStateException("" + f);
    }
    emitSpread();
    invariants.put(f, store(f));
  }

  /**
   * Leaves in a slot, at the start of a row, what is read of an operand with one element for it.
   */
  private void emitIfSingle(Expression leaf) {
    if (leaf instanceof Formula.Input(int k) && isSingle(k)) {
      code.aload(memory[k])
          .getstatic(desc(ValueLayout.class), type.layoutField, desc(type.layout))
          .lload(offset[k])
          .invokeinterface(
              SEGMENT, "get", MethodTypeDesc.of(desc(type.element), desc(type.layout), CD_long));
      emitSpread();
      invariants.put(leaf, store(leaf));
    } else if (leaf instanceof Condition.Flag(int k) && isSingle(k)) {
      emitSingleFlag(k);
      invariants.put(leaf, store(leaf));
    }
  }

  private boolean isSingle(int operand) {
    return (singles >> operand & 1) != 0;
  }

  private int store(Expression e) {
    int slot = code.allocateLocal(kind(e));
    code.storeLocal(kind(e), slot);
    return slot;
  }

  static ClassDesc desc(Class<?> c) {
    return c.describeConstable().orElseThrow();
  }
}
