package rental;

/** A bicycle that somebody has booked. */
public final class Rental {
    /** How far a rental has come. */
    public enum State {
        BOOKED,
        OUT,
        RETURNED,
        CANCELLED
    }

    private final String customer;
    private final Bicycle bicycle;
    private final Period period;
    private final Amount price;
    private State state = State.BOOKED;
    private int daysLate;

    Rental(String customer, Bicycle bicycle, Period period, Amount price) {
        if (customer.isBlank()) {
            throw new IllegalArgumentException("a customer has a name");
        }
        this.customer = customer.strip();
        this.bicycle = bicycle;
        this.period = period;
        this.price = price;
    }

    public String customer() {
        return customer;
    }

    public Bicycle bicycle() {
        return bicycle;
    }

    public Period period() {
        return period;
    }

    public Amount price() {
        return price;
    }

    public State state() {
        return state;
    }

    public int daysLate() {
        return daysLate;
    }

    void handOut(int day) {
        require(State.BOOKED);
        if (!period.contains(day)) {
            throw new IllegalStateException("booked for other days");
        }
        state = State.OUT;
    }

    void takeBack(int day) {
        require(State.OUT);
        daysLate = Math.max(0, day - period.last());
        state = State.RETURNED;
    }

    void cancel() {
        require(State.BOOKED);
        state = State.CANCELLED;
    }

    private void require(State wanted) {
        if (state != wanted) {
            throw new IllegalStateException("it is " + state + " and not " + wanted);
        }
    }
}
