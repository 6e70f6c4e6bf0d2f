// Compiles a project of Java, runs its tests, and reports every test out of band.
//
// Use: java -cp DRIVER:JARS fillratedriver.Driver ENVIRONMENT [--built=FOLDER]
// [-C=FOLDER] [--also=FOLDER ...] [--leave-out=FILE ...], with the working directory at the
// root of the repository.  ENVIRONMENT holds the archives of classes in `jars` and what is compiled
// of the unchanged project in `built`, or elsewhere if the option says so.  The folder
// after -C holds the project; those after --also hold sources that it is compiled with,
// of other modules of its build.  A folder within the project that has a build file of its
// own is another project.
//
// Input: a line of JSON on the standard input, as harness.rs describes it.  Output:
// lines of JSON on the standard input, as report.rs describes them, each with the
// nonce.  Only this process, in which no code of the project runs, knows the nonce.
//
// Tests run in one process, under JUnit's launcher, whose outcomes come on its
// standard output, which the code under test can write to as well: outcomes are no
// stronger than that.  A test's id is the full name of its outermost class, `::`, and
// the names of the classes within and of its method, with `/` between; invocations
// with parameters are parts of their test.  Lines are recorded by statements that are
// put into the sources, and each test runs with classes of its own then, so that what
// runs when a class is loaded belongs to each test that loads it.
//
// The tests' process is started before the instructions are read, so that a run can wait
// for it.  Nothing of the project is read or loaded until then.
//
// With --check=ROOT it compiles changed files of the repository in the folder ROOT
// instead; see fillrate_java_check.java.
package fillratedriver;

import com.sun.source.tree.BlockTree;
import com.sun.source.tree.CaseTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.DoWhileLoopTree;
import com.sun.source.tree.EmptyStatementTree;
import com.sun.source.tree.EnhancedForLoopTree;
import com.sun.source.tree.ExpressionStatementTree;
import com.sun.source.tree.ForLoopTree;
import com.sun.source.tree.IfTree;
import com.sun.source.tree.LineMap;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.StatementTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.WhileLoopTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Compiles and runs the tests, and writes the report. */
final class Driver {
    private static final int MESSAGE_LIMIT = 4000;
    private static final String LEAVE_OUT = "--leave-out=";
    private static final String CHECK = "--check=";
    private static final String BUILT = "--built=";
    private static final String ALSO = "--also=";

    private final Path environment;
    private final Path built;
    private final Path root;
    private final Path project;
    private final List<Path> also = new ArrayList<>();
    private final Set<String> leftOut = new HashSet<>();
    private final boolean checks;
    private final OutputStream report = new FileOutputStream(FileDescriptor.in);
    private Path scratch;
    private Map<?, ?> instructions;
    /** By id: outcome, seconds, message; the outcome is null while the test runs. */
    private final Map<String, Outcome> tests = new TreeMap<>();
    private boolean stopped;

    private static final class Outcome {
        String outcome;
        double seconds;
        String message = "";
    }

    private Driver(List<String> arguments) {
        environment = Path.of(arguments.get(0));
        String folder = ".";
        String checked = null;
        List<String> others = new ArrayList<>();
        Path compiled = environment.resolve("built");
        for (String argument : arguments.subList(1, arguments.size())) {
            if (argument.startsWith("-C=")) {
                folder = argument.substring(3);
            } else if (argument.startsWith(LEAVE_OUT)) {
                leftOut.add(argument.substring(LEAVE_OUT.length()));
            } else if (argument.startsWith(ALSO)) {
                others.add(argument.substring(ALSO.length()));
            } else if (argument.startsWith(CHECK)) {
                checked = argument.substring(CHECK.length());
            } else if (argument.startsWith(BUILT)) {
                compiled = Path.of(argument.substring(BUILT.length()));
            } else {
                throw new IllegalArgumentException(argument + " is no option of this runner");
            }
        }
        built = compiled;
        checks = checked != null;
        root = Path.of(checks ? checked : "").toAbsolutePath();
        project = root.resolve(folder).normalize();
        for (String other : others) {
            also.add(root.resolve(other).normalize());
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 1 && arguments[1].equals("--prepare")) {
            List<Path> folders = Stream.of(arguments).skip(2).map(Path::of).toList();
            Sources.prepare(
                    Path.of(arguments[0]), folders.get(0), folders.subList(1, folders.size()));
            return;
        }
        int status = 3;
        Driver driver = null;
        try {
            driver = new Driver(List.of(arguments));
            status = driver.all();
        } catch (Exception error) {
            error.printStackTrace();
            if (driver != null && driver.instructions != null) {
                driver.write("harness_error", Map.of("message", String.valueOf(error)));
            }
        }
        System.exit(status);
    }

    private int all() throws Exception {
        scratch = Files.createTempDirectory("fillrate-java-");
        if (checks) {
            new CompileChecker(sources()).serve();
            return 0;
        }
        Process waiting =
                start(Sources.usualClassPath(built, project, also, scratch), List.of(), "run");
        instructions = (Map<?, ?>) new Json(readLine()).value();
        Sources sources = sources();
        int status = 1;
        Optional<String> refused = sources.compile();
        if (refused.isPresent()) {
            for (String file : sources.refused) {
                write(
                        "collect_error",
                        Map.of("id", file, "message", limited(refused.get()), "compile", true));
            }
        } else {
            // Before the tests can read what was compiled of the original.
            List<String> removed = sources.removeReplaced();
            if (!removed.isEmpty()) {
                write("removed", Map.of("files", removed));
            }
            status = runTests(sources, waiting);
            if (instructions.get("coverage") != null) {
                recordLines(sources);
            }
        }
        write("end", Map.of());
        return status;
    }

    private Sources sources() throws IOException {
        return new Sources(environment, built, root, project, also, scratch, leftOut);
    }

    /** Reads to the end of the first line and no further. */
    private static String readLine() throws IOException {
        FileInputStream input = new FileInputStream(FileDescriptor.in);
        var line = new java.io.ByteArrayOutputStream();
        for (int one = input.read(); one != '\n'; one = input.read()) {
            if (one < 0) {
                throw new IOException("the instructions can't be read");
            }
            line.write(one);
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private void write(String event, Map<String, Object> members) throws IOException {
        Map<String, Object> line = new TreeMap<>(members);
        line.put("event", event);
        line.put("nonce", instructions.get("nonce"));
        report.write((Json.text(line) + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private Set<String> selected() {
        Object select = instructions.get("select");
        return select == null
                ? null
                : ((List<?>) select)
                        .stream()
                        .map(String::valueOf)
                        .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private int runTests(Sources sources, Process waiting) throws Exception {
        String mark = String.valueOf(instructions.get("token"));
        boolean first = Boolean.TRUE.equals(instructions.get("first_failure_ends"));
        Map<String, Outcome> sentinels = new TreeMap<>();
        Process process = waiting;
        if (!sources.hasUsualClassPath()) {
            waiting.destroyForcibly();
            process = start(sources.classPath(), List.of(), "run");
        }
        instruct(process, mark, selected());
        int status;
        try (BufferedReader reader = reader(process)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                String[] parts = line.split("\t", -1);
                if (parts.length != 5 || !parts[0].equals(mark)) {
                    System.err.println(line);
                    continue;
                }
                boolean sentinel = parts[1].equals("sentinel");
                Outcome test =
                        (sentinel ? sentinels : tests)
                                .computeIfAbsent(parts[2], id -> new Outcome());
                String[] said = parts[3].split(" ");
                if (!said[0].equals("started")) {
                    worse(test, said[0], Double.parseDouble(said[1]), unescaped(parts[4]));
                }
                if (first && !sentinel && isFailure(test.outcome)) {
                    stopped = true;
                    process.destroyForcibly();
                    break;
                }
            }
        }
        status = process.waitFor();
        for (var entry : tests.entrySet()) {
            Outcome test = entry.getValue();
            if (test.outcome == null && !stopped) {
                test.outcome = "failed";
                test.message = "the test began and did not end";
            }
            if (test.outcome != null) {
                Map<String, Object> members = new HashMap<>();
                members.put("id", entry.getKey());
                members.put("outcome", test.outcome);
                members.put("seconds", test.seconds);
                members.put("message", limited(test.message));
                write("test", members);
            }
        }
        for (var entry : sentinels.entrySet()) {
            Outcome test = entry.getValue();
            if (test.outcome != null) {
                write(
                        "sentinel",
                        Map.of(
                                "id", entry.getKey(),
                                "outcome", test.outcome,
                                "message", test.message));
            }
        }
        return stopped ? 1 : status;
    }

    /** Of two ends of one test, as of invocations with parameters, the worse counts. */
    private static void worse(Outcome test, String outcome, double seconds, String message) {
        List<String> order = List.of("passed", "skipped", "failed", "error");
        test.seconds += seconds;
        if (test.outcome == null || order.indexOf(outcome) > order.indexOf(test.outcome)) {
            test.outcome = outcome;
            test.message = message;
        }
    }

    private static boolean isFailure(String outcome) {
        return "failed".equals(outcome) || "error".equals(outcome);
    }

    /**
     * Starts the process of the tests, which waits to be instructed; `own` are folders of classes
     * that each test has anew.
     */
    private Process start(List<Path> classPath, List<Path> own, String mode) throws IOException {
        List<Path> shared = new ArrayList<>(List.of(ownFolder()));
        shared.addAll(Sources.jars(environment));
        shared.addAll(classPath);
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command =
                new ArrayList<>(
                        List.of(
                                java,
                                // By default it depends on the machine's memory, and so would
                                // outcomes of tests that allocate as much as there is.
                                "-Xmx1g",
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "-XX:-UsePerfData",
                                "-ea",
                                "-cp",
                                joined(shared),
                                "fillratedriver.Runner",
                                mode,
                                joined(own)));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.directory(project.toFile());
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        return builder.start();
    }

    /** Tells the process of the tests which to run, and how to sign what it says. */
    private static void instruct(Process process, String mark, Set<String> selected) throws IOException {
        try (OutputStream input = process.getOutputStream()) {
            List<String> lines = new ArrayList<>(List.of(mark, selected == null ? "all" : "some"));
            if (selected != null) {
                lines.addAll(selected);
            }
            input.write((String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
        }
    }

    private static BufferedReader reader(Process process) {
        return new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Where the classes of this program are. */
    static Path ownFolder() {
        return Path.of(URI.create(Driver.class.getProtectionDomain().getCodeSource().getLocation().toString()));
    }

    static String joined(Collection<Path> paths) {
        return paths.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    /** Runs every test with classes of its own that record lines, and reports them. */
    private void recordLines(Sources sources) throws Exception {
        Set<String> wanted = new TreeSet<>();
        for (Object file : (List<?>) instructions.get("coverage")) {
            wanted.add(String.valueOf(file));
        }
        List<String> files = sources.record(wanted);
        String mark = String.valueOf(instructions.get("token"));
        Process process = start(List.of(), sources.recordingClassPath(), "record");
        instruct(process, mark, tests.keySet());
        try (BufferedReader reader = reader(process)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                String[] parts = line.split("\t", -1);
                if (parts.length != 5 || !parts[0].equals(mark) || !parts[1].equals("lines")) {
                    continue;
                }
                List<Integer> lines =
                        Stream.of(parts[4].split(" ")).map(Integer::valueOf).toList();
                String file = files.get(Integer.parseInt(parts[3]));
                write("coverage", Map.of("test", parts[2], "file", file, "lines", lines));
            }
        }
        process.waitFor();
    }

    static String limited(String text) {
        return text.length() > MESSAGE_LIMIT ? text.substring(0, MESSAGE_LIMIT) : text;
    }

    static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "");
    }

    private static String unescaped(String text) {
        StringBuilder result = new StringBuilder();
        for (int at = 0; at < text.length(); at++) {
            char letter = text.charAt(at);
            if (letter == '\\' && at + 1 < text.length()) {
                at++;
                letter = text.charAt(at) == 'n' ? '\n' : text.charAt(at) == 't' ? '\t' : '\\';
            }
            result.append(letter);
        }
        return result.toString();
    }
}

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

/** The sources of a project, and what is compiled of them. */
final class Sources {
    private static final Set<String> OTHER_FOLDERS = Set.of("build", "node_modules", "out", "target");
    private static final List<String> BUILD_FILES =
            List.of("pom.xml", "build.gradle", "build.gradle.kts");
    private static final List<String> RESOURCES =
            List.of("src/main/resources", "src/test/resources");
    /** The folder of classes that differ from the unchanged project's. */
    private static final String SOME = "some";
    /** Within the folder of what is compiled, the classes. */
    private static final String CLASSES = "classes";
    /** The file beside them with the digest and the name of each source that was compiled. */
    private static final String INDEX = "index";
    /** The file beside them with the digest of each class's face and the class's file. */
    private static final String FACES = "faces";

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
        while (sources.javac(names, output, List.of(), Map.of()).isPresent()) {
            deleteInside(output);
            if (!names.removeAll(sources.refused)) {
                names.clear();
            }
            if (names.isEmpty()) {
                break;
            }
            sources.refused.clear();
        }
        Files.writeString(built.resolve(INDEX), index(sources.digests));
        StringBuilder faces = new StringBuilder();
        for (Path file : filesBelow(output)) {
            faces.append(face(file)).append(' ').append(output.relativize(file)).append('\n');
        }
        Files.writeString(built.resolve(FACES), faces);
    }

    /** A digest of what other classes can see of a class. */
    private static String face(Path file) throws IOException {
        return digest(ClassFace.of(Files.readAllBytes(file)).getBytes(StandardCharsets.UTF_8));
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
                                        || OTHER_FOLDERS.contains(name)
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
                before.put(line.substring(65), line.substring(0, 64));
            }
        }
        if (before.keySet().equals(digests.keySet())) {
            Set<String> changed = new TreeSet<>(digests.keySet());
            changed.removeIf(file -> digests.get(file).equals(before.get(file)));
            classes = List.of(unchanged);
            if (changed.isEmpty()) {
                return Optional.empty();
            }
            Path some = Files.createDirectories(scratch.resolve(SOME));
            Optional<String> said = javac(changed, some, List.of(unchanged), Map.of());
            if (said.isPresent()) {
                return said;
            }
            if (looksAlike(some)) {
                classes = List.of(some, unchanged);
                return said;
            }
        }
        Path all = Files.createDirectories(scratch.resolve("all"));
        classes = List.of(all);
        return javac(digests.keySet(), all, List.of(), Map.of());
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
        if (!digests.keySet().containsAll(texts.keySet())) {
            return Optional.empty();
        }
        refused.clear();
        Path output = Files.createTempDirectory(scratch, "checked-");
        Optional<String> said = javac(texts.keySet(), output, classes, texts);
        if (said.isEmpty() && hasUsualClassPath() && looksAlike(output)) {
            for (Path file : filesBelow(output)) {
                String name = CLASSES + "/" + output.relativize(file);
                compiled.put(name, Files.readAllBytes(file));
            }
            Map<String, String> now = new TreeMap<>(digests);
            texts.forEach(
                    (name, text) -> now.put(name, digest(text.getBytes(StandardCharsets.UTF_8))));
            compiled.put(INDEX, index(now).getBytes(StandardCharsets.UTF_8));
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
     * Whether no other class can tell these classes from the unchanged ones of their names. No
     * process beside the tests reads the unchanged ones: what it freed could be read from there.
     */
    private boolean looksAlike(Path some) throws IOException {
        Map<String, String> before = new HashMap<>();
        Path faces = built.resolve(FACES);
        if (Files.exists(faces)) {
            for (String line : Files.readAllLines(faces)) {
                before.put(line.substring(65), line.substring(0, 64));
            }
        }
        for (Path file : filesBelow(some)) {
            if (!face(file).equals(before.get(some.relativize(file).toString()))) {
                return false;
            }
        }
        // A class that is gone leaves its file, and changes what its outer class says of its own.
        return true;
    }

    /**
     * Removes the unchanged classes of what was compiled anew: the original of a changed file
     * among them. Returns their names below the folder of what is compiled.
     */
    List<String> removeReplaced() throws IOException {
        Path unchanged = built.resolve(CLASSES);
        if (classes.equals(List.of(unchanged)) || !Files.isDirectory(unchanged)) {
            return List.of();
        }
        List<String> removed = new ArrayList<>();
        Path some = scratch.resolve(SOME);
        for (Path file : filesBelow(unchanged)) {
            Path name = unchanged.relativize(file);
            if (!hasUsualClassPath() || Files.exists(some.resolve(name.toString()))) {
                Files.delete(file);
                removed.add(built.relativize(file).toString());
            }
        }
        return removed;
    }

    /** The path of a source, given its name relative to the project. */
    private Path path(String name) {
        return project.resolve(name).normalize();
    }

    private Optional<String> javac(
            Collection<String> names, Path output, List<Path> classPath, Map<String, String> texts)
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
            boolean done = compiler.getTask(null, manager, found, options, null, units).call();
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
        if (refused.isEmpty()) {
            refused.add(root.relativize(project).toString());
        }
        return Optional.of(said.toString());
    }

    private static List<String> options(List<Path> classPath, List<Path> jars, Path output) {
        List<Path> seen = new ArrayList<>(classPath);
        seen.addAll(jars);
        seen.add(Driver.ownFolder());
        return List.of(
                "-g", "-nowarn", "-parameters", "-encoding", "UTF-8", "-implicit:none",
                "-Xmaxerrs", "20", "-cp", Driver.joined(seen), "-sourcepath", "",
                "-d", output.toString());
    }

    /** A source that stands in no file. */
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

    /** What most changes run with: some classes before those of the unchanged project. */
    static List<Path> usualClassPath(
            Path built, Path project, List<Path> also, Path scratch) throws IOException {
        Path some = Files.createDirectories(scratch.resolve(SOME));
        return withResources(List.of(some, built.resolve(CLASSES)), project, also);
    }

    /** Whether what was compiled runs with the usual class path. */
    boolean hasUsualClassPath() {
        return classes.contains(built.resolve(CLASSES));
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
        for (String file : wanted) {
            Path path = root.resolve(file);
            String name = project.relativize(path).toString();
            if (digests.containsKey(name)) {
                texts.put(name, Recorder.recording(path, files.size()));
                files.add(file);
            }
        }
        Path output = Files.createDirectories(scratch.resolve("recording"));
        // Files that only tests read, as they read data, are not compiled with them.
        Optional<String> said =
                texts.isEmpty()
                        ? Optional.empty()
                        : javac(texts.keySet(), output, classes, texts);
        if (said.isPresent()) {
            throw new IOException("lines can't be recorded: " + said.get());
        }
        return files;
    }
}

/** What other classes can see of a class. */
final class ClassFace {
    private static final int PRIVATE = 0x0002;
    private static final int SYNTHETIC = 0x1000;
    private static final Set<String> SEEN =
            Set.of(
                    "AnnotationDefault", "ConstantValue", "Deprecated", "Exceptions",
                    "InnerClasses", "PermittedSubclasses", "Record", "Signature");

    private final DataInputStream input;
    private final Object[] constants;
    private final StringBuilder face = new StringBuilder();
    /** Its name. */
    private String name;

    private ClassFace(DataInputStream input, int count) {
        this.input = input;
        constants = new Object[count];
    }

    /** A text that is equal for two versions of a class which no other can tell apart. */
    static String of(byte[] bytes) throws IOException {
        DataInputStream input = new DataInputStream(new ByteArrayInputStream(bytes));
        input.readLong();
        ClassFace face = new ClassFace(input, input.readUnsignedShort());
        face.readConstants();
        return face.readClass();
    }

    private void readConstants() throws IOException {
        for (int index = 1; index < constants.length; index++) {
            int tag = input.readUnsignedByte();
            switch (tag) {
                case 1 -> constants[index] = input.readUTF();
                case 3, 4 -> constants[index] = tag + ":" + input.readInt();
                case 5, 6 -> {
                    constants[index] = tag + ":" + input.readLong();
                    index++;
                }
                case 7, 8, 16, 19, 20 -> constants[index] = input.readUnsignedShort();
                case 15 -> input.skipBytes(3);
                default -> input.skipBytes(4);
            }
        }
    }

    private String constant(int index) {
        Object found = constants[index];
        return found instanceof Integer of ? constant(of) : String.valueOf(found);
    }

    private String readClass() throws IOException {
        face.append(input.readUnsignedShort());
        name = constant(input.readUnsignedShort());
        face.append(' ').append(name);
        face.append(' ').append(constant(input.readUnsignedShort()));
        for (int left = input.readUnsignedShort(); left > 0; left--) {
            face.append(' ').append(constant(input.readUnsignedShort()));
        }
        TreeSet<String> members = new TreeSet<>();
        for (int kind = 0; kind < 2; kind++) {
            for (int left = input.readUnsignedShort(); left > 0; left--) {
                int flags = input.readUnsignedShort();
                String member = constant(input.readUnsignedShort());
                String type = constant(input.readUnsignedShort());
                String rest = attributes(input);
                if ((flags & (PRIVATE | SYNTHETIC)) == 0) {
                    members.add(kind + " " + flags + " " + member + " " + type + rest);
                }
            }
        }
        String attributes = attributes(input);
        // No other class names one that stands in a method.
        return attributes.contains("\nlocal") ? "local" : face + "\n" + members + attributes;
    }

    /** The attributes that others see, without the order of the constants. */
    private String attributes(DataInputStream input) throws IOException {
        StringBuilder found = new StringBuilder();
        for (int left = input.readUnsignedShort(); left > 0; left--) {
            String attribute = constant(input.readUnsignedShort());
            byte[] content = input.readNBytes(input.readInt());
            if (attribute.equals("EnclosingMethod")) {
                found.append("\nlocal");
            } else if (SEEN.contains(attribute)) {
                String said = read(attribute, content);
                if (said != null) {
                    found.append('\n').append(attribute).append(' ').append(said);
                }
            }
        }
        return found.toString();
    }

    /** What an attribute tells others; null if nothing. */
    private String read(String attribute, byte[] content) throws IOException {
        DataInputStream input = new DataInputStream(new ByteArrayInputStream(content));
        switch (attribute) {
            case "ConstantValue", "Signature" -> {
                return constant(input.readUnsignedShort());
            }
            case "Record" -> {
                StringBuilder components = new StringBuilder();
                for (int left = input.readUnsignedShort(); left > 0; left--) {
                    components.append(constant(input.readUnsignedShort())).append(' ');
                    components.append(constant(input.readUnsignedShort()));
                    components.append(attributes(input)).append(' ');
                }
                return components.toString();
            }
            case "Exceptions", "PermittedSubclasses" -> {
                StringBuilder names = new StringBuilder();
                for (int left = input.readUnsignedShort(); left > 0; left--) {
                    names.append(constant(input.readUnsignedShort())).append(' ');
                }
                return names.toString();
            }
            case "InnerClasses" -> {
                TreeSet<String> inner = new TreeSet<>();
                for (int left = input.readUnsignedShort(); left > 0; left--) {
                    String of = constant(input.readUnsignedShort());
                    String outer = constant(input.readUnsignedShort());
                    input.readUnsignedShort();
                    int flags = input.readUnsignedShort();
                    // Others are only named in it, as is one by every class that joins texts.
                    if (outer.equals(name) || of.equals(name)) {
                        inner.add(of + " " + flags);
                    }
                }
                return inner.isEmpty() ? null : inner.toString();
            }
            default -> {
                // Seldom, and read as it is: at worst all is compiled again.
                return Arrays.toString(content);
            }
        }
    }
}

/** Puts a record before every statement of a source. */
final class Recorder extends TreeScanner<Void, Void> {
    private final int file;
    private final String text;
    private final CompilationUnitTree unit;
    private final SourcePositions positions;
    private final LineMap lines;
    /** What is put in, by place. */
    private final TreeMap<Integer, StringBuilder> added = new TreeMap<>();
    /** Where the record of the innermost statement is put in; -1 outside of methods. */
    private int current = -1;

    private Recorder(int file, String text, CompilationUnitTree unit, SourcePositions positions) {
        this.file = file;
        this.text = text;
        this.unit = unit;
        this.positions = positions;
        lines = unit.getLineMap();
    }

    static String recording(Path path, int file) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager =
                compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
            var units = manager.getJavaFileObjects(path);
            JavacTask task = (JavacTask) compiler.getTask(null, manager, null, null, null, units);
            CompilationUnitTree unit = task.parse().iterator().next();
            String text = Files.readString(path);
            Recorder recorder =
                    new Recorder(file, text, unit, Trees.instance(task).getSourcePositions());
            recorder.scan(unit, null);
            return recorder.recording();
        }
    }

    private String recording() {
        StringBuilder result = new StringBuilder();
        int at = 0;
        for (var entry : added.entrySet()) {
            result.append(text, at, entry.getKey()).append(entry.getValue());
            at = entry.getKey();
        }
        return result.append(text.substring(at)).toString();
    }

    private int start(Tree tree) {
        return (int) positions.getStartPosition(unit, tree);
    }

    private int end(Tree tree) {
        return (int) positions.getEndPosition(unit, tree);
    }

    private String hit(int place) {
        return "fillratedriver.Lines.hit(" + file + "," + lines.getLineNumber(place) + ");";
    }

    private void add(int place, String what) {
        added.computeIfAbsent(place, key -> new StringBuilder()).append(what);
    }

    /** Goes through a part of a statement that is recorded at a place. */
    private void within(int place, Tree tree) {
        int outer = current;
        current = place;
        scan(tree, null);
        current = outer;
    }

    private void statements(List<? extends StatementTree> statements) {
        for (StatementTree statement : statements) {
            int place = start(statement);
            if (isConstructorCall(statement)) {
                // Nothing may stand before it.
                add(end(statement), hit(place));
                within(end(statement), statement);
            } else if (statement instanceof EmptyStatementTree) {
                continue;
            } else {
                add(place, hit(place));
                within(place, statement);
            }
        }
    }

    private static boolean isConstructorCall(StatementTree statement) {
        if (!(statement instanceof ExpressionStatementTree expression)
                || !(expression.getExpression() instanceof MethodInvocationTree call)) {
            return false;
        }
        String called = call.getMethodSelect().toString();
        return called.equals("this") || called.equals("super") || called.endsWith(".super");
    }

    @Override
    public Void visitBlock(BlockTree block, Void nothing) {
        boolean begins = !block.getStatements().isEmpty() && isConstructorCall(block.getStatements().get(0));
        int brace = text.indexOf('{', start(block));
        if (!begins) {
            add(brace + 1, hit(brace));
        }
        statements(block.getStatements());
        return null;
    }

    @Override
    public Void visitCase(CaseTree of, Void nothing) {
        if (of.getCaseKind() == CaseTree.CaseKind.STATEMENT) {
            List<? extends StatementTree> inside = of.getStatements();
            if (!inside.isEmpty()) {
                add(start(inside.get(0)), hit(start(of)));
            }
            statements(inside);
            return null;
        }
        Tree body = of.getBody();
        if (body instanceof BlockTree) {
            scan(body, null);
            return null;
        }
        boolean yields = !(body instanceof StatementTree);
        int end = end(body);
        int close = yields ? text.indexOf(';', end) + 1 : end;
        add(start(body), "{" + hit(start(of)) + (yields ? "yield " : ""));
        within(start(body), body);
        add(close, "}");
        return null;
    }

    /** A statement that is the body of another and may be no block. */
    private void body(StatementTree body) {
        if (body == null || body instanceof BlockTree || body instanceof EmptyStatementTree) {
            scan(body, null);
            return;
        }
        add(start(body), "{" + hit(start(body)));
        within(start(body), body);
        add(end(body), "}");
    }

    @Override
    public Void visitIf(IfTree of, Void nothing) {
        scan(of.getCondition(), null);
        body(of.getThenStatement());
        body(of.getElseStatement());
        return null;
    }

    @Override
    public Void visitWhileLoop(WhileLoopTree of, Void nothing) {
        scan(of.getCondition(), null);
        body(of.getStatement());
        return null;
    }

    @Override
    public Void visitDoWhileLoop(DoWhileLoopTree of, Void nothing) {
        body(of.getStatement());
        scan(of.getCondition(), null);
        return null;
    }

    @Override
    public Void visitForLoop(ForLoopTree of, Void nothing) {
        scan(of.getInitializer(), null);
        scan(of.getCondition(), null);
        scan(of.getUpdate(), null);
        body(of.getStatement());
        return null;
    }

    @Override
    public Void visitEnhancedForLoop(EnhancedForLoopTree of, Void nothing) {
        scan(of.getExpression(), null);
        body(of.getStatement());
        return null;
    }

    /** The members of a class within a method are made when the statement around it runs. */
    @Override
    public Void visitClass(ClassTree of, Void nothing) {
        int outer = current;
        for (Tree member : of.getMembers()) {
            boolean written = end(member) > start(member) && start(member) >= 0;
            if (outer >= 0 && written) {
                add(outer, hit(start(member)));
            }
            current = member instanceof MethodTree || member instanceof BlockTree ? -1 : outer;
            if (written) {
                scan(member, null);
            }
        }
        current = outer;
        return null;
    }
}

/** Runs tests under JUnit's launcher, beside the code under test. */
final class Runner {
    private final PrintStream output;
    private final String mark;
    private final Set<String> selected;

    private Runner(PrintStream output, String mark, Set<String> selected) {
        this.output = output;
        this.mark = mark;
        this.selected = selected;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream output =
                new PrintStream(
                        new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        warmUp();
        List<String> lines =
                new String(System.in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        Set<String> selected =
                lines.get(1).equals("all") ? null : new LinkedHashSet<>(lines.subList(2, lines.size()));
        Runner runner = new Runner(output, lines.get(0), selected);
        boolean failed =
                arguments[0].equals("record") ? runner.record(arguments[1]) : runner.run();
        output.flush();
        System.exit(failed ? 1 : 0);
    }

    /**
     * Loads what runs tests, by a run of the sentinels that nobody hears of.  Neither settings nor
     * services of the project take part in it.
     */
    private static void warmUp() {
        LauncherConfig.Builder own =
                LauncherConfig.builder()
                        .enableTestEngineAutoRegistration(false)
                        .enableTestExecutionListenerAutoRegistration(false)
                        .enableLauncherSessionListenerAutoRegistration(false)
                        .enableLauncherDiscoveryListenerAutoRegistration(false)
                        .enablePostDiscoveryFilterAutoRegistration(false);
        LauncherDiscoveryRequest request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(DiscoverySelectors.selectClass(Sentinel.class))
                        .enableImplicitConfigurationParameters(false)
                        .build();
        LauncherFactory.create(own.addTestEngines(new JupiterTestEngine()).build()).execute(request);
    }

    private synchronized void say(String kind, String id, String what, String rest) {
        output.print(mark + "\t" + kind + "\t" + id + "\t" + what + "\t" + rest + "\n");
    }

    private boolean run() {
        Set<Path> roots = new LinkedHashSet<>();
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path folder = Path.of(path);
            if (Files.isDirectory(folder) && !folder.equals(Driver.ownFolder())) {
                roots.add(folder);
            }
        }
        List<? extends DiscoverySelector> tests =
                selected == null
                        ? DiscoverySelectors.selectClasspathRoots(roots)
                        : selectorsOf(selected, Runner.class.getClassLoader());
        boolean failed = execute("test", tests);
        Sentinel.token = mark;
        boolean held =
                execute("sentinel", List.of(DiscoverySelectors.selectClass(Sentinel.class)));
        return failed || held;
    }

    /**
     * Selects the classes of tests, in the order of these, without a look at all others. A class
     * within another may be one of its tests or stand for itself.
     */
    private static List<DiscoverySelector> selectorsOf(Set<String> ids, ClassLoader loader) {
        Set<Class<?>> classes = new LinkedHashSet<>();
        for (String id : ids) {
            int end = id.indexOf("::");
            String name = id.substring(0, end);
            String[] inner = id.substring(end + 2).split("/");
            for (int depth = 0; depth < inner.length; depth++) {
                name += depth == 0 ? "" : "$" + inner[depth - 1];
                try {
                    classes.add(Class.forName(name, false, loader));
                } catch (ClassNotFoundException | LinkageError error) {
                    System.err.println(error);
                }
            }
        }
        return classes.stream()
                .<DiscoverySelector>map(DiscoverySelectors::selectClass)
                .collect(Collectors.toList());
    }

    /** Runs the tests that selectors find; returns whether any failed. */
    private boolean execute(String kind, List<? extends DiscoverySelector> selectors) {
        boolean sentinels = kind.equals("sentinel");
        LauncherDiscoveryRequestBuilder builder = LauncherDiscoveryRequestBuilder.request();
        builder.selectors(selectors);
        PostDiscoveryFilter filter =
                descriptor -> {
                    String id = descriptor.getSource().map(Runner::idOf).orElse(null);
                    boolean runs = sentinels || selected == null || id == null || selected.contains(id);
                    return FilterResult.includedIf(runs);
                };
        LauncherDiscoveryRequest request = builder.filters(filter).build();
        Listener listener = new Listener(kind);
        Launcher launcher = LauncherFactory.create();
        launcher.execute(request, listener);
        return listener.failed;
    }

    /** Runs each test with classes of its own, and says which lines it runs. */
    private boolean record(String path) throws MalformedURLException {
        List<URL> urls = new ArrayList<>();
        for (String folder : path.split(File.pathSeparator)) {
            urls.add(Path.of(folder).toUri().toURL());
        }
        for (String id : selected) {
            Runner one = new Runner(new PrintStream(OutputStream.nullOutputStream()), mark, Set.of(id));
            Lines.clear();
            try (URLClassLoader loader =
                    new URLClassLoader(urls.toArray(URL[]::new), Runner.class.getClassLoader())) {
                Thread.currentThread().setContextClassLoader(loader);
                one.execute("test", selectorsOf(Set.of(id), loader));
            } catch (IOException | LinkageError error) {
                System.err.println(error);
            }
            Lines.said((file, lines) -> say("lines", id, String.valueOf(file), lines));
        }
        return false;
    }

    /** The id of the test that a source names; null for what is no method. */
    static String idOf(TestSource source) {
        if (!(source instanceof MethodSource method)) {
            return null;
        }
        String[] classes = method.getClassName().split("\\$");
        StringBuilder id = new StringBuilder(classes[0]).append("::");
        for (int index = 1; index < classes.length; index++) {
            id.append(classes[index]).append('/');
        }
        return id.append(method.getMethodName()).toString();
    }

    /** Says how every test ends. */
    private final class Listener implements TestExecutionListener {
        private final String kind;
        private final Map<String, Long> began = new HashMap<>();
        private TestPlan plan;
        private boolean failed;

        Listener(String kind) {
            this.kind = kind;
        }

        @Override
        public void testPlanExecutionStarted(TestPlan plan) {
            this.plan = plan;
        }

        /** That of a dynamic test is its factory's. */
        private String id(TestIdentifier test) {
            Optional<TestIdentifier> node = Optional.of(test);
            while (node.isPresent()) {
                String id = node.get().getSource().map(Runner::idOf).orElse(null);
                if (id != null) {
                    return kind.equals("sentinel") ? id.substring(id.lastIndexOf('/') + 1).replaceAll(".*::", "") : id;
                }
                node = plan.getParent(node.get());
            }
            return null;
        }

        @Override
        public void executionStarted(TestIdentifier test) {
            began.put(test.getUniqueId(), System.nanoTime());
            if (test.isTest() && id(test) != null) {
                say(kind, id(test), "started 0", "");
            }
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            end(test, "skipped", reason == null ? "" : reason);
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            String message =
                    result.getThrowable().map(Listener::described).orElse("");
            switch (result.getStatus()) {
                case SUCCESSFUL -> {
                    if (test.isTest()) {
                        end(test, "passed", "");
                    }
                }
                case ABORTED -> end(test, "skipped", message);
                default -> {
                    failed = true;
                    end(test, test.isTest() ? "failed" : "error", message);
                }
            }
        }

        /** Of a class, for each of its tests. */
        private void end(TestIdentifier test, String outcome, String message) {
            double seconds = 0;
            Long start = began.get(test.getUniqueId());
            if (start != null && test.isTest()) {
                seconds = (System.nanoTime() - start) / 1e9;
            }
            Set<String> ids = new TreeSet<>();
            if (id(test) != null) {
                ids.add(id(test));
            } else {
                for (TestIdentifier inner : plan.getDescendants(test)) {
                    if (id(inner) != null) {
                        ids.add(id(inner));
                    }
                }
            }
            for (String id : ids) {
                say(kind, id, outcome + " " + seconds, Driver.escaped(message));
            }
        }

        private static String described(Throwable error) {
            StringBuilder text = new StringBuilder(String.valueOf(error));
            for (StackTraceElement frame : error.getStackTrace()) {
                String of = frame.getClassName();
                if (!of.startsWith("org.junit.") && !of.startsWith("java.") && !of.startsWith("jdk.")) {
                    text.append("\n  at ").append(frame);
                }
                if (text.length() > 3000) {
                    break;
                }
            }
            return text.toString();
        }
    }
}

/** Tests that must fail, and run after the project's own. */
final class Sentinel {
    static String token;

    @Test
    void assertion() {
        Assertions.assertEquals("", token);
    }

    @Test
    void exception() {
        throw new IllegalStateException(token);
    }

    @Nested
    class Inner {
        @Test
        void nested() {
            Assertions.fail(token);
        }
    }
}
