// ksqlDB's SQL for highlighting. What can follow, and what is wrong, the server says.
import { SQLDialect } from "@codemirror/lang-sql";

const KEYWORDS =
  "add advance all alter and array as assert before between by case cast changes column connector create cross " +
  "date define delete describe distinct drop else emit end exists explain extended false final first from full " +
  "function functions global grace group having header headers hopping if in inner insert into is join key left " +
  "like limit list map not null offset on or order outer partition pause period primary print properties queries " +
  "query rename replace resume retention right run script select session set show size source stream streams " +
  "struct system table tables terminate then timeout timezone topic topics true tumbling type types undefine " +
  "union unset upgrade values variables when where window with within";

const TYPES =
  "array bigint boolean bytes date decimal double int integer map string struct time timestamp varchar " +
  "second seconds minute minutes hour hours day days millisecond milliseconds week month quarter year";

const PSEUDO = "rowtime rowpartition rowoffset rowtopic windowstart windowend";

export const ksql = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  builtin: PSEUDO,
  identifierQuotes: '`"',
  operatorChars: "*+-%<>!=/|",
  specialVar: "",
  doubleQuotedStrings: false,
  backslashEscapes: false,
  hashComments: false,
  slashComments: false,
  spaceAfterDashes: false,
});
