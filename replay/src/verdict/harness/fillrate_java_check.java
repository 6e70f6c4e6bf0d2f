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
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Compiles one changed file after the other against the classes of the unchanged project. */
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
        Optional<String> refused = sources.compile();
        if (refused.isPresent()) {
            write("unfit " + refused.get().lines().findFirst().orElse(""));
            return;
        }
        write("ready");
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            Map<?, ?> request = (Map<?, ?>) new Json(line).value();
            String path = String.valueOf(request.get("path"));
            Optional<String> said = sources.check(path, String.valueOf(request.get("contents")));
            List<?> found =
                    said.isEmpty()
                            ? List.of()
                            : sources.refused.stream()
                                    .map(file -> Map.of("id", file, "message", Driver.limited(said.get())))
                                    .toList();
            write(Json.text(Map.of("refused", found)));
        }
    }

    private void write(String line) throws IOException {
        answers.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
