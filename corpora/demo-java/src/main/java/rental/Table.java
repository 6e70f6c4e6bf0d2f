package rental;

import java.util.ArrayList;
import java.util.List;

/** Columns of text; the first is aligned to the left and all others to the right. */
public final class Table {
    private final int columns;
    private final List<String[]> rows = new ArrayList<>();

    public Table(String... heads) {
        columns = heads.length;
        rows.add(heads.clone());
    }

    public Table row(String... cells) {
        if (cells.length != columns) {
            throw new IllegalArgumentException(cells.length + " cells in " + columns + " columns");
        }
        rows.add(cells.clone());
        return this;
    }

    @Override
    public String toString() {
        int[] widths = new int[columns];
        for (String[] row : rows) {
            for (int column = 0; column < columns; column++) {
                widths[column] = Math.max(widths[column], row[column].length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < columns; column++) {
                String blanks = " ".repeat(widths[column] - row[column].length());
                if (column == 0) {
                    line.append(row[column]).append(blanks);
                } else {
                    line.append("  ").append(blanks).append(row[column]);
                }
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }
}
