// A part of the driver; see Driver.java.
package fillratedriver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Reads and writes JSON. */
final class Json {
    private final String text;
    private int at;

    Json(String text) {
        this.text = text;
    }

    Object value() {
        blanks();
        switch (text.charAt(at)) {
            case '{' -> {
                Map<String, Object> members = new TreeMap<>();
                at++;
                while (more('}')) {
                    String name = (String) value();
                    blanks();
                    at++;
                    members.put(name, value());
                }
                return members;
            }
            case '[' -> {
                List<Object> items = new ArrayList<>();
                at++;
                while (more(']')) {
                    items.add(value());
                }
                return items;
            }
            case '"' -> {
                return string();
            }
            default -> {
                int start = at;
                while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                String word = text.substring(start, at);
                return switch (word) {
                    case "true" -> Boolean.TRUE;
                    case "false" -> Boolean.FALSE;
                    case "null" -> null;
                    default -> Double.valueOf(word);
                };
            }
        }
    }

    private void blanks() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    /** Whether another part follows; goes past a comma, or past the closing bracket. */
    private boolean more(char close) {
        blanks();
        if (text.charAt(at) == ',') {
            at++;
            blanks();
        }
        boolean more = text.charAt(at) != close;
        at += more ? 0 : 1;
        return more;
    }

    private String string() {
        StringBuilder result = new StringBuilder();
        at++;
        while (text.charAt(at) != '"') {
            char letter = text.charAt(at++);
            if (letter == '\\') {
                letter = text.charAt(at++);
                switch (letter) {
                    case 'n' -> letter = '\n';
                    case 't' -> letter = '\t';
                    case 'r' -> letter = '\r';
                    case 'b' -> letter = '\b';
                    case 'f' -> letter = '\f';
                    case 'u' -> {
                        letter = (char) Integer.parseInt(text.substring(at, at + 4), 16);
                        at += 4;
                    }
                    default -> {}
                }
            }
            result.append(letter);
        }
        at++;
        return result.toString();
    }

    static String text(Object value) {
        if (value instanceof Map<?, ?> members) {
            return members.entrySet().stream()
                    .map(one -> text(one.getKey()) + ":" + text(one.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> items) {
            return items.stream().map(Json::text).collect(Collectors.joining(",", "[", "]"));
        }
        if (value instanceof Number || value instanceof Boolean || value == null) {
            return String.valueOf(value);
        }
        StringBuilder result = new StringBuilder("\"");
        for (char letter : String.valueOf(value).toCharArray()) {
            if (letter < ' ' || letter == '"' || letter == '\\' || Character.isSurrogate(letter)) {
                result.append(String.format("\\u%04x", (int) letter));
            } else {
                result.append(letter);
            }
        }
        return result.append('"').toString();
    }
}
