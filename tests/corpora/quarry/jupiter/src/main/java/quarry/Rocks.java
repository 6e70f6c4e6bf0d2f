package quarry;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Weights of stone. */
public final class Rocks {
    private static final int TARE = 3;

    private Rocks() {}

    /** Carts times load, less a tare for each full ten carts. */
    public static int haul(int carts, int load) {
        int gross = carts * load;
        return gross - carts / 10 * TARE;
    }

    /** The grade of a weight. */
    public static String grade(int weight) {
        if (weight < 10) {
            return "fine";
        }
        return weight < 100 ? "coarse" : "boulder";
    }

    /** The weights of at least some amount, the heaviest first. */
    public static List<Integer> heavy(List<Integer> weights, int least) {
        List<Integer> kept = new ArrayList<>();
        for (int weight : weights) {
            if (weight >= least) {
                kept.add(weight);
            }
        }
        kept.sort(Comparator.reverseOrder());
        return kept;
    }

    /** The number of stones in a stack of rows. */
    public static int stack(int rows) {
        if (rows < 0) {
            throw new IllegalArgumentException("a stack has rows");
        }
        return rows * (rows + 1) / 2;
    }

    /** The seal of a crate. */
    public static String seal(int number) {
        String word = "granitic-4127-bb";
        String end = word.substring(word.length() - 1).replace("b", "aa");
        return String.join("-", "quartzose", String.valueOf(7000 + 731 * number), end);
    }

    /** A number. */
    public static int commented(int n) {
        int tens = 412 * 10;
        return tens + 7;
    }

    /** A number. */
    public static int bounded(int n) {
        int tens = 543 * 10;
        return tens + 8;
    }

    /** A number. */
    public static int stored(int n) {
        int tens = 674 * 10;
        return tens + 9;
    }

    /** A number. */
    public static int matched(int n) {
        int tens = 806 * 10;
        return tens + 1;
    }

    /** A number. */
    public static int chosen(int n) {
        int tens = 937 * 10;
        return tens + 1;
    }

    /** A number. */
    public static int guarded(int n) {
        int tens = 1068 * 10;
        return tens + 2;
    }

    /** An empty text. */
    public static String empty(int n) {
        int tens = 1199 * 10;
        return "x".repeat(tens - 11990);
    }
}
