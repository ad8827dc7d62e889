package org.duolog.kernel.functions.format.protobuf;

/**
 * Properties of a field that depend on the edition of its file: proto2, proto3, or a year. Options
 * of the file, a message or a field override the defaults of an edition.
 *
 * @param presence the meaning of a field that is not in the bytes
 * @param closed an enum has no values but those that it declares
 * @param packed repeated numbers are one value
 * @param verified texts must be UTF-8
 * @param delimited messages inside are groups
 */
record Features(
    Presence presence, boolean closed, boolean packed, boolean verified, boolean delimited) {

  enum Presence {
    /** A field that is not there is null. */
    EXPLICIT,
    /** A field that is not there has the default of its type. */
    IMPLICIT,
    REQUIRED
  }

  private static final int EDITION_PROTO3 = 999;
  private static final int EDITION_2023 = 1000;

  // Numbers of google.protobuf.FeatureSet and of the values of its enums.
  private static final int FIELD_PRESENCE = 1;
  private static final int ENUM_TYPE = 2;
  private static final int REPEATED_FIELD_ENCODING = 3;
  private static final int UTF8_VALIDATION = 4;
  private static final int MESSAGE_ENCODING = 5;
  private static final int IMPLICIT = 2;
  private static final int LEGACY_REQUIRED = 3;
  private static final int CLOSED = 2;
  private static final int PACKED = 1;
  private static final int VERIFY = 2;
  private static final int DELIMITED = 2;

  /** Returns the defaults of a file. */
  static Features of(String syntax, int edition) {
    boolean isNew = "proto3".equals(syntax) || edition == EDITION_PROTO3;
    boolean isDated = edition >= EDITION_2023;
    Presence presence = isNew ? Presence.IMPLICIT : Presence.EXPLICIT;
    boolean isOpen = isNew || isDated;
    return new Features(presence, !isOpen, isOpen, isOpen, false);
  }

  /** Returns these features with what a FeatureSet changes. */
  Features with(RawMessage set) {
    if (set == null) {
      return this;
    }
    int given = (int) set.number(FIELD_PRESENCE);
    Presence changed =
        given == LEGACY_REQUIRED
            ? Presence.REQUIRED
            : given == IMPLICIT ? Presence.IMPLICIT : given == 0 ? presence : Presence.EXPLICIT;
    return new Features(
        changed,
        is(set, ENUM_TYPE, CLOSED, closed),
        is(set, REPEATED_FIELD_ENCODING, PACKED, packed),
        is(set, UTF8_VALIDATION, VERIFY, verified),
        is(set, MESSAGE_ENCODING, DELIMITED, delimited));
  }

  Features with(Presence other) {
    return new Features(other, closed, packed, verified, delimited);
  }

  Features packed(boolean other) {
    return new Features(presence, closed, other, verified, delimited);
  }

  private static boolean is(RawMessage set, int number, int value, boolean otherwise) {
    long given = set.number(number);
    return given == 0 ? otherwise : given == value;
  }
}
