package rental;

import java.util.EnumMap;
import java.util.Map;

/** What lending costs. */
public final class Tariff {
    private static final int LONG_STAY = 7;
    private static final int LONG_STAY_DISCOUNT = 20;

    private final Map<Category, Amount> perDay = new EnumMap<>(Category.class);
    private final int weekendSurcharge;

    /** A tariff with a surcharge for weekends, in percent of a day's price. */
    public Tariff(int weekendSurcharge) {
        if (weekendSurcharge < 0) {
            throw new IllegalArgumentException("a surcharge is no discount");
        }
        this.weekendSurcharge = weekendSurcharge;
    }

    public Tariff with(Category category, Amount price) {
        if (price.isNegative()) {
            throw new IllegalArgumentException("a price below zero");
        }
        perDay.put(category, price);
        return this;
    }

    /** The price of a period: from a week on every day is cheaper. */
    public Amount price(Category category, Period period) {
        Amount day = perDay.get(category);
        if (day == null) {
            throw new IllegalStateException("no price for a " + category.label());
        }
        Amount total = day.times(period.days());
        if (period.days() >= LONG_STAY) {
            total = total.minus(total.percent(LONG_STAY_DISCOUNT));
        }
        Amount surcharge = day.percent(weekendSurcharge).times(period.weekendDays());
        return total.plus(surcharge);
    }

    /** What is due for days beyond the end: one and a half times a day's price each. */
    public Amount lateFee(Category category, int days) {
        if (days <= 0) {
            return Amount.ZERO;
        }
        return price(category, new Period(0, 0)).percent(150).times(days);
    }
}
