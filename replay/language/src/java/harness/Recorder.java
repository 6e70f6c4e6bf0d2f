// A part of the driver; see Driver.java.
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
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

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
        return Lines.ofFile(file) + "[" + lines.getLineNumber(place) + "]=true;";
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
                // A case is no statement, so its line is recorded with the first one in it.
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
        // `case A -> value;` becomes a block that yields the value.
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
        // In braces, the record and the body are one statement.
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
