// Package money has amounts in whole cents.
package money

import (
	"errors"
	"fmt"
	"strings"

	"example.com/household/internal/text"
)

// Amount is a sum of money in cents. It may be negative.
type Amount int64

// ErrNotAnAmount is returned for what no amount is written like.
var ErrNotAnAmount = errors.New("not an amount")

// Parse reads an amount such as "12", "-3.5" or "1,234.56".
func Parse(s string) (Amount, error) {
	digits := strings.TrimSpace(s)
	negative := strings.HasPrefix(digits, "-")
	if negative {
		digits = digits[1:]
	}
	whole, fraction, found := strings.Cut(digits, ".")
	whole = strings.ReplaceAll(whole, ",", "")
	if whole == "" || !text.IsDigits(whole) {
		return 0, fmt.Errorf("%q: %w", s, ErrNotAnAmount)
	}
	if found && (len(fraction) == 0 || len(fraction) > 2 || !text.IsDigits(fraction)) {
		return 0, fmt.Errorf("%q: %w", s, ErrNotAnAmount)
	}
	for len(fraction) < 2 {
		fraction += "0"
	}
	var cents Amount
	for _, digit := range whole + fraction {
		cents = cents*10 + Amount(digit-'0')
	}
	if negative {
		cents = -cents
	}
	return cents, nil
}

// String writes an amount with two decimals and a comma before every third digit.
func (a Amount) String() string {
	sign := ""
	if a < 0 {
		sign = "-"
		a = -a
	}
	whole := fmt.Sprint(int64(a / 100))
	grouped := ""
	for len(whole) > 3 {
		grouped = "," + whole[len(whole)-3:] + grouped
		whole = whole[:len(whole)-3]
	}
	return fmt.Sprintf("%s%s%s.%02d", sign, whole, grouped, int64(a%100))
}

// Abs is the amount without its sign.
func (a Amount) Abs() Amount {
	if a < 0 {
		return -a
	}
	return a
}

// Sum adds amounts.
func Sum(amounts ...Amount) Amount {
	var total Amount
	for _, amount := range amounts {
		total += amount
	}
	return total
}

// Split divides an amount into parts that differ by one cent at most. The first parts are the
// larger ones. Nobody gets anything of no parts.
func (a Amount) Split(parts int) []Amount {
	if parts <= 0 {
		return nil
	}
	shares := make([]Amount, parts)
	each := a / Amount(parts)
	rest := a - each*Amount(parts)
	step := Amount(1)
	if rest < 0 {
		step = -1
	}
	for i := range shares {
		shares[i] = each
		if rest != 0 {
			shares[i] += step
			rest -= step
		}
	}
	return shares
}

// Weighted divides an amount in proportion to weights. What rounding leaves goes to the largest
// weight, the first of several.
func (a Amount) Weighted(weights []int) []Amount {
	total, largest := 0, 0
	for i, weight := range weights {
		total += weight
		if weight > weights[largest] {
			largest = i
		}
	}
	if total <= 0 {
		return nil
	}
	shares := make([]Amount, len(weights))
	rest := a
	for i, weight := range weights {
		shares[i] = a * Amount(weight) / Amount(total)
		rest -= shares[i]
	}
	shares[largest] += rest
	return shares
}
