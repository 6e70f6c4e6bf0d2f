// A part of the driver; see Driver.java.
package fillratedriver;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The classes of the unchanged project: what others see of each, and where it is from. */
final class KnownClasses {
    private record Known(String face, String source) {}

    /** By the files of the classes, relative to the folder of all. */
    private final Map<String, Known> known = new HashMap<>();

    /** Reads what {@link #write} wrote; knows no class without the file. */
    KnownClasses(Path file) throws IOException {
        if (Files.exists(file)) {
            for (String line : Files.readAllLines(file)) {
                // A digest has 64 digits, and a space follows it.
                String[] names = line.substring(65).split("\t", 2);
                known.put(names[0], new Known(line.substring(0, 64), names[1]));
            }
        }
    }

    /** Writes a file about the classes in a folder, given the source of each by its file. */
    static void write(Path file, Path classes, Map<String, String> origins) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (var one : origins.entrySet()) {
            lines.append(face(classes.resolve(one.getKey()))).append(' ').append(one.getKey());
            lines.append('\t').append(one.getValue()).append('\n');
        }
        Files.writeString(file, lines);
    }

    /** A digest of what other classes can see of a class. */
    private static String face(Path file) throws IOException {
        return Sources.digest(ClassFace.of(Files.readAllBytes(file)));
    }

    boolean isEmpty() {
        return known.isEmpty();
    }

    /** The files of the classes of some sources. */
    Set<String> filesOf(Set<String> sources) {
        return known.entrySet().stream()
                .filter(one -> sources.contains(one.getValue().source()))
                .map(Map.Entry::getKey)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * Which of some changed sources have other classes than before, or such that other classes can
     * tell from those before, given the folder with their classes and the source of each. Empty if
     * they can't be compiled without the others.
     */
    Optional<Set<String>> different(Path classes, Map<String, String> origins, Set<String> changed)
            throws IOException {
        Set<String> different = new TreeSet<>();
        for (var one : origins.entrySet()) {
            Known before = known.get(one.getKey());
            if (before != null && !before.source().equals(one.getValue())) {
                // Two sources have this class, which only a compilation of both refuses.
                return Optional.empty();
            }
            if (before == null || !before.face().equals(face(classes.resolve(one.getKey())))) {
                different.add(one.getValue());
            }
        }
        for (String file : filesOf(changed)) {
            if (!origins.containsKey(file)) {
                if (origins.keySet().stream().noneMatch(other -> isWithin(file, other))) {
                    // The changed sources themselves were compiled beside it.
                    return Optional.empty();
                }
                different.add(known.get(file).source());
            }
        }
        return Optional.of(different);
    }

    private static boolean isWithin(String file, String other) {
        return file.startsWith(withoutEnding(other) + "$");
    }

    /** The name that sources have for a class, given its file; of one within another, with `$`. */
    static String simpleName(String file) {
        return withoutEnding(file.substring(file.lastIndexOf('/') + 1));
    }

    private static String withoutEnding(String file) {
        return file.substring(0, file.length() - ".class".length());
    }
}
