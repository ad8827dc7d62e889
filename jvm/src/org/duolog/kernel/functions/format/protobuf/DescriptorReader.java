package org.duolog.kernel.functions.format.protobuf;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.kafka.common.errors.SerializationException;

/**
 * Reads the types of one FileDescriptorProto: first all types, then the fields, which refer to
 * types of any file. Threads: not shared.
 *
 * <p>Source: Protobuf's descriptor.proto.
 */
final class DescriptorReader {
  private static final int NAME = 1;
  private static final int FEATURES_OF_MESSAGE = 12;
  private static final int FEATURES_OF_FIELD = 21;
  private static final int FEATURES_OF_FILE = 50;
  private static final int FEATURES_OF_ENUM = 7;
  private static final int FEATURES_OF_ONEOF = 1;
  private static final int FILE_OPTIONS = 8;
  private static final int FILE_SYNTAX = 12;
  private static final int FILE_EDITION = 14;

  // Numbers of DescriptorProto.
  private static final int FIELD = 2;
  private static final int NESTED_TYPE = 3;
  private static final int ENUM_TYPE = 4;
  private static final int EXTENSION = 6;
  private static final int MESSAGE_OPTIONS = 7;
  private static final int ONEOF_DECL = 8;
  private static final int MAP_ENTRY = 7;

  // Numbers of FieldDescriptorProto.
  private static final int EXTENDEE = 2;
  private static final int NUMBER = 3;
  private static final int LABEL = 4;
  private static final int TYPE = 5;
  private static final int TYPE_NAME = 6;
  private static final int FIELD_OPTIONS = 8;
  private static final int ONEOF_INDEX = 9;
  private static final int PROTO3_OPTIONAL = 17;
  private static final int PACKED = 2;
  private static final int LABEL_REQUIRED = 2;
  private static final int LABEL_REPEATED = 3;

  // Numbers of EnumDescriptorProto and EnumValueDescriptorProto, and of OneofDescriptorProto.
  private static final int ENUM_VALUE = 2;
  private static final int ENUM_OPTIONS = 3;
  private static final int VALUE_NUMBER = 2;
  private static final int ONEOF_OPTIONS = 2;

  private final ProtobufFiles.Types types;
  private final Features features;
  private final Map<MessageType, Unlinked> unlinked = new LinkedHashMap<>();

  DescriptorReader(RawMessage file, ProtobufFiles.Types types) {
    this.types = types;
    this.features =
        Features.of(file.text(FILE_SYNTAX), (int) file.number(FILE_EDITION))
            .with(features(file.message(FILE_OPTIONS), FEATURES_OF_FILE));
  }

  /** A message whose fields do not know their types yet. */
  private record Unlinked(RawMessage raw, Features features) {}

  /** Returns the features of the file. */
  Features features() {
    return features;
  }

  /** Returns the names of groups that fields declare in a scope. */
  Set<String> groups(List<RawMessage> fields, String scope) {
    Set<String> found = new HashSet<>();
    for (RawMessage field : fields) {
      String type = field.text(TYPE_NAME);
      String simple = type.substring(type.lastIndexOf('.') + 1);
      if (field.number(TYPE) == FieldType.GROUP
          && simple.toLowerCase(Locale.ROOT).equals(field.text(NAME))
          && (type.equals(simple) || type.equals("." + inside(scope, simple)))) {
        found.add(inside(scope, simple));
      }
    }
    return found;
  }

  MessageType message(RawMessage raw, String scope) {
    return message(raw, scope, features);
  }

  private MessageType message(RawMessage raw, String scope, Features around) {
    RawMessage options = raw.message(MESSAGE_OPTIONS);
    String fullName = inside(scope, raw.text(NAME));
    List<String> oneofs =
        raw.messages(ONEOF_DECL).stream().map(oneof -> oneof.text(NAME)).toList();
    boolean isEntry = options != null && options.flag(MAP_ENTRY);
    MessageType made = new MessageType(raw.text(NAME), fullName, isEntry, oneofs);
    Features own = around.with(features(options, FEATURES_OF_MESSAGE));
    types.messages.put(fullName, made);
    unlinked.put(made, new Unlinked(raw, own));
    raw.messages(ENUM_TYPE).forEach(each -> enumeration(each, fullName, own));
    Set<String> groups = groups(raw.messages(FIELD), fullName);
    groups.addAll(groups(raw.messages(EXTENSION), fullName));
    for (RawMessage inner : raw.messages(NESTED_TYPE)) {
      MessageType found = message(inner, fullName, own);
      if (!groups.contains(found.fullName)) {
        made.places.add(found);
      }
    }
    return made;
  }

  void enumeration(RawMessage raw, String scope, Features around) {
    Map<String, Integer> numbers = new HashMap<>();
    Map<Integer, String> names = new HashMap<>();
    for (RawMessage value : raw.messages(ENUM_VALUE)) {
      int number = (int) value.number(VALUE_NUMBER);
      numbers.put(value.text(NAME), number);
      names.putIfAbsent(number, value.text(NAME));
    }
    boolean isClosed = around.with(features(raw.message(ENUM_OPTIONS), FEATURES_OF_ENUM)).closed();
    String fullName = inside(scope, raw.text(NAME));
    types.enums.put(fullName, new FieldType.EnumType(fullName, isClosed, numbers, names));
  }

  /** Reads the fields, once the types of all files are known. */
  void link(List<RawMessage> extensions, String scope) {
    unlinked.forEach(
        (message, from) -> {
          List<RawMessage> oneofs = from.raw.messages(ONEOF_DECL);
          for (RawMessage field : from.raw.messages(FIELD)) {
            FieldType made = field(field, from.features, oneofs);
            find(field.text(TYPE_NAME), message.fullName, made, message.isMapEntry);
            message.fields.add(made);
          }
          from.raw
              .messages(EXTENSION)
              .forEach(field -> extend(field, message.fullName, from.features));
        });
    extensions.forEach(field -> extend(field, scope, features));
  }

  private void extend(RawMessage field, String scope, Features around) {
    String name = fullName(field.text(EXTENDEE), scope, types.messages::containsKey);
    MessageType extended = types.messages.get(name);
    if (extended != null) {
      FieldType made = field(field, around.with(Features.Presence.EXPLICIT), List.of());
      find(field.text(TYPE_NAME), scope, made, false);
      extended.extensions.add(made);
    }
  }

  /** Returns a field without the message or enum that it names. */
  private FieldType field(RawMessage raw, Features around, List<RawMessage> oneofs) {
    boolean isOptional = raw.flag(PROTO3_OPTIONAL);
    int oneof = raw.has(ONEOF_INDEX) && !isOptional ? (int) raw.number(ONEOF_INDEX) : -1;
    long label = raw.number(LABEL);
    FieldType made =
        new FieldType(raw.text(NAME), (int) raw.number(NUMBER), label == LABEL_REPEATED, oneof);
    Features own = around;
    if (oneof >= 0 && oneof < oneofs.size()) {
      own = own.with(features(oneofs.get(oneof).message(ONEOF_OPTIONS), FEATURES_OF_ONEOF));
    }
    RawMessage options = raw.message(FIELD_OPTIONS);
    own = own.with(features(options, FEATURES_OF_FIELD));
    if (options != null && options.has(PACKED)) {
      own = own.packed(options.flag(PACKED));
    }
    if (isOptional || label == LABEL_REQUIRED) {
      own = own.with(isOptional ? Features.Presence.EXPLICIT : Features.Presence.REQUIRED);
    }
    made.features = own;
    made.type = (int) raw.number(TYPE);
    return made;
  }

  /** Finds the message or enum that a field names. */
  private void find(String name, String scope, FieldType field, boolean isInEntry) {
    if (name.isEmpty()) {
      return;
    }
    String full = fullName(name, scope, types::contains);
    field.message = types.messages.get(full);
    field.enumeration = types.enums.get(full);
    if (field.message == null && field.enumeration == null) {
      throw new SerializationException("the schema does not define the type " + name);
    }
    if (field.isMessage()) {
      boolean isGroup =
          field.type == FieldType.GROUP
              || field.features.delimited() && !isInEntry && !field.message.isMapEntry;
      field.type = isGroup ? FieldType.GROUP : FieldType.MESSAGE;
    } else {
      field.type = FieldType.ENUM;
    }
  }

  /**
   * Returns the full name of a type. One after a point is full already. Confluent's registry has
   * names as the text of the schema has them: these are looked for in each scope around the field.
   */
  private static String fullName(String name, String scope, Predicate<String> isKnown) {
    if (name.startsWith(".")) {
      return name.substring(1);
    }
    String around = scope;
    while (!around.isEmpty() && !isKnown.test(inside(around, name))) {
      around = around.substring(0, Math.max(0, around.lastIndexOf('.')));
    }
    return inside(around, name);
  }

  private static RawMessage features(RawMessage options, int number) {
    return options == null ? null : options.message(number);
  }

  private static String inside(String scope, String name) {
    return scope.isEmpty() ? name : scope + "." + name;
  }
}
