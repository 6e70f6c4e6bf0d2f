package fillratedriver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The lines that the code under test has run since they were last cleared. Every statement comes
 * here, so the usual way takes no lock: a line is only ever set, and no array is given up.
 */
public final class Lines {
    private static final int LEAST = 1024;
    /** Every array that a file ever had; a thread may still write to an earlier one. */
    private static final Map<Integer, List<boolean[]>> ALL = new TreeMap<>();

    /** The latest array of each file, by the file's number. */
    private static volatile boolean[][] latest = new boolean[0][];

    private Lines() {}

    /** Records a line of a file, given the file's number. */
    public static void hit(int file, int line) {
        boolean[][] files = latest;
        if (file < files.length) {
            boolean[] lines = files[file];
            if (lines != null && line < lines.length) {
                lines[line] = true;
                return;
            }
        }
        grown(file, line)[line] = true;
    }

    /** Returns an array of a file that has the line. */
    private static synchronized boolean[] grown(int file, int line) {
        boolean[][] files = latest;
        if (file >= files.length) {
            files = Arrays.copyOf(files, Math.max(file + 1, 2 * files.length));
        }
        if (files[file] == null || line >= files[file].length) {
            files[file] = new boolean[Math.max(LEAST, 2 * line)];
            ALL.computeIfAbsent(file, of -> new ArrayList<>()).add(files[file]);
        }
        latest = files;
        return files[file];
    }

    static synchronized void clear() {
        ALL.values().forEach(arrays -> arrays.forEach(lines -> Arrays.fill(lines, false)));
    }

    /** Gives the lines of each file, with blanks between. */
    static synchronized void said(BiConsumer<Integer, String> say) {
        ALL.forEach(
                (file, arrays) -> {
                    String lines =
                            arrays.stream()
                                    .flatMapToInt(
                                            one ->
                                                    IntStream.range(0, one.length)
                                                            .filter(line -> one[line]))
                                    .distinct()
                                    .sorted()
                                    .mapToObj(String::valueOf)
                                    .collect(Collectors.joining(" "));
                    if (!lines.isEmpty()) {
                        say.accept(file, lines);
                    }
                });
    }
}
