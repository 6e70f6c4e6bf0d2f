// Says whether changed files of a Java project compile, as a long-lived process: to start the
// compiler takes many times longer than to find an error.  It runs none of what it reads.
package fillratedriver;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Compiles one change after the other against the classes of the unchanged project. */
final class CompileChecker {
    private final BufferedReader requests =
            new BufferedReader(
                    new InputStreamReader(
                            new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8));
    private final OutputStream answers = new FileOutputStream(FileDescriptor.in);
    private final Sources sources;

    CompileChecker(Sources sources) {
        this.sources = sources;
    }

    /** Answers a line for every line on the standard input. */
    void serve() throws IOException {
        requests.readLine();
        Optional<String> unfit = sources.compile();
        if (unfit.isPresent()) {
            write("unfit " + unfit.get().lines().findFirst().orElse(""));
            return;
        }
        write("ready");
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            Map<?, ?> request = (Map<?, ?>) new Json(line).value();
            Map<String, String> contents = new TreeMap<>();
            ((Map<?, ?>) request.get("files"))
                    .forEach((path, text) -> contents.put(String.valueOf(path), String.valueOf(text)));
            Map<String, byte[]> compiled = new TreeMap<>();
            Optional<String> said = sources.check(contents, compiled);
            List<?> refused =
                    said.isEmpty()
                            ? List.of()
                            : sources.refused.stream()
                                    .map(file -> Map.of("id", file, "message", Driver.limited(said.get())))
                                    .toList();
            Base64.Encoder encoder = Base64.getEncoder();
            List<?> files =
                    compiled.entrySet().stream()
                            .map(
                                    file ->
                                            Map.of(
                                                    "path", file.getKey(),
                                                    "content", encoder.encodeToString(file.getValue())))
                            .toList();
            write(Json.text(Map.of("refused", refused, "compiled", files)));
        }
    }

    private void write(String line) throws IOException {
        answers.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
