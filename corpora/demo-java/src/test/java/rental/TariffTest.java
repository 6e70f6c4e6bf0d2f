package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TariffTest {
    private Tariff tariff;

    @BeforeEach
    void setPrices() {
        tariff = new Tariff(10).with(Category.CITY, new Amount(1000));
    }

    @Test
    void countsDays() {
        assertEquals(new Amount(3000), tariff.price(Category.CITY, new Period(0, 2)));
    }

    @Test
    void addsASurchargeForWeekends() {
        assertEquals(new Amount(2200), tariff.price(Category.CITY, new Period(5, 6)));
    }

    @Test
    void isCheaperFromAWeekOn() {
        assertEquals(new Amount(5800), tariff.price(Category.CITY, new Period(0, 6)));
        assertEquals(new Amount(6100), tariff.price(Category.CITY, new Period(0, 5)));
    }

    @Test
    void needsAPrice() {
        Period day = new Period(0, 0);
        assertThrows(IllegalStateException.class, () -> tariff.price(Category.CARGO, day));
    }

    @Test
    void chargesForBeingLate() {
        assertEquals(new Amount(3000), tariff.lateFee(Category.CITY, 2));
        assertEquals(Amount.ZERO, tariff.lateFee(Category.CITY, 0));
        assertEquals(Amount.ZERO, tariff.lateFee(Category.CITY, -1));
    }

    @Test
    void refusesPricesBelowZero() {
        Amount below = new Amount(-1);
        assertThrows(IllegalArgumentException.class, () -> tariff.with(Category.CITY, below));
        assertThrows(IllegalArgumentException.class, () -> new Tariff(-1));
    }
}
