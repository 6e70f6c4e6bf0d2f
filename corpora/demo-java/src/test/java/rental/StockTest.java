package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class StockTest {
    private final Bicycle second = new Bicycle("C-10", Category.CITY);
    private final Bicycle first = new Bicycle("C-9", Category.CITY);
    private final Bicycle cargo = new Bicycle("L-1", Category.CARGO);
    private final Stock stock = new Stock(6).add(second).add(first).add(cargo);

    @Test
    void countsItsSpace() {
        assertEquals(5, stock.space());
        assertEquals(0, new Stock(3).space());
    }

    @Test
    void refusesWhatDoesNotFit() {
        Bicycle tandem = new Bicycle("T-1", Category.TANDEM);
        assertThrows(IllegalStateException.class, () -> stock.add(tandem));
        assertEquals(6, stock.add(new Bicycle("C-11", Category.CITY)).space());
    }

    @Test
    void refusesANumberTwice() {
        Bicycle again = new Bicycle("C-9", Category.TREKKING);
        assertThrows(IllegalArgumentException.class, () -> stock.add(again));
    }

    @Test
    void refusesOtherNumbers() {
        assertThrows(IllegalArgumentException.class, () -> new Bicycle("9", Category.CITY));
    }

    @Test
    void findsTheLowestRankFirst() {
        assertEquals(Optional.of(first), stock.findFree(Category.CITY, new Period(0, 1)));
        stock.take(first, new Period(0, 1));
        assertEquals(Optional.of(second), stock.findFree(Category.CITY, new Period(1, 2)));
        assertEquals(Optional.of(first), stock.findFree(Category.CITY, new Period(2, 2)));
    }

    @Test
    void findsNothingOfAnotherCategory() {
        assertEquals(Optional.empty(), stock.findFree(Category.TANDEM, new Period(0, 1)));
    }

    @Test
    void takesAndReleases() {
        Period period = new Period(3, 5);
        stock.take(cargo, period);
        assertFalse(stock.isFree(cargo, new Period(5, 6)));
        assertThrows(IllegalStateException.class, () -> stock.take(cargo, period));
        stock.release(cargo, period);
        assertTrue(stock.isFree(cargo, period));
        assertThrows(IllegalStateException.class, () -> stock.release(cargo, period));
    }

    @Test
    void listsFreeTimes() {
        stock.take(cargo, new Period(3, 5));
        List<Period> free = stock.freeTimes(cargo, new Period(1, 7));
        assertEquals(List.of(new Period(1, 2), new Period(6, 7)), free);
        assertEquals(List.of(new Period(1, 2)), stock.freeTimes(first, new Period(1, 2)));
    }
}
