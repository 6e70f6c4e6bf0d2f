package schedule

import (
	"testing"
	"time"
)

func bills() []Bill {
	return []Bill{
		{"rent", 90000, Day(2024, time.January, 31), Monthly},
		{"power", 12050, Day(2024, time.January, 15), Quarterly},
		{"cleaning", 2000, Day(2024, time.January, 1), Weekly},
		{"insurance", 8400, Day(2024, time.February, 29), Yearly},
	}
}

func dates(days []time.Time) string {
	text := ""
	for _, day := range days {
		text += day.Format("06-01-02 ")
	}
	return text
}

func TestIntervals(t *testing.T) {
	for _, interval := range []Interval{Weekly, Monthly, Quarterly, Yearly} {
		got, err := ParseInterval(interval.String())
		if err != nil || got != interval {
			t.Errorf("%v: got %v, %v", interval, got, err)
		}
	}
	if _, err := ParseInterval("daily"); err == nil {
		t.Error("daily is an interval")
	}
	if got := Interval(9).String(); got != "Interval(9)" {
		t.Errorf("got %q", got)
	}
}

func TestMonthsEndWithinTheMonth(t *testing.T) {
	got := dates(bills()[0].Between(Day(2024, time.January, 1), Day(2024, time.June, 1)))
	if want := "24-01-31 24-02-29 24-03-31 24-04-30 24-05-31 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBetween(t *testing.T) {
	tests := []struct {
		bill int
		want string
	}{
		{1, "24-04-15 24-07-15 "},
		{3, ""},
	}
	for _, tt := range tests {
		got := dates(bills()[tt.bill].Between(Day(2024, time.April, 1), Day(2024, time.October, 1)))
		if got != tt.want {
			t.Errorf("bill %d: got %s, want %s", tt.bill, got, tt.want)
		}
	}
}

func TestNext(t *testing.T) {
	tests := []struct {
		bill int
		from time.Time
		want string
	}{
		{0, Day(2024, time.February, 1), "2024-02-29"},
		{2, Day(2024, time.January, 8), "2024-01-08"},
		{2, Day(2024, time.January, 9), "2024-01-15"},
		{3, Day(2024, time.March, 1), "2025-02-28"},
	}
	for _, tt := range tests {
		if got := bills()[tt.bill].Next(tt.from).Format("2006-01-02"); got != tt.want {
			t.Errorf("bill %d from %v: got %s, want %s", tt.bill, tt.from, got, tt.want)
		}
	}
}

func TestTotal(t *testing.T) {
	got := Total(bills(), Day(2024, time.January, 1), Day(2024, time.March, 1))
	if want := "2,184.50"; got.String() != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUpcoming(t *testing.T) {
	if got, want := Upcoming(bills(), Day(2024, time.January, 10)), "2024-01-15: cleaning and power"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Upcoming(nil, Day(2024, time.January, 10)); got != "nothing is due" {
		t.Errorf("got %q", got)
	}
}
