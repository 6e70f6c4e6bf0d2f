package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DeskTest {
    private Stock stock;
    private Desk desk;

    @BeforeEach
    void open() {
        stock = new Stock(10);
        stock.add(new Bicycle("C-1", Category.CITY)).add(new Bicycle("L-1", Category.CARGO));
        Tariff tariff = new Tariff(0)
                .with(Category.CITY, new Amount(1000))
                .with(Category.CARGO, new Amount(2500));
        desk = new Desk(stock, tariff);
    }

    @Test
    void books() {
        Rental rental = desk.book(" Ada ", Category.CITY, new Period(7, 8));
        assertEquals("Ada", rental.customer());
        assertEquals("C-1", rental.bicycle().number());
        assertEquals(new Amount(2000), rental.price());
        assertEquals(Rental.State.BOOKED, rental.state());
    }

    @Test
    void booksNothingTwice() {
        desk.book("Ada", Category.CITY, new Period(7, 8));
        Period period = new Period(8, 9);
        Exception error = assertThrows(
                IllegalStateException.class, () -> desk.book("Bo", Category.CITY, period));
        assertEquals("no city bicycle is free", error.getMessage());
    }

    @Test
    void needsAName() {
        Period period = new Period(1, 1);
        assertThrows(
                IllegalArgumentException.class, () -> desk.book(" ", Category.CITY, period));
        assertEquals("C-1", desk.book("Bo", Category.CITY, period).bicycle().number());
    }

    @Test
    void handsOutAndTakesBack() {
        Rental rental = desk.book("Ada", Category.CITY, new Period(7, 8));
        desk.handOut(rental, 7);
        assertEquals(Rental.State.OUT, rental.state());
        assertEquals(Amount.ZERO, desk.takeBack(rental, 8));
        assertEquals(Rental.State.RETURNED, rental.state());
        assertEquals(0, rental.daysLate());
    }

    @Test
    void chargesForBeingLate() {
        Rental rental = desk.book("Ada", Category.CARGO, new Period(7, 8));
        desk.handOut(rental, 8);
        assertEquals(new Amount(7500), desk.takeBack(rental, 10));
        assertEquals(2, rental.daysLate());
        assertEquals(new Amount(12500), desk.accounts().get("Ada"));
    }

    @Test
    void handsOutOnlyWhatIsBooked() {
        Rental rental = desk.book("Ada", Category.CITY, new Period(7, 8));
        assertThrows(IllegalStateException.class, () -> desk.handOut(rental, 6));
        assertThrows(IllegalStateException.class, () -> desk.takeBack(rental, 8));
        desk.cancel(rental, 1);
        assertThrows(IllegalStateException.class, () -> desk.handOut(rental, 7));
    }

    @Test
    void cancelsForAShare() {
        Period period = new Period(10, 11);
        assertEquals(Amount.ZERO, desk.cancel(desk.book("A", Category.CITY, period), 3));
        assertEquals(new Amount(600), desk.cancel(desk.book("A", Category.CITY, period), 4));
        assertEquals(new Amount(600), desk.cancel(desk.book("A", Category.CITY, period), 8));
        assertEquals(new Amount(1600), desk.cancel(desk.book("A", Category.CITY, period), 9));
    }

    @Test
    void keepsAccounts() {
        desk.book("Bo", Category.CITY, new Period(1, 2));
        desk.book("Ada", Category.CARGO, new Period(1, 1));
        desk.book("Bo", Category.CITY, new Period(3, 3));
        desk.cancel(desk.book("Cy", Category.CITY, new Period(9, 9)), 1);
        assertEquals(List.of("Bo", "Ada"), List.copyOf(desk.accounts().keySet()));
        assertEquals(new Amount(3000), desk.accounts().get("Bo"));
    }

    @Test
    void writesInvoices() {
        desk.book("Bo", Category.CITY, new Period(1, 2));
        desk.book("Ada", Category.CARGO, new Period(1, 1));
        desk.cancel(desk.book("Bo", Category.CITY, new Period(9, 9)), 1);
        String expected = "what          days  price\n"
                + "city bicycle     2  20.00\n"
                + "total               20.00\n";
        assertEquals(expected, desk.invoice("Bo"));
    }
}
