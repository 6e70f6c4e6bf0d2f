package ledger

import (
	"errors"
	"reflect"
	"testing"

	"example.com/household/money"
)

func flat(t *testing.T) *Ledger {
	t.Helper()
	ledger := New("Cleo", "Ada", "Ben")
	for _, entry := range []Entry{
		{"rent", "Ada", 90000, []string{"Ada", "Ben", "Cleo"}},
		{"power", "Ben", 10000, []string{"Ada", "Ben", "Cleo"}},
		{"cinema", "Cleo", 2500, []string{"Ben", "Cleo"}},
	} {
		if err := ledger.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	return ledger
}

func TestAddRefuses(t *testing.T) {
	tests := []struct {
		name  string
		entry Entry
		want  error
	}{
		{"nothing paid", Entry{"x", "Ada", 0, []string{"Ada"}}, ErrNoPayment},
		{"a debt", Entry{"x", "Ada", -5, []string{"Ada"}}, ErrNoPayment},
		{"nobody", Entry{"x", "Ada", 100, nil}, ErrNobody},
		{"a stranger pays", Entry{"x", "Dan", 100, []string{"Ada"}}, ErrUnknown},
		{"a stranger shares", Entry{"x", "Ada", 100, []string{"Ada", "Dan"}}, ErrUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ledger := New("Ada")
			if err := ledger.Add(tt.entry); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if ledger.Len() != 0 {
				t.Error("the entry was added")
			}
		})
	}
}

func TestBalances(t *testing.T) {
	got := flat(t).Balances()
	want := map[string]money.Amount{"Ada": 56666, "Ben": -24583, "Cleo": -32083}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBalancesOfNothing(t *testing.T) {
	got := New("Ada").Balances()
	if len(got) != 1 || got["Ada"] != 0 {
		t.Errorf("got %v", got)
	}
}

func TestSettle(t *testing.T) {
	got := flat(t).Settle()
	want := []Payment{{"Cleo", "Ada", 32083}, {"Ben", "Ada", 24583}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSettleTakesNamesInOrder(t *testing.T) {
	ledger := New("Cleo", "Ada", "Ben")
	if err := ledger.Add(Entry{"tea", "Cleo", 300, []string{"Ben", "Ada", "Cleo"}}); err != nil {
		t.Fatal(err)
	}
	got := ledger.Settle()
	if len(got) != 2 || got[0].String() != "Ada pays Cleo 1.00" || got[1].From != "Ben" {
		t.Errorf("got %v", got)
	}
}

func TestPaid(t *testing.T) {
	if got := flat(t).Paid("Ben"); got != 10000 {
		t.Errorf("got %d, want 10000", got)
	}
}

func TestLargest(t *testing.T) {
	if entry, found := flat(t).Largest(); !found || entry.Title != "rent" {
		t.Errorf("got %v, %v", entry, found)
	}
	if _, found := New().Largest(); found {
		t.Error("an empty ledger has a largest entry")
	}
}

func TestSummary(t *testing.T) {
	want := "Ada   566.66\nBen   -245.83\nCleo  -320.83\n" +
		"Cleo pays Ada 320.83\nBen pays Ada 245.83"
	if got := flat(t).Summary(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
