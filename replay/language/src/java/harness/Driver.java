// Compiles a project of Java, runs its tests, and reports every test out of band.
//
// Use: java -cp DRIVER:JARS fillratedriver.Driver ENVIRONMENT [--built=FOLDER]
// [-C=FOLDER] [--also=FOLDER ...] [--leave-out=FILE ...], with the working directory at the
// root of the repository.  ENVIRONMENT holds the archives of classes in `jars` and what is
// compiled of the unchanged project in `built`, or elsewhere if the option says so.  The
// folder after -C holds the project; those after --also hold sources that it is compiled with,
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
// instead; see CompileChecker.java.  With --load=FILE it writes the classes of JUnit and its
// own, as Java has them in memory, into the file instead: in `loaded.jsa` of the environment,
// they spare a third of what the tests' process takes until it waits.  Java compares the
// paths of archives with those it had when it wrote the file, so it is written at the place
// where it is used: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html.
package fillratedriver;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Compiles and runs the tests, and writes the report. */
final class Driver {
    private static final int MESSAGE_LIMIT = 4000;
    private static final String LEAVE_OUT = "--leave-out=";
    private static final String CHECK = "--check=";
    private static final String BUILT = "--built=";
    private static final String ALSO = "--also=";
    private static final String LOAD = "--load=";

    private final Path environment;
    private final Path built;
    private final Path root;
    private final Path project;
    private final List<Path> also = new ArrayList<>();
    private final Set<String> leftOut = new HashSet<>();
    private final boolean checks;
    /** The file that loaded classes are written to; null if tests run. */
    private final String loads;
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
        String written = null;
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
            } else if (argument.startsWith(LOAD)) {
                written = argument.substring(LOAD.length());
            } else if (argument.startsWith(BUILT)) {
                compiled = Path.of(argument.substring(BUILT.length()));
            } else {
                throw new IllegalArgumentException(argument + " is no option of this runner");
            }
        }
        built = compiled;
        checks = checked != null;
        loads = written;
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
        if (loads != null) {
            Process loading = start(List.of(), List.of(), "load");
            reader(loading).lines().forEach(line -> {});
            return loading.waitFor();
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
            write("removed", Map.of("files", sources.removeOriginals()));
            status = runTests(waiting);
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

    private int runTests(Process process) throws Exception {
        String mark = String.valueOf(instructions.get("token"));
        boolean first = Boolean.TRUE.equals(instructions.get("first_failure_ends"));
        Map<String, Outcome> sentinels = new TreeMap<>();
        instruct(process, mark, selected());
        int status;
        try (BufferedReader reader = reader(process)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                // A negative limit keeps empty parts at the end.
                String[] parts = line.split("\t", -1);
                // Lines without the mark are what tests print.
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
        List<Path> shared = new ArrayList<>(List.of(ownArchive()));
        shared.addAll(Sources.jars(environment));
        shared.addAll(classPath);
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        // With an empty file, or one of another version, Java loads them anew.
        String classes =
                loads == null
                        ? "-XX:SharedArchiveFile=" + environment.resolve("loaded.jsa")
                        : "-XX:ArchiveClassesAtExit=" + loads;
        List<String> command =
                new ArrayList<>(
                        List.of(
                                java,
                                classes,
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
    static Path ownArchive() {
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
