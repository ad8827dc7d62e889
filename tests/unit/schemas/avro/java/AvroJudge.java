import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.Incompatibility;
import org.apache.avro.SchemaNormalization;

/**
 * Avro's own answers, one line of JSON for each line read.
 *
 * <pre>
 * {"strict": true, "references": [TEXT], "schema": TEXT}     canonical, resolved, form, fingerprint
 * {"reader": TEXT, "writer": TEXT}                           reasons, equal
 * </pre>
 *
 * An answer with "error" stands for a failure of the library.
 */
public final class AvroJudge {
  private static final ObjectMapper JSON = new ObjectMapper();

  private AvroJudge() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    BufferedWriter out =
        new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        JsonNode question = JSON.readTree(line);
        if (question.has("reader")) {
          compare(question, answer);
        } else {
          parse(question, answer);
        }
      } catch (Exception | StackOverflowError problem) {
        answer.removeAll();
        answer.put("error", problem.getClass().getSimpleName() + ": " + problem.getMessage());
      }
      out.write(JSON.writeValueAsString(answer));
      out.newLine();
    }
    out.flush();
  }

  private static void parse(JsonNode question, ObjectNode answer) throws Exception {
    boolean strict = question.get("strict").booleanValue();
    List<Schema> references = new ArrayList<>();
    Schema.Parser parser = parser(strict);
    for (JsonNode text : question.get("references")) {
      references.add(parser.parse(text.textValue()));
    }
    Schema schema = parser.parse(question.get("schema").textValue());
    if (!strict) {
      checkNames(schema, Collections.newSetFromMap(new IdentityHashMap<>()));
    }
    answer.put("canonical", schema.toString(references, false));
    answer.put("resolved", schema.toString());
    answer.put("form", SchemaNormalization.toParsingForm(schema));
    answer.put(
        "fingerprint", Long.toUnsignedString(SchemaNormalization.parsingFingerprint64(schema)));
  }

  private static void compare(JsonNode question, ObjectNode answer) {
    Schema reader = parser(false).parse(question.get("reader").textValue());
    Schema writer = parser(false).parse(question.get("writer").textValue());
    answer.put("equal", reader.equals(writer));
    ArrayNode reasons = answer.putArray("reasons");
    for (Incompatibility each :
        SchemaCompatibility.checkReaderWriterCompatibility(reader, writer)
            .getResult()
            .getIncompatibilities()) {
      reasons.add(
          JSON.createArrayNode()
              .add(each.getType().toString())
              .add(each.getLocation())
              .add(each.getMessage()));
    }
  }

  private static Schema.Parser parser(boolean strict) {
    NameValidator names =
        strict ? NameValidator.STRICT_VALIDATOR : NameValidator.NO_VALIDATION;
    return new Schema.Parser(names).setValidateDefaults(strict);
  }

  private static void checkNames(Schema schema, Set<Schema> seen) {
    if (!seen.add(schema)) {
      return;
    }
    switch (schema.getType()) {
      case RECORD:
        checkName(schema.getName());
        for (Schema.Field field : schema.getFields()) {
          checkName(field.name());
          checkNames(field.schema(), seen);
        }
        break;
      case ENUM:
        checkName(schema.getName());
        schema.getEnumSymbols().forEach(AvroJudge::checkName);
        break;
      case FIXED:
        checkName(schema.getName());
        break;
      case ARRAY:
        checkNames(schema.getElementType(), seen);
        break;
      case MAP:
        checkNames(schema.getValueType(), seen);
        break;
      case UNION:
        schema.getTypes().forEach(branch -> checkNames(branch, seen));
        break;
      default:
        break;
    }
  }

  private static void checkName(String name) {
    NameValidator.Result result = NameValidator.UTF_VALIDATOR.validate(name);
    if (!result.isOK()) {
      throw new IllegalArgumentException(result.getErrors());
    }
  }
}
