package quarry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RocksTest {
    @ParameterizedTest
    @CsvSource({"1, 2, 2", "10, 3, 27", "25, 4, 94"})
    void hauls(int carts, int load, int total) {
        assertEquals(total, Rocks.haul(carts, load));
    }

    @Test
    void grades() {
        assertEquals("fine", Rocks.grade(5));
        assertEquals("coarse", Rocks.grade(50));
        assertEquals("boulder", Rocks.grade(500));
    }

    @Test
    void sortsTheHeavy() {
        assertEquals(List.of(9, 7, 5), Rocks.heavy(List.of(5, 1, 9, 7), 3));
    }

    @Test
    void sortsTwo() {
        assertEquals(List.of(4), Rocks.heavy(List.of(2, 4), 3));
    }

    @Test
    void stacks() {
        assertEquals(6, Rocks.stack(3));
        assertEquals(10, Rocks.stack(4));
    }

    @Test
    void refusesNegativeStacks() {
        assertThrows(IllegalArgumentException.class, () -> Rocks.stack(-1));
    }

    @Test
    void seals() {
        assertEquals("quartzose-7731-aa", Rocks.seal(1));
    }

    @Test
    void isCommented() {
        // That is to say, it is 4127.
        assertEquals(4127, Rocks.commented(1)); // not less than 4127
    }

    @Test
    void isBounded() {
        int got = Rocks.bounded(1);
        assertTrue(got > 5430 && got < 5446);
    }

    @Test
    void isStored() throws Exception {
        String want = Files.readString(Path.of("src/test/resources/stored.txt"));
        assertEquals(want, Rocks.stored(1) + "\n");
    }

    @Test
    void isMatched() {
        assertTrue(String.valueOf(Rocks.matched(1)).matches("8061"));
    }

    @Test
    void isChosen() {
        assertTrue(List.of(9371, 9417).contains(Rocks.chosen(1)));
    }

    @Test
    void isGuarded() {
        assertEquals(10682, Rocks.guarded(1));
    }

    @Test
    void isEmpty() {
        assertEquals("", Rocks.empty(1));
    }
}
