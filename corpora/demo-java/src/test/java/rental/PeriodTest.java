package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class PeriodTest {
    @Test
    void countsItsDays() {
        assertEquals(1, new Period(3, 3).days());
        assertEquals(4, Period.ofDays(2, 4).days());
        assertEquals(5, Period.ofDays(2, 4).last());
    }

    @Test
    void refusesEndsInTheWrongOrder() {
        assertThrows(IllegalArgumentException.class, () -> new Period(3, 2));
        assertThrows(IllegalArgumentException.class, () -> new Period(-1, 2));
    }

    @Test
    void containsBothEnds() {
        Period period = new Period(3, 5);
        assertTrue(period.contains(3));
        assertTrue(period.contains(5));
        assertFalse(period.contains(6));
        assertFalse(period.contains(2));
    }

    @Test
    void overlapsWhereADayIsShared() {
        assertTrue(new Period(1, 3).overlaps(new Period(3, 5)));
        assertTrue(new Period(3, 5).overlaps(new Period(1, 3)));
        assertFalse(new Period(1, 3).overlaps(new Period(4, 5)));
    }

    @Test
    void knowsWeekends() {
        assertEquals(0, new Period(0, 4).weekendDays());
        assertEquals(2, new Period(0, 6).weekendDays());
        assertEquals(3, new Period(5, 12).weekendDays());
    }

    @Test
    void isFreeWhereNoOtherIs() {
        List<Period> others = List.of(new Period(2, 3), new Period(6, 9));
        List<Period> free = new Period(1, 10).without(others);
        assertEquals(List.of(new Period(1, 1), new Period(4, 5), new Period(10, 10)), free);
    }

    @Test
    void isAllFreeWithoutOthers() {
        assertEquals(List.of(new Period(1, 4)), new Period(1, 4).without(List.of()));
    }

    @Test
    void isNowhereFreeWithinAnother() {
        assertEquals(List.of(), new Period(2, 3).without(List.of(new Period(1, 4))));
    }
}
