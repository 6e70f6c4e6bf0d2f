import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PROGRAM {
    private static final String LIMITED = "ulimit -t SECONDS; exec \"$@\"";

    @Test
    void program(@TempDir Path folder) throws Exception {
        String program = Files.readString(Path.of("FILE"));
        String name = first("public\\s+class\\s+(\\w+)", program, "TestCase");
        String inside = first("(?m)^\\s*package\\s+([\\w.]+);", program, "");
        Path source = Files.writeString(folder.resolve(name + ".java"), program);
        String archives = System.getProperty("java.class.path");
        String classes = folder.resolve("classes").toString();
        run(folder, "javac", "-nowarn", "-cp", archives, "-d", classes, source.toString());
        String main = inside.isEmpty() ? name : inside + "." + name;
        run(folder, "java", "-ea", "-cp", classes + ":" + archives, main);
    }

    private static String first(String pattern, String text, String otherwise) {
        Matcher found = Pattern.compile(pattern).matcher(text);
        return found.find() ? found.group(1) : otherwise;
    }

    private static void run(Path folder, String program, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("sh", "-c", LIMITED, "sh"));
        command.add(Path.of(System.getProperty("java.home"), "bin", program).toString());
        command.addAll(List.of(arguments));
        Path said = folder.resolve("said.txt");
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
        Process process = builder.redirectErrorStream(true).redirectOutput(said.toFile()).start();
        process.getOutputStream().close();
        boolean ended = process.waitFor(LONGEST / 60, TimeUnit.MINUTES);
        process.destroyForcibly().waitFor();
        assertEquals(0, ended ? process.exitValue() : -1, () -> text(said));
    }

    private static String text(Path file) {
        try {
            return new String(Files.readAllBytes(file));
        } catch (java.io.IOException error) {
            return error.toString();
        }
    }
}
