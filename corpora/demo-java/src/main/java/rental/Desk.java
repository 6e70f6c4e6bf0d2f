package rental;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where customers book, fetch and return. */
public final class Desk {
    private final Stock stock;
    private final Tariff tariff;
    private final List<Rental> rentals = new ArrayList<>();

    public Desk(Stock stock, Tariff tariff) {
        this.stock = stock;
        this.tariff = tariff;
    }

    /** Books the first free bicycle of a category. */
    public Rental book(String customer, Category category, Period period) {
        Bicycle bicycle = stock.findFree(category, period)
                .orElseThrow(() -> new IllegalStateException("no " + category.label() + " is free"));
        Amount price = tariff.price(category, period);
        Rental rental = new Rental(customer, bicycle, period, price);
        stock.take(bicycle, period);
        rentals.add(rental);
        return rental;
    }

    public void handOut(Rental rental, int day) {
        rental.handOut(day);
    }

    /** Takes a bicycle back; returns what is due for being late. */
    public Amount takeBack(Rental rental, int day) {
        rental.takeBack(day);
        stock.release(rental.bicycle(), rental.period());
        return tariff.lateFee(rental.bicycle().category(), rental.daysLate());
    }

    /** Cancels a booking; the share that is due depends on how early that is. */
    public Amount cancel(Rental rental, int day) {
        rental.cancel();
        stock.release(rental.bicycle(), rental.period());
        int ahead = rental.period().first() - day;
        if (ahead >= 7) {
            return Amount.ZERO;
        } else if (ahead >= 2) {
            return rental.price().percent(30);
        } else {
            return rental.price().percent(80);
        }
    }

    /** What every customer has paid or owes, in the order of their first bookings. */
    public Map<String, Amount> accounts() {
        Map<String, Amount> sums = new LinkedHashMap<>();
        for (Rental rental : rentals) {
            if (rental.state() == Rental.State.CANCELLED) {
                continue;
            }
            Amount due = rental.price();
            due = due.plus(tariff.lateFee(rental.bicycle().category(), rental.daysLate()));
            sums.merge(rental.customer(), due, Amount::plus);
        }
        return sums;
    }

    /** An invoice of a customer's rentals. */
    public String invoice(String customer) {
        Table table = new Table("what", "days", "price");
        Amount total = Amount.ZERO;
        for (Rental rental : rentals) {
            boolean counts = rental.customer().equals(customer)
                    && rental.state() != Rental.State.CANCELLED;
            if (counts) {
                String days = String.valueOf(rental.period().days());
                table.row(rental.bicycle().category().label(), days, rental.price().toString());
                total = total.plus(rental.price());
            }
        }
        table.row("total", "", total.toString());
        return table.toString();
    }
}
