import com.squareup.wire.schema.Location;
import com.squareup.wire.schema.internal.parser.ProtoParser;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Prints what Square Wire makes of each section of a corpus: `==== name`, then its text of it. */
public final class WireTexts {
  private static final String MARK = "==== ";

  private WireTexts() {}

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String section : ("\n" + Files.readString(Path.of(args[0]))).split("\n" + MARK)) {
      if (section.isEmpty()) {
        continue;
      }
      int end = section.indexOf('\n');
      out.print(MARK + section.substring(0, end) + "\n");
      try {
        out.print(ProtoParser.Companion.parse(Location.get(""), section.substring(end + 1) + "\n").toSchema());
      } catch (RuntimeException refused) {
        out.print("refused: " + refused.getMessage() + "\n");
      }
    }
    out.flush();
  }
}
