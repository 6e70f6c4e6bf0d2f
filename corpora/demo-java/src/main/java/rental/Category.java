package rental;

import java.util.Locale;

/** The sorts of bicycles. */
public enum Category {
    CITY(1),
    TREKKING(1),
    CARGO(3),
    TANDEM(2);

    private final int space;

    Category(int space) {
        this.space = space;
    }

    /** How many places in the shop one takes. */
    public int space() {
        return space;
    }

    /** Finds a category by its name or by what that begins with, if no other begins so. */
    public static Category named(String text) {
        String wanted = text.strip().toUpperCase(Locale.ROOT);
        Category found = null;
        for (Category category : values()) {
            if (category.name().equals(wanted)) {
                return category;
            }
            if (!wanted.isEmpty() && category.name().startsWith(wanted)) {
                if (found != null) {
                    throw new IllegalArgumentException("several categories begin with " + text);
                }
                found = category;
            }
        }
        if (found == null) {
            throw new IllegalArgumentException("no category: " + text);
        }
        return found;
    }

    /** As a customer reads it. */
    public String label() {
        return switch (this) {
            case CITY -> "city bicycle";
            case TREKKING -> "trekking bicycle";
            case CARGO -> "cargo bicycle";
            case TANDEM -> "tandem";
        };
    }
}
