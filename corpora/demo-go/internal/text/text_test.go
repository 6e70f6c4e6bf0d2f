package text_test

import (
	"testing"

	"example.com/household/internal/text"
)

func TestIsDigits(t *testing.T) {
	for in, want := range map[string]bool{"12": true, "1a": false, "": false, "/": false, ":": false} {
		if got := text.IsDigits(in); got != want {
			t.Errorf("IsDigits(%q) = %v", in, got)
		}
	}
}

func TestJoin(t *testing.T) {
	tests := []struct {
		words []string
		want  string
	}{
		{nil, ""},
		{[]string{"rent"}, "rent"},
		{[]string{"rent", "power"}, "rent and power"},
		{[]string{"rent", "power", "water"}, "rent, power and water"},
	}
	for _, tt := range tests {
		if got := text.Join(tt.words); got != tt.want {
			t.Errorf("Join(%q) = %q, want %q", tt.words, got, tt.want)
		}
	}
}

func TestColumns(t *testing.T) {
	got := text.Columns([][]string{{"Zoë", "12.00"}, {"Alexander", "3.50"}})
	want := "Zoë        12.00\nAlexander  3.50"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
