package org.duolog.kernel;

import org.duolog.kernel.spec.Spec;

/** Prints the generations and their last epochs that a restore reads from its argument. */
public final class GenerationFormats {
  private GenerationFormats() {}

  public static void main(String[] arguments) {
    Spec.parse(arguments[0], Restore.Generations.class)
        .generations()
        .forEach(one -> System.out.println(one.get(0) + ":" + one.get(1)));
  }
}
