package rental;

import java.util.ArrayList;
import java.util.List;

/** A stretch of days, counted from the shop's opening, both ends included. */
public record Period(int first, int last) {
    public Period {
        if (first < 0 || last < first) {
            throw new IllegalArgumentException("no period: " + first + " to " + last);
        }
    }

    public static Period ofDays(int first, int days) {
        return new Period(first, first + days - 1);
    }

    public int days() {
        return last - first + 1;
    }

    public boolean contains(int day) {
        return first <= day && day <= last;
    }

    public boolean overlaps(Period other) {
        return first <= other.last && other.first <= last;
    }

    /** How many of the days are Saturdays and Sundays; day 0 is a Monday. */
    public int weekendDays() {
        int count = 0;
        for (int day = first; day <= last; day++) {
            if (day % 7 >= 5) {
                count++;
            }
        }
        return count;
    }

    /** The days of this period that none of the others has, as periods in their order. */
    public List<Period> without(List<Period> others) {
        List<Period> free = new ArrayList<>();
        int start = -1;
        for (int day = first; day <= last; day++) {
            boolean taken = false;
            for (Period other : others) {
                taken |= other.contains(day);
            }
            if (taken && start >= 0) {
                free.add(new Period(start, day - 1));
                start = -1;
            } else if (!taken && start < 0) {
                start = day;
            }
        }
        if (start >= 0) {
            free.add(new Period(start, last));
        }
        return free;
    }
}
