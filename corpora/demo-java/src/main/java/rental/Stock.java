package rental;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The shop's bicycles, and when each is taken. */
public final class Stock {
    private final int places;
    private final List<Bicycle> bicycles = new ArrayList<>();
    private final Map<String, List<Period>> taken = new HashMap<>();

    public Stock(int places) {
        this.places = places;
    }

    /** Adds a bicycle, if there is room and none of its number. */
    public Stock add(Bicycle bicycle) {
        for (Bicycle known : bicycles) {
            if (known.number().equals(bicycle.number())) {
                throw new IllegalArgumentException("there is a " + bicycle.number() + " already");
            }
        }
        if (space() + bicycle.category().space() > places) {
            throw new IllegalStateException("the shop is full");
        }
        bicycles.add(bicycle);
        return this;
    }

    /** How many places are taken when all are in. */
    public int space() {
        int sum = 0;
        for (Bicycle bicycle : bicycles) {
            sum += bicycle.category().space();
        }
        return sum;
    }

    /** The free bicycle of a category with the lowest rank. */
    public Optional<Bicycle> findFree(Category category, Period period) {
        return bicycles.stream()
                .filter(bicycle -> bicycle.category() == category)
                .filter(bicycle -> isFree(bicycle, period))
                .min(Comparator.comparingInt(Bicycle::rank));
    }

    public boolean isFree(Bicycle bicycle, Period period) {
        List<Period> periods = taken.getOrDefault(bicycle.number(), List.of());
        return periods.stream().noneMatch(period::overlaps);
    }

    void take(Bicycle bicycle, Period period) {
        if (!isFree(bicycle, period)) {
            throw new IllegalStateException(bicycle.number() + " is taken");
        }
        taken.computeIfAbsent(bicycle.number(), number -> new ArrayList<>()).add(period);
    }

    void release(Bicycle bicycle, Period period) {
        List<Period> periods = taken.get(bicycle.number());
        if (periods == null || !periods.remove(period)) {
            throw new IllegalStateException(bicycle.number() + " is not taken then");
        }
    }

    /** When a bicycle can be had within a period. */
    public List<Period> freeTimes(Bicycle bicycle, Period within) {
        return within.without(taken.getOrDefault(bicycle.number(), List.of()));
    }
}
