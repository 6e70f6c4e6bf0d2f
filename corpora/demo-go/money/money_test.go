package money

import (
	"errors"
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Amount
	}{
		{"12", 1200},
		{"0.07", 7},
		{"-3.5", -350},
		{" 1,234.56 ", 123456},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in)
		if err != nil {
			t.Fatalf("Parse(%q): %v", tt.in, err)
		}
		if got != tt.want {
			t.Errorf("Parse(%q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{"", "-", "x", "1.", "1.234", "1.x", "٣"} {
		if _, err := Parse(in); !errors.Is(err, ErrNotAnAmount) {
			t.Errorf("Parse(%q) gave the error %v", in, err)
		}
	}
}

func TestString(t *testing.T) {
	tests := map[Amount]string{
		0:          "0.00",
		5:          "0.05",
		-350:       "-3.50",
		123456:     "1,234.56",
		1234567890: "12,345,678.90",
	}
	for amount, want := range tests {
		if got := amount.String(); got != want {
			t.Errorf("String of %d = %q, want %q", int64(amount), got, want)
		}
	}
}

func TestAbs(t *testing.T) {
	if got := Amount(-5).Abs(); got != 5 {
		t.Errorf("got %d", got)
	}
	if got := Amount(7).Abs(); got != 7 {
		t.Errorf("got %d", got)
	}
}

func TestSum(t *testing.T) {
	if got := Sum(1, 2, -5); got != -2 {
		t.Errorf("got %d, want -2", got)
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name  string
		in    Amount
		parts int
		want  []Amount
	}{
		{"evenly", 900, 3, []Amount{300, 300, 300}},
		{"with a rest", 1000, 3, []Amount{334, 333, 333}},
		{"a debt", -1001, 2, []Amount{-501, -500}},
		{"nobody", 5, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.in.Split(tt.parts)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.parts > 0 && Sum(got...) != tt.in {
				t.Errorf("the parts add up to %v", Sum(got...))
			}
		})
	}
}

func TestWeighted(t *testing.T) {
	got := Amount(1000).Weighted([]int{1, 2, 4})
	want := []Amount{142, 285, 573}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Amount(1000).Weighted([]int{0, 0}); got != nil {
		t.Errorf("without weights: got %v", got)
	}
}
