// Reads lines "S hex" (a certificate's subject in DER) and "R rules TAB subject" (hex each), and prints what
// Java and Kafka make of them, as hex: the oracle for distinguished names and mapping rules.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

public class SubjectsAndRules {
  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ", -1);
      System.out.println(words[0].equals("S") ? subject(words[1]) : mapped(text(words[1]), text(words[2])));
    }
  }

  private static String subject(String hex) {
    return hex(new X500Principal(HexFormat.of().parseHex(hex)).getName());
  }

  private static String mapped(String rules, String subject) {
    try {
      return hex(SslPrincipalMapper.fromRules(rules).getName(subject));
    } catch (SslPrincipalMapper.NoMatchingRule none) {
      return "none";
    } catch (RuntimeException malformed) {
      return "malformed";
    } catch (java.io.IOException other) {
      return "none";
    }
  }

  private static String text(String hex) {
    return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
  }

  private static String hex(String text) {
    return "=" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }
}
