// A part of the driver; see Driver.java.
package fillratedriver;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
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
        // What the project prints must not be among the lines of this program.
        System.setOut(System.err);
        if (arguments[0].equals("load")) {
            new Runner(new PrintStream(OutputStream.nullOutputStream()), "", Set.of()).run();
            return;
        }
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
            if (Files.isDirectory(folder)) {
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
                    // Without initialisation, which would run code of the project.
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
            // Only the lines count here, not the outcome.
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
                // An assumption of the test does not hold.
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
