package rental;

/** A bicycle that can be lent. */
public record Bicycle(String number, Category category) {
    public Bicycle {
        if (!number.matches("[A-Z]-[0-9]+")) {
            throw new IllegalArgumentException("no number of a bicycle: " + number);
        }
    }

    /** The number after its letter, for sorting. */
    int rank() {
        return Integer.parseInt(number.substring(2));
    }
}
