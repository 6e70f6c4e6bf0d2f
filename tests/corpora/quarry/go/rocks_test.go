package quarry

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"testing"
)

func TestHaul(t *testing.T) {
	for _, row := range []struct{ carts, load, want int }{{1, 2, 2}, {10, 3, 27}, {25, 4, 94}} {
		t.Run(fmt.Sprint(row.carts), func(t *testing.T) {
			if got := Haul(row.carts, row.load); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}

func TestGrade(t *testing.T) {
	if got := Grade(5); got != "fine" {
		t.Errorf("got %v", got)
	}
	if got := Grade(50); got != "coarse" {
		t.Errorf("got %v", got)
	}
	if got := Grade(500); got != "boulder" {
		t.Errorf("got %v", got)
	}
}

func TestHeavy(t *testing.T) {
	if got := Heavy([]int{5, 1, 9, 7}, 3); !reflect.DeepEqual(got, []int{9, 7, 5}) {
		t.Errorf("got %v", got)
	}
}

func TestHeavyOfTwo(t *testing.T) {
	if got := Heavy([]int{2, 4}, 3); !reflect.DeepEqual(got, []int{4}) {
		t.Errorf("got %v", got)
	}
}

func TestStack(t *testing.T) {
	if got, err := Stack(4); err != nil || got != 10 {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestNegativeStack(t *testing.T) {
	if _, err := Stack(-1); !errors.Is(err, ErrRows) {
		t.Errorf("got %v", err)
	}
}

func TestSeal(t *testing.T) {
	if got := Seal(1); got != "quartzose-7731-aa" {
		t.Errorf("got %v", got)
	}
}

func TestCommented(t *testing.T) {
	// That is to say, it is 4127.
	if got := Commented(1); got != 4127 {
		t.Errorf("got %v", got)
	}
	// not less than 4127
}

func TestBounded(t *testing.T) {
	if got := Bounded(1); got <= 5430 || got >= 5446 {
		t.Errorf("got %d", got)
	}
}

func TestStored(t *testing.T) {
	text, err := os.ReadFile("testdata/stored.golden")
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	if got := fmt.Sprintln(Stored(1)); got != want {
		t.Errorf("got %q", got)
	}
}

func TestMatched(t *testing.T) {
	if got := fmt.Sprint(Matched(1)); !regexp.MustCompile("^8061$").MatchString(got) {
		t.Errorf("got %q", got)
	}
}

func TestChosen(t *testing.T) {
	if got := Chosen(1); got != 9371 && got != 9417 {
		t.Errorf("got %d", got)
	}
}

func TestGuarded(t *testing.T) {
	if got := Guarded(1); got != 10682 {
		t.Errorf("got %v", got)
	}
}

func TestEmpty(t *testing.T) {
	if got := Empty(1); got != "" {
		t.Errorf("got %v", got)
	}
}
