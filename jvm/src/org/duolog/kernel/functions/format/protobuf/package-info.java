/** Protobuf's binary form, read and written by descriptors without generated classes. */
package org.duolog.kernel.functions.format.protobuf;
