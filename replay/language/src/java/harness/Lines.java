package fillratedriver;

import java.util.BitSet;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/** The lines that the code under test has run since they were last cleared. */
public final class Lines {
    private static final Map<Integer, BitSet> RUN = new TreeMap<>();

    private Lines() {}

    /** Records a line of a file, given the file's number. */
    public static synchronized void hit(int file, int line) {
        RUN.computeIfAbsent(file, of -> new BitSet()).set(line);
    }

    static synchronized void clear() {
        RUN.clear();
    }

    /** Gives the lines of each file, with blanks between. */
    static synchronized void said(BiConsumer<Integer, String> say) {
        RUN.forEach(
                (file, lines) ->
                        say.accept(
                                file,
                                lines.stream()
                                        .mapToObj(String::valueOf)
                                        .collect(Collectors.joining(" "))));
    }
}
