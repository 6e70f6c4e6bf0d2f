package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class TableTest {
    @Test
    void alignsItsColumns() {
        Table table = new Table("a", "price").row("long", "1").row("b", "22");
        assertEquals("a     price\nlong      1\nb        22\n", table.toString());
    }

    @Test
    void leavesNoBlanksAtTheEnd() {
        assertEquals("a\nbc\n", new Table("a").row("bc").toString());
        assertEquals("a\n", new Table("a", "").toString());
    }

    @Test
    void refusesOtherNumbersOfCells() {
        Table table = new Table("a", "b");
        assertThrows(IllegalArgumentException.class, () -> table.row("c"));
    }
}
