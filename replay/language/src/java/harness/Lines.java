package fillratedriver;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The lines that the code under test has run since they were last cleared. Every statement records
 * its line, so the sources get a constant array for each file: to record is to store a value in it.
 * The classes that hold these constants are loaded anew for each test, and share the arrays.
 */
public final class Lines {
    /** Fields of one class; their initialisation must fit into 64 kB, at 12 bytes each. */
    private static final int FIELDS = 1000;

    private static final Map<Integer, boolean[]> ALL = new TreeMap<>();

    private Lines() {}

    /** Returns the array of a file with some number of lines, given the file's number. */
    public static synchronized boolean[] array(int file, int lines) {
        // Lines are counted from 1.
        return ALL.computeIfAbsent(file, of -> new boolean[lines + 1]);
    }

    /** Returns the expression for the array of a file in the sources, given the file's number. */
    static String ofFile(int file) {
        return "fillratedriver." + className(file) + ".F" + file;
    }

    private static String className(int file) {
        return "Lines" + file / FIELDS;
    }

    /** Returns the source of each class that holds arrays, by name, given the files' line counts. */
    static Map<String, String> sources(List<Integer> lineCounts) {
        Map<String, StringBuilder> fields = new TreeMap<>();
        for (int file = 0; file < lineCounts.size(); file++) {
            fields.computeIfAbsent(className(file), name -> new StringBuilder())
                    .append("public static final boolean[] F" + file)
                    .append("=Lines.array(" + file + "," + lineCounts.get(file) + ");\n");
        }
        Map<String, String> sources = new TreeMap<>();
        fields.forEach(
                (name, text) ->
                        sources.put(
                                "fillratedriver/" + name + ".java",
                                "package fillratedriver;\npublic final class "
                                        + name + " {\n" + text + "}\n"));
        return sources;
    }

    static synchronized void clear() {
        ALL.values().forEach(lines -> Arrays.fill(lines, false));
    }

    /** Gives the lines of each file, with blanks between. */
    static synchronized void said(BiConsumer<Integer, String> say) {
        ALL.forEach(
                (file, hit) -> {
                    String lines =
                            IntStream.range(0, hit.length)
                                    .filter(line -> hit[line])
                                    .mapToObj(String::valueOf)
                                    .collect(Collectors.joining(" "));
                    if (!lines.isEmpty()) {
                        say.accept(file, lines);
                    }
                });
    }
}
