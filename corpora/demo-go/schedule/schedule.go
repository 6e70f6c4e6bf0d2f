// Package schedule knows when bills come again.
package schedule

import (
	"fmt"
	"sort"
	"time"

	"example.com/household/internal/text"
	"example.com/household/money"
)

// Interval is how often a bill comes.
type Interval int

// The intervals there are.
const (
	Weekly Interval = iota
	Monthly
	Quarterly
	Yearly
)

var names = map[Interval]string{
	Weekly:    "weekly",
	Monthly:   "monthly",
	Quarterly: "quarterly",
	Yearly:    "yearly",
}

// String is the interval's name.
func (i Interval) String() string {
	if name, known := names[i]; known {
		return name
	}
	return fmt.Sprintf("Interval(%d)", int(i))
}

// ParseInterval finds an interval by its name.
func ParseInterval(name string) (Interval, error) {
	for interval, known := range names {
		if known == name {
			return interval, nil
		}
	}
	return 0, fmt.Errorf("%q is no interval; there are weekly, monthly, quarterly and yearly", name)
}

// Bill is something that has to be paid again and again.
type Bill struct {
	Title  string
	Amount money.Amount
	// The first day on which it is due.
	First    time.Time
	Interval Interval
}

// Day is midnight of a day, in UTC.
func Day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// addMonths goes on by months and stays within the month: a month after January 31st is the last
// day of February.
func addMonths(day time.Time, months int) time.Time {
	first := Day(day.Year(), day.Month(), 1).AddDate(0, months, 0)
	last := first.AddDate(0, 1, -1).Day()
	return Day(first.Year(), first.Month(), min(day.Day(), last))
}

// due is the nth day on which the bill is due, from 0.
func (b Bill) due(n int) time.Time {
	switch b.Interval {
	case Weekly:
		return b.First.AddDate(0, 0, 7*n)
	case Monthly:
		return addMonths(b.First, n)
	case Quarterly:
		return addMonths(b.First, 3*n)
	default:
		return addMonths(b.First, 12*n)
	}
}

// Next is the first day from the given one on which the bill is due.
func (b Bill) Next(from time.Time) time.Time {
	for n := 0; ; n++ {
		if day := b.due(n); !day.Before(from) {
			return day
		}
	}
}

// Between lists the days from one day to before another on which the bill is due.
func (b Bill) Between(from, to time.Time) []time.Time {
	var days []time.Time
	for n := 0; ; n++ {
		day := b.due(n)
		if !day.Before(to) {
			return days
		}
		if day.Before(from) {
			continue
		}
		days = append(days, day)
	}
}

// Total is what bills cost from one day to before another.
func Total(bills []Bill, from, to time.Time) money.Amount {
	var total money.Amount
	for _, bill := range bills {
		total += bill.Amount * money.Amount(len(bill.Between(from, to)))
	}
	return total
}

// Upcoming says which bills are due next and when: those of the nearest day, by title.
func Upcoming(bills []Bill, from time.Time) string {
	if len(bills) == 0 {
		return "nothing is due"
	}
	nearest := bills[0].Next(from)
	for _, bill := range bills[1:] {
		if day := bill.Next(from); day.Before(nearest) {
			nearest = day
		}
	}
	var titles []string
	for _, bill := range bills {
		if bill.Next(from).Equal(nearest) {
			titles = append(titles, bill.Title)
		}
	}
	sort.Strings(titles)
	return nearest.Format("2006-01-02") + ": " + text.Join(titles)
}
