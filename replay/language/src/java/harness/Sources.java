// A part of the driver; see Driver.java.
package fillratedriver;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The sources of a project, and what is compiled of them. */
final class Sources {
    /** Folders of what a build writes, if they are where it writes: packages may be named so. */
    private static final Set<String> OUTPUT_FOLDERS = Set.of("build", "out", "target");
    private static final List<String> BUILD_FILES =
            List.of("pom.xml", "build.gradle", "build.gradle.kts");
    private static final List<String> RESOURCES =
            List.of("src/main/resources", "src/test/resources");
    /** The folder of the classes of a changed project. */
    private static final String SOME = "some";
    /** Within the folder of what is compiled, the classes. */
    private static final String CLASSES = "classes";
    /** The file beside them with the digest and the name of each source that was compiled. */
    private static final String INDEX = "index";
    /** The file beside them about each class; see KnownClasses.java. */
    private static final String FACES = "faces";
    /** The file beside them with the classes that a change leaves out; removed before tests run. */
    private static final String GONE = "gone";

    private final Path environment;
    private final Path built;
    private final Path root;
    private final Path project;
    /** Folders of other modules, whose sources are compiled with the project's. */
    private final List<Path> also;
    private final Path scratch;
    private final Set<String> leftOut;
    /** Relative to the project's folder. */
    private final Map<String, String> digests = new TreeMap<>();
    /** Of the unchanged project, unless all of it has to be compiled with every change. */
    private final KnownClasses known;
    private List<Path> classes = List.of();
    /** The files that the compiler refuses, relative to the repository. */
    final Set<String> refused = new TreeSet<>();

    Sources(
            Path environment,
            Path built,
            Path root,
            Path project,
            List<Path> also,
            Path scratch,
            Set<String> leftOut)
            throws IOException {
        this.environment = environment;
        this.built = built;
        this.root = root;
        this.project = project;
        this.also = also;
        this.scratch = scratch;
        this.leftOut = leftOut;
        known = new KnownClasses(built.resolve(FACES));
        for (Path folder : Stream.concat(Stream.of(project), also.stream()).toList()) {
            for (Path file : files(folder)) {
                if (!leftOut.contains(root.relativize(file).toString())) {
                    String name = project.relativize(file).toString();
                    digests.put(name, digest(Files.readAllBytes(file)));
                }
            }
        }
    }

    /**
     * Compiles an unchanged project into an environment. Files that the compiler refuses are left
     * out, as tests are that lack a package, and what needs them with them.
     */
    static void prepare(Path environment, Path project, List<Path> also) throws IOException {
        Path built = environment.resolve("built");
        Sources sources = new Sources(environment, built, project, project, also, built, Set.of());
        Path output = Files.createDirectories(built.resolve(CLASSES));
        Set<String> names = sources.digests.keySet();
        Map<String, String> origins = new TreeMap<>();
        // A file that needs a refused one is refused only once that is left out.
        while (sources.javac(names, output, List.of(), Map.of(), origins).isPresent()) {
            deleteInside(output);
            origins.clear();
            if (!names.removeAll(sources.refused)) {
                // The errors are in none of the files that are left.
                names.clear();
            }
            if (names.isEmpty()) {
                break;
            }
            sources.refused.clear();
        }
        Files.writeString(built.resolve(INDEX), index(sources.digests));
        // A processor of annotations may write what it read of all sources.
        if (!sources.hasProcessors()) {
            KnownClasses.write(built.resolve(FACES), output, origins);
        }
    }

    /** The text of the file that says which sources were compiled. */
    private static String index(Map<String, String> digests) {
        return digests.entrySet().stream()
                .map(one -> one.getValue() + " " + one.getKey() + "\n")
                .collect(Collectors.joining());
    }

    static List<Path> jars(Path environment) throws IOException {
        try (Stream<Path> files = Files.list(environment.resolve("jars"))) {
            return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
        }
    }

    private static List<Path> files(Path project) throws IOException {
        List<Path> found = new ArrayList<>();
        List<String> builds =
                BUILD_FILES.stream().filter(name -> Files.exists(project.resolve(name))).toList();
        Files.walkFileTree(
                project,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes of) {
                        String name = String.valueOf(folder.getFileName());
                        boolean other =
                                name.startsWith(".")
                                        || name.equals("node_modules")
                                        || isOutput(folder, project)
                                        || builds.stream()
                                                .anyMatch(one -> Files.exists(folder.resolve(one)));
                        return other && !folder.equals(project)
                                ? FileVisitResult.SKIP_SUBTREE
                                : FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes of) {
                        String name = file.getFileName().toString();
                        if (name.endsWith(".java") && !name.equals("module-info.java")) {
                            found.add(file);
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
        return found;
    }

    /** Whether a folder below a project's is where a build writes: beside its file or sources. */
    private static boolean isOutput(Path folder, Path project) {
        if (!OUTPUT_FOLDERS.contains(String.valueOf(folder.getFileName()))) {
            return false;
        }
        Path beside = folder.getParent();
        // A project's folder whose name is `java` may hold packages, as those of modules do.
        return beside.equals(project) && !project.endsWith("java")
                || Files.isDirectory(beside.resolve("src"))
                || BUILD_FILES.stream().anyMatch(name -> Files.exists(beside.resolve(name)));
    }

    static String digest(String text) {
        return digest(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String digest(byte[] bytes) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
            return String.format("%064x", new java.math.BigInteger(1, digest));
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    /**
     * Compiles what differs from the unchanged project, and all of it where others may see the
     * difference. Returns what the compiler says if it refuses.
     */
    Optional<String> compile() throws IOException {
        Path unchanged = built.resolve(CLASSES);
        Map<String, String> before = new TreeMap<>();
        Path index = built.resolve(INDEX);
        if (Files.exists(index)) {
            for (String line : Files.readAllLines(index)) {
                // A digest has 64 digits, and a space follows it.
                before.put(line.substring(65), line.substring(0, 64));
            }
        }
        boolean hasSameFiles = before.keySet().equals(digests.keySet());
        Set<String> changed = new TreeSet<>(digests.keySet());
        changed.removeIf(file -> digests.get(file).equals(before.get(file)));
        if (hasSameFiles && changed.isEmpty()) {
            classes = List.of(unchanged);
            return Optional.empty();
        }
        Path some = Files.createDirectories(scratch.resolve(SOME));
        classes = List.of(some);
        if (hasSameFiles && !known.isEmpty()) {
            Map<String, String> origins = new TreeMap<>();
            Optional<String> said = javac(changed, some, List.of(unchanged), Map.of(), origins);
            if (said.isPresent()) {
                return said;
            }
            if (noneSees(some, origins, changed, Map.of())) {
                copyOthers(unchanged, some, known.filesOf(changed));
                return said;
            }
            deleteInside(some);
        }
        return javac(digests.keySet(), some, List.of(), Map.of(), new TreeMap<>());
    }

    /** Copies the classes that are not replaced: code may look for them where its own is. */
    private static void copyOthers(Path from, Path to, Set<String> replaced) throws IOException {
        for (Path file : filesBelow(from)) {
            String name = from.relativize(file).toString();
            if (!replaced.contains(name)) {
                Path copy = to.resolve(name);
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy);
            }
        }
    }

    /**
     * Compiles files with other contents, by their paths in the repository, against the classes
     * that were compiled before, which are those of the unchanged project. Returns what the
     * compiler says if it refuses. If it does not, `compiled` has what differs from the folder of
     * what is compiled, by the paths in it, unless other classes may see the difference.
     */
    Optional<String> check(Map<String, String> contents, Map<String, byte[]> compiled)
            throws IOException {
        Map<String, String> texts = new TreeMap<>();
        contents.forEach(
                (path, text) -> texts.put(project.relativize(root.resolve(path)).toString(), text));
        if (known.isEmpty() || !digests.keySet().containsAll(texts.keySet())) {
            return Optional.empty();
        }
        refused.clear();
        Path output = Files.createTempDirectory(scratch, "checked-");
        Map<String, String> origins = new TreeMap<>();
        Optional<String> said = javac(texts.keySet(), output, classes, texts, origins);
        boolean isUnchanged = classes.contains(built.resolve(CLASSES));
        if (said.isEmpty() && isUnchanged && noneSees(output, origins, texts.keySet(), texts)) {
            for (String name : origins.keySet()) {
                compiled.put(CLASSES + "/" + name, Files.readAllBytes(output.resolve(name)));
            }
            Map<String, String> now = new TreeMap<>(digests);
            texts.forEach((name, text) -> now.put(name, digest(text)));
            compiled.put(INDEX, index(now).getBytes(StandardCharsets.UTF_8));
            String gone =
                    known.filesOf(texts.keySet()).stream()
                            .filter(name -> !origins.containsKey(name))
                            .map(name -> name + "\n")
                            .collect(Collectors.joining());
            if (!gone.isEmpty()) {
                compiled.put(GONE, gone.getBytes(StandardCharsets.UTF_8));
            }
        }
        deleteInside(output);
        Files.delete(output);
        return said;
    }

    /** Deletes all that a folder holds. */
    private static void deleteInside(Path folder) throws IOException {
        List<Path> inside;
        try (Stream<Path> walk = Files.walk(folder)) {
            inside = new ArrayList<>(walk.filter(path -> !path.equals(folder)).toList());
        }
        // Reversed, a folder comes after all that it holds.
        Collections.reverse(inside);
        for (Path path : inside) {
            Files.delete(path);
        }
    }

    private static List<Path> filesBelow(Path folder) throws IOException {
        try (Stream<Path> walk = Files.walk(folder)) {
            return walk.filter(Files::isRegularFile).toList();
        }
    }

    /**
     * Whether no other class can tell the classes of changed sources, given by their files and
     * sources, from the unchanged ones: each looks as it did, or no other source names any class of
     * its source, as with a class of tests that has other names for them. No process beside the
     * tests reads the unchanged ones: what it freed could be read from there.
     */
    private boolean noneSees(
            Path output,
            Map<String, String> origins,
            Set<String> changed,
            Map<String, String> texts)
            throws IOException {
        Optional<Set<String>> compared = known.different(output, origins, changed);
        if (compared.isEmpty()) {
            return false;
        }
        Set<String> different = compared.get();
        // What uses a class may have it from one beside it.
        Set<String> files = known.filesOf(different);
        origins.forEach(
                (file, source) -> {
                    if (different.contains(source)) {
                        files.add(file);
                    }
                });
        Set<String> names =
                files.stream().map(KnownClasses::simpleName).collect(Collectors.toSet());
        return names.isEmpty() || !areNamed(names, different, texts);
    }

    /** Whether an archive has processors of annotations, which the compiler then runs. */
    private boolean hasProcessors() throws IOException {
        for (Path jar : jars(environment)) {
            try (ZipFile files = new ZipFile(jar.toFile())) {
                if (files.getEntry("META-INF/services/javax.annotation.processing.Processor") != null) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * Whether a source other than these has one of the words, or may have it; of some sources, the
     * text is not that of their files.
     */
    private boolean areNamed(Set<String> words, Set<String> own, Map<String, String> texts)
            throws IOException {
        String any = words.stream().map(Pattern::quote).collect(Collectors.joining("|"));
        // An escape may stand for any letter of a name, and the compiler ignores some characters
        // in it: see Character.isIdentifierIgnorable.
        String hidden = "\\\\u+[0-9a-fA-F]{4}|[\\p{Cf}\\x00-\\x08\\x0e-\\x1b\\x7f-\\x9f]";
        Pattern named = Pattern.compile("(?<![\\w$])(" + any + ")(?![\\w$])|" + hidden);
        for (String name : digests.keySet()) {
            if (!own.contains(name)) {
                String text = texts.get(name);
                if (text == null) {
                    text = new String(Files.readAllBytes(path(name)), StandardCharsets.UTF_8);
                }
                if (named.matcher(text).find()) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * Removes what is compiled of the unchanged project and not run: the original of a changed file
     * among it. Returns the names of the files below the folder of what is compiled.
     */
    List<String> removeOriginals() throws IOException {
        Path unchanged = built.resolve(CLASSES);
        List<Path> unused = new ArrayList<>();
        Path gone = built.resolve(GONE);
        if (!classes.contains(unchanged) && Files.isDirectory(unchanged)) {
            unused.addAll(filesBelow(unchanged));
        } else if (Files.exists(gone)) {
            Files.readAllLines(gone).forEach(name -> unused.add(unchanged.resolve(name)));
        }
        // By its digest, code could recognise the original.
        List.of(INDEX, FACES, GONE).forEach(name -> unused.add(built.resolve(name)));
        List<String> removed = new ArrayList<>();
        for (Path file : unused) {
            if (Files.deleteIfExists(file)) {
                removed.add(built.relativize(file).toString());
            }
        }
        return removed;
    }

    /** The path of a source, given its name relative to the project. */
    private Path path(String name) {
        return project.resolve(name).normalize();
    }

    /**
     * Compiles sources, given by their names, of which some have other texts than their files. Puts
     * the source of each class into `origins`, by the class's file below the output.
     */
    private Optional<String> javac(
            Collection<String> names,
            Path output,
            List<Path> classPath,
            Map<String, String> texts,
            Map<String, String> origins)
            throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options = options(classPath, jars(environment), output);
        try (StandardJavaFileManager manager =
                compiler.getStandardFileManager(found, Locale.ROOT, StandardCharsets.UTF_8)) {
            List<JavaFileObject> units = new ArrayList<>();
            for (String name : names) {
                String text = texts.get(name);
                if (text != null) {
                    units.add(new Text(path(name).toUri(), text));
                } else {
                    manager.getJavaFileObjects(path(name)).forEach(units::add);
                }
            }
            Origins noting = new Origins(manager, origins);
            boolean done = compiler.getTask(null, noting, found, options, null, units).call();
            if (done) {
                return Optional.empty();
            }
        }
        StringBuilder said = new StringBuilder();
        for (Diagnostic<? extends JavaFileObject> one : found.getDiagnostics()) {
            if (one.getKind() != Diagnostic.Kind.ERROR) {
                continue;
            }
            String file = "";
            if (one.getSource() != null) {
                file = root.relativize(Path.of(one.getSource().toUri())).toString();
                refused.add(file);
            }
            said.append(file).append(':').append(one.getLineNumber()).append(": ");
            said.append(one.getMessage(Locale.ROOT)).append('\n');
        }
        // An error may be in no file, such as one of the options.
        if (refused.isEmpty()) {
            refused.add(root.relativize(project).toString());
        }
        return Optional.of(said.toString());
    }

    private static List<String> options(List<Path> classPath, List<Path> jars, Path output) {
        List<Path> seen = new ArrayList<>(classPath);
        seen.addAll(jars);
        seen.add(Driver.ownArchive());
        // Without a source path and implicit classes, only the named files are compiled.
        return List.of(
                "-g", "-nowarn", "-parameters", "-encoding", "UTF-8", "-implicit:none",
                "-Xmaxerrs", "20", "-cp", Driver.joined(seen), "-sourcepath", "",
                "-d", output.toString());
    }

    /** Notes which source each class is compiled from. */
    private final class Origins extends ForwardingJavaFileManager<StandardJavaFileManager> {
        private final Map<String, String> origins;

        Origins(StandardJavaFileManager manager, Map<String, String> origins) {
            super(manager);
            this.origins = origins;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject source)
                throws IOException {
            if (kind == JavaFileObject.Kind.CLASS && source != null) {
                String file = project.relativize(Path.of(source.toUri())).toString();
                origins.put(name.replace('.', '/') + ".class", file);
            }
            return super.getJavaFileForOutput(location, name, kind, source);
        }
    }

    /** A source that is in no file. */
    private static final class Text extends SimpleJavaFileObject {
        private final String text;

        Text(URI uri, String text) {
            super(uri, Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    List<Path> classPath() {
        return withResources(classes, project, also);
    }

    /** What every change runs with: either folder of classes may be empty. */
    static List<Path> usualClassPath(
            Path built, Path project, List<Path> also, Path scratch) throws IOException {
        Path some = Files.createDirectories(scratch.resolve(SOME));
        return withResources(List.of(some, built.resolve(CLASSES)), project, also);
    }

    private static List<Path> withResources(
            List<Path> classes, Path project, List<Path> also) {
        List<Path> path = new ArrayList<>(classes);
        for (String folder : RESOURCES) {
            path.add(project.resolve(folder));
        }
        for (Path other : also) {
            if (other.endsWith("java")) {
                path.add(other.resolveSibling("resources"));
            } else {
                RESOURCES.forEach(folder -> path.add(other.resolve(folder)));
            }
        }
        path.removeIf(folder -> !Files.exists(folder));
        return path;
    }

    List<Path> recordingClassPath() {
        List<Path> path = new ArrayList<>(List.of(scratch.resolve("recording")));
        path.addAll(classPath());
        return path;
    }

    /** Compiles files so that they record their lines; returns them in the order of their numbers. */
    List<String> record(Set<String> wanted) throws IOException {
        List<String> files = new ArrayList<>();
        Map<String, String> texts = new TreeMap<>();
        List<Integer> lineCounts = new ArrayList<>();
        for (String file : wanted) {
            Path path = root.resolve(file);
            String name = project.relativize(path).toString();
            if (digests.containsKey(name)) {
                String text = Recorder.recording(path, files.size());
                texts.put(name, text);
                // No line of a record ends anywhere else than in the source.
                lineCounts.add((int) text.lines().count());
                files.add(file);
            }
        }
        texts.putAll(Lines.sources(lineCounts));
        Path output = Files.createDirectories(scratch.resolve("recording"));
        // Files that only tests read, as they read data, are not compiled with them.
        Optional<String> said =
                texts.isEmpty()
                        ? Optional.empty()
                        : javac(texts.keySet(), output, classes, texts, new TreeMap<>());
        if (said.isPresent()) {
            throw new IOException("lines can't be recorded: " + said.get());
        }
        return files;
    }
}
