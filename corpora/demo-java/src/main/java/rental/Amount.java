package rental;

import java.util.ArrayList;
import java.util.List;

/** A sum of money, in cents. */
public record Amount(long cents) implements Comparable<Amount> {
    public static final Amount ZERO = new Amount(0);

    /** Reads what {@link #toString} writes, such as {@code 12.50}. */
    public static Amount parse(String text) {
        String trimmed = text.strip();
        boolean negative = trimmed.startsWith("-");
        String[] parts = (negative ? trimmed.substring(1) : trimmed).split("\\.", -1);
        if (parts.length > 2 || parts[0].isEmpty()) {
            throw new IllegalArgumentException("no amount: " + text);
        }
        long cents = 0;
        if (parts.length == 2) {
            if (parts[1].length() != 2) {
                throw new IllegalArgumentException("no amount: " + text);
            }
            cents = digits(parts[1], text);
        }
        long total = digits(parts[0], text) * 100 + cents;
        return new Amount(negative ? -total : total);
    }

    private static long digits(String part, String text) {
        long value = 0;
        for (char letter : part.toCharArray()) {
            if (letter < '0' || letter > '9') {
                throw new IllegalArgumentException("no amount: " + text);
            }
            value = value * 10 + (letter - '0');
        }
        return value;
    }

    public Amount plus(Amount other) {
        return new Amount(Math.addExact(cents, other.cents));
    }

    public Amount minus(Amount other) {
        return new Amount(Math.subtractExact(cents, other.cents));
    }

    public Amount times(int count) {
        return new Amount(Math.multiplyExact(cents, count));
    }

    /** A share in percent, rounded half up. */
    public Amount percent(int share) {
        long hundredths = cents * share;
        long rounded = Math.floorDiv(hundredths + 50, 100);
        return new Amount(rounded);
    }

    /** Shares that differ by a cent at most, the greater ones first. */
    public List<Amount> split(int parts) {
        if (parts < 1) {
            throw new IllegalArgumentException("no parts");
        }
        long each = cents / parts;
        long left = cents % parts;
        List<Amount> shares = new ArrayList<>();
        for (int index = 0; index < parts; index++) {
            shares.add(new Amount(index < left ? each + 1 : each));
        }
        return shares;
    }

    public boolean isNegative() {
        return cents < 0;
    }

    @Override
    public int compareTo(Amount other) {
        return Long.compare(cents, other.cents);
    }

    @Override
    public String toString() {
        long absolute = Math.abs(cents);
        String sign = cents < 0 ? "-" : "";
        return sign + absolute / 100 + "." + (absolute % 100 < 10 ? "0" : "") + absolute % 100;
    }
}
