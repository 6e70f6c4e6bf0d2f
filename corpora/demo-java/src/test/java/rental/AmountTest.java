package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AmountTest {
    @Test
    void addsAndSubtracts() {
        Amount sum = new Amount(150).plus(new Amount(75));
        assertEquals(new Amount(225), sum);
        assertEquals(new Amount(-50), new Amount(100).minus(new Amount(150)));
    }

    @Test
    void multiplies() {
        assertEquals(new Amount(750), new Amount(250).times(3));
    }

    @Test
    void refusesWhatIsTooMuch() {
        Amount most = new Amount(Long.MAX_VALUE);
        assertThrows(ArithmeticException.class, () -> most.plus(new Amount(1)));
        assertThrows(ArithmeticException.class, () -> most.times(2));
    }

    @ParameterizedTest
    @CsvSource({"1000,20,200", "333,50,167", "-333,50,-166", "1,49,0", "1,50,1"})
    void takesShares(long cents, int share, long expected) {
        assertEquals(expected, new Amount(cents).percent(share).cents());
    }

    @Test
    void comparesAndSigns() {
        assertTrue(new Amount(1).compareTo(new Amount(2)) < 0);
        assertTrue(new Amount(-1).isNegative());
        assertFalse(Amount.ZERO.isNegative());
    }

    @Nested
    class Splitting {
        @Test
        void givesTheGreaterSharesFirst() {
            List<Amount> shares = new Amount(100).split(3);
            assertEquals(List.of(new Amount(34), new Amount(33), new Amount(33)), shares);
        }

        @Test
        void keepsASingleShare() {
            assertEquals(List.of(new Amount(5)), new Amount(5).split(1));
        }

        @Test
        void needsParts() {
            assertThrows(IllegalArgumentException.class, () -> new Amount(5).split(0));
        }
    }

    @Nested
    class Text {
        @Test
        void isWritten() {
            assertEquals("12.05", new Amount(1205).toString());
            assertEquals("-0.50", new Amount(-50).toString());
        }

        @Test
        void isRead() {
            assertEquals(new Amount(1250), Amount.parse(" 12.50 "));
            assertEquals(new Amount(-305), Amount.parse("-3.05"));
            assertEquals(new Amount(700), Amount.parse("7"));
        }

        @ParameterizedTest
        @ValueSource(strings = {"", "1.2.3", "1.5", ".50", "1x", "1.x0"})
        void isRefused(String text) {
            assertThrows(IllegalArgumentException.class, () -> Amount.parse(text));
        }
    }
}
