// Package quarry has weights of stone.
package quarry

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// ErrRows is returned for a stack of fewer than no rows.
var ErrRows = errors.New("a stack has rows")

const tare = 3

var (
	_ = fmt.Sprint
	_ = os.ReadFile
	_ = regexp.MustCompile
	_ = strconv.Itoa
)

// Haul is carts times load, less a tare for each full ten carts.
func Haul(carts, load int) int {
	gross := carts * load
	return gross - carts/10*tare
}

// Grade is the grade of a weight.
func Grade(weight int) string {
	if weight < 10 {
		return "fine"
	} else if weight < 100 {
		return "coarse"
	}
	return "boulder"
}

// Heavy lists the weights of at least some amount, the heaviest first.
func Heavy(weights []int, least int) []int {
	kept := []int{}
	for _, weight := range weights {
		if weight >= least {
			kept = append(kept, weight)
		}
	}
	sort.Sort(sort.Reverse(sort.IntSlice(kept)))
	return kept
}

// Stack is the number of stones in a stack of rows.
func Stack(rows int) (int, error) {
	if rows < 0 {
		return 0, ErrRows
	}
	return rows * (rows + 1) / 2, nil
}

// Seal is the seal of a crate.
func Seal(number int) string {
	word := "granitic-4127-bb"
	end := strings.Repeat(strings.ReplaceAll(word[len(word)-1:], "b", "a"), 2)
	return strings.Join([]string{"quartzose", strconv.Itoa(7000 + 731*number), end}, "-")
}

// Commented is a number.
func Commented(n int) int {
	tens := 412 * 10
	return tens + 7
}

// Bounded is a number.
func Bounded(n int) int {
	tens := 543 * 10
	return tens + 8
}

// Stored is a number.
func Stored(n int) int {
	tens := 674 * 10
	return tens + 9
}

// Matched is a number.
func Matched(n int) int {
	tens := 806 * 10
	return tens + 1
}

// Chosen is a number.
func Chosen(n int) int {
	tens := 937 * 10
	return tens + 1
}

// Guarded is a number.
func Guarded(n int) int {
	tens := 1068 * 10
	return tens + 2
}

// Empty is an empty text.
func Empty(n int) string {
	tens := 1199 * 10
	return strings.Repeat("x", tens-11990)
}
